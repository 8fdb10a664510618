#include "profiler/sim/data_threads.h"

#include "profiler/sim/units.h"

namespace pyasc::sim {
namespace {

// Effects that may wait for a thread.
constexpr size_t kMostJobs = 1024;

} // namespace

DataThreads::DataThreads(int threads, GlobalMemory &gm) : gm_(gm) {
  gm.Materialize();
  for (int i = 0; i < threads; ++i) {
    Lane &lane = *lanes_.emplace_back(std::make_unique<Lane>());
    lane.thread = std::thread([this, &lane] { Serve(lane); });
  }
}

DataThreads::~DataThreads() {
  for (auto &lane : lanes_) {
    {
      std::lock_guard lock(lane->mutex);
      lane->ending = true;
    }
    lane->changed.notify_all();
    lane->thread.join();
  }
}

void DataThreads::Serve(Lane &lane) {
  std::unique_lock lock(lane.mutex);
  for (;;) {
    lane.changed.wait(lock, [&] { return lane.ending || !lane.jobs.empty(); });
    if (lane.jobs.empty())
      return;
    const Job job = lane.jobs.front();
    lane.jobs.pop_front();
    lane.busy = true;
    lock.unlock();
    Execute(job.operation, *job.memory, gm_);
    lock.lock();
    lane.busy = false;
    if (lane.jobs.empty() || lane.jobs.size() == kMostJobs / 2)
      lane.changed.notify_all();
  }
}

void DataThreads::Post(int core, CoreMemory &memory, const Operation &operation) {
  Lane &lane = LaneOf(core);
  {
    std::unique_lock lock(lane.mutex);
    lane.changed.wait(lock, [&] { return lane.jobs.size() < kMostJobs; });
    lane.jobs.push_back({&memory, operation});
  }
  lane.changed.notify_all();
}

void DataThreads::Wait(Lane &lane) {
  std::unique_lock lock(lane.mutex);
  lane.changed.wait(lock, [&] { return lane.jobs.empty() && !lane.busy; });
}

void DataThreads::Wait(int core) { Wait(LaneOf(core)); }

void DataThreads::WaitAll() {
  for (auto &lane : lanes_)
    Wait(*lane);
}

} // namespace pyasc::sim
