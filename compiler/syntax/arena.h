// The memory of one tree: allocates, never frees, dies as a whole.
#ifndef PYASC_COMPILER_SYNTAX_ARENA_H
#define PYASC_COMPILER_SYNTAX_ARENA_H

#include <cstring>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pyasc::syntax {

class Arena {
public:
  template <class T> T *New() {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    return new (resource_.allocate(sizeof(T), alignof(T))) T();
  }

  std::string_view Copy(std::string_view text) {
    if (text.empty())
      return {};
    auto *p = static_cast<char *>(resource_.allocate(text.size(), 1));
    std::memcpy(p, text.data(), text.size());
    return {p, text.size()};
  }

  template <class T> std::span<const T> Copy(const std::vector<T> &items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty())
      return {};
    size_t bytes = items.size() * sizeof(T);
    auto *p = static_cast<T *>(resource_.allocate(bytes, alignof(T)));
    std::memcpy(static_cast<void *>(p), items.data(), bytes);
    return {p, items.size()};
  }

private:
  std::pmr::monotonic_buffer_resource resource_{4096};
};

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_ARENA_H
