// A queue in one piece of memory that it reuses, for the simulator's inner loop.
#ifndef PYASC_PROFILER_SIM_RING_H
#define PYASC_PROFILER_SIM_RING_H

#include <cstddef>
#include <utility>
#include <vector>

namespace pyasc::sim {

// REQUIRES, for front, back and pop_front: not empty.
template <typename T> class Ring {
public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T &front() { return items_[first_]; }
  const T &front() const { return items_[first_]; }
  // The n-th from the front. REQUIRES: n < size().
  const T &operator[](size_t n) const { return items_[(first_ + n) & (items_.size() - 1)]; }
  T &back() { return items_[(first_ + size_ - 1) & (items_.size() - 1)]; }
  void push_back(const T &item) { push() = item; }
  // Adds an item that holds what an earlier one left there, for the caller to fill in.
  T &push() {
    if (size_ == items_.size())
      Grow();
    return items_[(first_ + size_++) & (items_.size() - 1)];
  }
  void pop_front() {
    first_ = (first_ + 1) & (items_.size() - 1);
    --size_;
  }

private:
  void Grow() {
    std::vector<T> larger(items_.empty() ? 4 : 2 * items_.size());
    for (size_t i = 0; i < size_; ++i)
      larger[i] = std::move(items_[(first_ + i) & (items_.size() - 1)]);
    items_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> items_; // a power of two, or none
  size_t first_ = 0;
  size_t size_ = 0;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_RING_H
