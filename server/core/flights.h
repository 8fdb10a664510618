// Single flight: callers that want the same thing at the same time wait for one piece of work.
//
// A flight belongs to the service, not to the caller that started it: callers leave without
// disturbing it or each other. Whoever led its start must see that Finish() is called once; every
// waiter then gets the very same result, good or bad, and the entry is gone.
#ifndef PYASC_SERVER_CORE_FLIGHTS_H
#define PYASC_SERVER_CORE_FLIGHTS_H

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "pyasc/v1/compile.pb.h"
#include "server/core/compiled.h"

namespace pyasc::server {

struct FlightResult {
  // An error is the service's own (queue full, stopping).
  absl::StatusOr<CompiledPtr> compiled = absl::UnknownError("no result");
  // How the leader came by it.
  v1::CacheResult cache = v1::CACHE_RESULT_UNSPECIFIED;
  int64_t queue_ns = 0;
};

// Thread-safe. Waiters are called without a lock held, on the thread that calls Finish.
class Flights {
public:
  using Waiter = std::function<void(const FlightResult &, bool led)>;
  struct Joined {
    bool led = false;
    uint64_t waiter = 0;
  };

  // Waits for the flight `key`, which is started when there is none (`led`).
  Joined Join(const std::string &key, Waiter waiter);
  // The waiter will not be called, unless it is being called already.
  void Leave(const std::string &key, uint64_t waiter);
  void Finish(const std::string &key, const FlightResult &result);
  // Ends the flight when nobody waits for it; true when it did. For work that has not begun.
  bool AbandonIfUnwanted(const std::string &key);
  size_t size() const;

private:
  struct Entry {
    uint64_t id;
    Waiter waiter;
    bool led;
  };
  mutable std::mutex mutex_;
  uint64_t next_waiter_ = 1;
  std::unordered_map<std::string, std::map<uint64_t, Entry>> flights_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CORE_FLIGHTS_H
