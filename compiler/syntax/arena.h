// The memory of one tree: allocates, never frees, dies as a whole.
#ifndef PYASC_COMPILER_SYNTAX_ARENA_H
#define PYASC_COMPILER_SYNTAX_ARENA_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pyasc::syntax {

class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  template <class T> T *New() {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    return new (Allocate(sizeof(T), alignof(T))) T();
  }

  std::string_view CopyText(std::string_view text) {
    if (text.empty())
      return {};
    auto *p = static_cast<char *>(Allocate(text.size(), 1));
    std::memcpy(p, text.data(), text.size());
    return {p, text.size()};
  }

  // The elements of a contiguous container.
  template <class Container>
  std::span<const typename Container::value_type> Copy(const Container &items) {
    using T = typename Container::value_type;
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty())
      return {};
    size_t bytes = items.size() * sizeof(T);
    auto *p = static_cast<T *>(Allocate(bytes, alignof(T)));
    std::memcpy(static_cast<void *>(p), items.data(), bytes);
    return {p, items.size()};
  }

private:
  static constexpr size_t kFirstChunk = 4096;
  static constexpr size_t kMaxChunk = 1 << 18;
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PYASC_ARENA_SANITIZED 1
#endif
#endif
#ifdef PYASC_ARENA_SANITIZED
  // Each object apart, so that AddressSanitizer sees the end of each.
  static constexpr bool kOneChunkEach = true;
#undef PYASC_ARENA_SANITIZED
#else
  static constexpr bool kOneChunkEach = false;
#endif

  void *Allocate(size_t bytes, size_t alignment) {
    size_t padding = -reinterpret_cast<uintptr_t>(next_) & (alignment - 1);
    if (kOneChunkEach || bytes + padding > left_)
      return AllocateChunk(bytes);
    std::byte *p = next_ + padding;
    next_ = p + bytes;
    left_ -= bytes + padding;
    return p;
  }

  void *AllocateChunk(size_t bytes) {
    // What would take most of a chunk gets one of its own, and the rest of the current stays.
    bool alone = kOneChunkEach || bytes > chunk_bytes_ / 4;
    size_t size = alone ? bytes : chunk_bytes_;
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    std::byte *p = chunks_.back().get();
    if (!alone) {
      next_ = p + bytes;
      left_ = size - bytes;
      chunk_bytes_ = std::min(chunk_bytes_ * 2, kMaxChunk);
    }
    return p;
  }

  std::byte *next_ = nullptr;
  size_t left_ = 0;
  size_t chunk_bytes_ = kFirstChunk;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
};

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_ARENA_H
