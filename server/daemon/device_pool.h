// One device of the daemon: the worker processes that use it, and the jobs that wait for it.
//
// Its state: healthy; suspect after a job that failed, until a probe has looked; probing while one
// does; quarantined after three probes in vain. A quarantined device takes no jobs and is probed
// again and again, in growing intervals, so that one that has recovered comes back by itself.
//
// A job holds a lease on the device (device_lease.h) while it runs: one that measures holds it
// alone, the others share it, each in a worker process of its own. A worker that falls silent loses
// it: its page (lease_page.h) says so, another worker takes its place, and the old one is let go.
// It ends by itself when it wakes up; a result of it is dropped; after the lease's time it is
// killed.
#ifndef PYASC_SERVER_DAEMON_DEVICE_POOL_H
#define PYASC_SERVER_DAEMON_DEVICE_POOL_H

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "server/core/backend.h"
#include "server/core/executor.h"
#include "server/daemon/device_lease.h"
#include "server/metrics/metrics.h"
#include "server/process/lease_page.h"
#include "server/process/worker_pool.h"

namespace pyasc::server {

class DevicePool {
public:
  struct Options {
    std::string driver;   // "sim", "host"
    uint32_t ordinal = 0; // within the driver
    WorkerPool::Options pool;
    // The longest that one job may hold the device.
    std::chrono::milliseconds time_limit{60'000};
    // That a worker may be silent while it runs something.
    std::chrono::milliseconds lease_time{10'000};
    // What else works on this machine's cores; may be empty.
    std::function<WorkerPool::Stats()> other_work = {};
    // Called when a probe was in vain: Tend() wants to be called. May be empty.
    std::function<void()> on_unwell = {};
  };
  DevicePool(Options options, Spawner &spawner, Metrics &metrics);

  PendingPtr Launch(const std::shared_ptr<LaunchWork> &work,
                    std::function<void(LaunchAnswer)> done);
  void Stop(std::chrono::steady_clock::time_point deadline);
  // Jobs that run or wait.
  uint32_t Load() const;
  bool quarantined() const;
  // Probes the device when it is time for that; returns when to call it again.
  std::chrono::steady_clock::time_point Tend();
  v1::DeviceInfo info() const;
  const WorkerPool &pool() const { return *pool_; }
  const Options &options() const { return options_; }
  void UpdateMetrics();

private:
  // What the pool's thread of a worker knows of it; no other uses it.
  struct Seat {
    std::set<std::string> loaded; // artifacts that the worker has
    std::shared_ptr<LeasePage> page;
  };

  // `suspect`: the device may be at fault, and its state says so.
  LaunchAnswer RunOnDevice(LaunchWork &work, bool alone, WorkerSession &session, CancelFlag &cancel,
                           bool *suspect);
  WorkerPool::Options PoolOptions();
  // Gives a worker that has just started its page.
  absl::Status Introduce(size_t worker, WorkerProcess &process);
  void LetGo(size_t worker, std::unique_ptr<WorkerProcess> process);
  void SubmitProbe();
  void Probe(WorkerSession &session);
  void SetState(v1::DeviceState state);

  const Options options_;
  Metrics &metrics_;
  prometheus::Histogram &lease_, &run_;
  prometheus::Counter &queue_full_, &quarantined_;
  DeviceLease device_lease_;
  mutable std::mutex mutex_;
  v1::DeviceInfo info_;
  bool probe_pending_ = false;
  int probes_failed_ = 0;
  std::chrono::steady_clock::time_point next_probe_{};
  std::set<WorkerProcess *> let_go_;
  bool stopping_ = false;
  std::vector<Seat> seats_;
  // Made when first needed: waits for workers that were let go.
  std::unique_ptr<Executor> farewell_;
  // Last: its threads use the rest.
  std::unique_ptr<WorkerPool> pool_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_DEVICE_POOL_H
