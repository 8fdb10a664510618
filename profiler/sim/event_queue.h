// What the engine will do next, in the order of time.
#ifndef PYASC_PROFILER_SIM_EVENT_QUEUE_H
#define PYASC_PROFILER_SIM_EVENT_QUEUE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pyasc::sim {

enum class EventKind : uint8_t { kComplete, kTransfer, kTry, kScalar };

struct Event {
  double time;
  // Kind, core and pipe, so that they decide in this order.
  uint32_t order;
  uint32_t age;

  bool Before(const Event &other) const {
    if (time != other.time)
      return time < other.time;
    // Ages wrap; events of one time are close to each other.
    return order != other.order ? order < other.order : static_cast<int32_t>(age - other.age) < 0;
  }
  EventKind kind() const { return static_cast<EventKind>(order >> 24); }
  int core() const { return static_cast<int>(order >> 8 & 0xffff); }
  int pipe() const { return static_cast<int>(order & 0xff); }
};

// A heap of four children a node. Most events make another one, which takes the place of theirs:
// what is taken leaves a hole until then.
class EventQueue {
public:
  bool empty() const { return heap_.size() == (hole_ ? 1 : 0); }
  void Clear() {
    heap_.clear();
    hole_ = false;
  }
  void Push(const Event &event) {
    if (hole_) {
      hole_ = false;
      SiftDown(event);
      return;
    }
    size_t at = heap_.size();
    heap_.push_back(event);
    for (; at > 0 && event.Before(heap_[(at - 1) / kWays]); at = (at - 1) / kWays)
      heap_[at] = heap_[(at - 1) / kWays];
    heap_[at] = event;
  }
  // REQUIRES: not empty.
  Event Take() {
    if (hole_) {
      const Event last = heap_.back();
      heap_.pop_back();
      SiftDown(last);
    }
    hole_ = true;
    return heap_.front();
  }

private:
  static constexpr size_t kWays = 4;

  // Puts the event where it belongs, from the top down.
  void SiftDown(const Event &event) {
    const size_t size = heap_.size();
    size_t at = 0;
    for (size_t first = 1; first < size; first = kWays * at + 1) {
      size_t least = first;
      for (size_t n = first + 1, end = std::min(first + kWays, size); n < end; ++n)
        if (heap_[n].Before(heap_[least]))
          least = n;
      if (!heap_[least].Before(event))
        break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  std::vector<Event> heap_;
  bool hole_ = false;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_EVENT_QUEUE_H
