// Host threads that compute what instructions do to data, while one thread keeps the time.
//
// A core's effects are done by one thread, in the order in which they come: on what a core has for
// itself the result is that of one thread. Times never depend on data, so cycles do not depend on
// the number of threads. What cores share is the caller's care: see Engine::Effect.
#ifndef PYASC_PROFILER_SIM_DATA_THREADS_H
#define PYASC_PROFILER_SIM_DATA_THREADS_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/sim/access.h"
#include "profiler/sim/memory.h"
#include "profiler/sim/ring.h"

namespace pyasc::sim {

class DataThreads {
public:
  DataThreads(int threads, GlobalMemory &gm);
  // Finishes what was posted.
  ~DataThreads();

  // `memory` is that of core number `core`, and lives until the effect is done. Waits when too much
  // is under way.
  void Post(int core, CoreMemory &memory, const Operation &operation);
  // Until everything that was posted for the core, or for any, is done.
  void Wait(int core);
  void WaitAll();

private:
  struct Job {
    CoreMemory *memory = nullptr;
    Operation operation;
  };
  struct Lane {
    std::mutex mutex;
    std::condition_variable changed;
    Ring<Job> jobs;
    bool busy = false;
    bool ending = false;
    std::thread thread;
  };
  void Serve(Lane &lane);
  void Wait(Lane &lane);
  Lane &LaneOf(int core) { return *lanes_[static_cast<size_t>(core) % lanes_.size()]; }

  GlobalMemory &gm_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_DATA_THREADS_H
