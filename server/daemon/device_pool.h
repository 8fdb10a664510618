// One device of the daemon: the one worker process that owns it, and the jobs that wait for it.
//
// Its state: healthy; suspect after a job that failed, until a probe has looked; probing while one
// does; quarantined after three probes in vain. A quarantined device takes no jobs and is probed
// again and again, in growing intervals, so that one that has recovered comes back by itself.
#ifndef PYASC_SERVER_DAEMON_DEVICE_POOL_H
#define PYASC_SERVER_DAEMON_DEVICE_POOL_H

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "server/core/backend.h"
#include "server/metrics/metrics.h"
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
    // What else works on this machine's cores; may be empty.
    std::function<WorkerPool::Stats()> other_work = {};
    // Called when a probe was in vain: Tend() wants to be called. May be empty.
    std::function<void()> on_unwell = {};
  };
  DevicePool(Options options, Spawner &spawner, Metrics &metrics);

  PendingPtr Launch(std::shared_ptr<LaunchWork> work, std::function<void(LaunchAnswer)> done);
  void Stop(std::chrono::steady_clock::time_point deadline) { pool_->Stop(deadline); }
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
  LaunchAnswer RunOnDevice(LaunchWork &work, WorkerSession &session, CancelFlag &cancel);
  void SubmitProbe();
  void Probe(WorkerSession &session);
  void SetState(v1::DeviceState state);

  const Options options_;
  Metrics &metrics_;
  prometheus::Histogram &lease_, &run_;
  prometheus::Counter &queue_full_, &quarantined_;
  std::unique_ptr<WorkerPool> pool_;
  mutable std::mutex mutex_;
  v1::DeviceInfo info_;
  bool probe_pending_ = false;
  int probes_failed_ = 0;
  std::chrono::steady_clock::time_point next_probe_{};
  // Artifacts that the worker has; used by the pool's one thread.
  std::set<std::string> loaded_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_DEVICE_POOL_H
