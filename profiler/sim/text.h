// Joins text and numbers into a message. (Debian's Abseil has a string_view of its own, which
// takes no std::string_view.)
#ifndef PYASC_PROFILER_SIM_TEXT_H
#define PYASC_PROFILER_SIM_TEXT_H

#include <string>
#include <string_view>
#include <type_traits>

namespace pyasc {

template <typename... Parts> std::string Cat(const Parts &...parts) {
  std::string text;
  auto append = [&](const auto &part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += std::string_view(part);
  };
  (append(parts), ...);
  return text;
}

} // namespace pyasc

#endif // PYASC_PROFILER_SIM_TEXT_H
