// pyascd's backend: cache, single flight, worker processes.
//
// The life of a compile: memory tier -> flight of the request key -> disk tier -> a compile worker
// names the semantic key -> cache and flight of that key -> the worker compiles -> the artifact is
// checked, stored, and given to everyone who waits.
#ifndef PYASC_SERVER_DAEMON_POOLED_BACKEND_H
#define PYASC_SERVER_DAEMON_POOLED_BACKEND_H

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/cache/artifact_cache.h"
#include "server/core/backend.h"
#include "server/core/crash_reports.h"
#include "server/core/executor.h"
#include "server/core/flights.h"
#include "server/core/keys.h"
#include "server/core/poison.h"
#include "server/daemon/device_pool.h"
#include "server/metrics/metrics.h"
#include "server/process/worker_pool.h"

namespace pyasc::server {

class PooledBackend : public Backend {
public:
  struct Options {
    WorkerPool::Options compile;
    std::chrono::milliseconds compile_time_limit{30'000};
    std::chrono::seconds poison_time{600};
    std::string crash_directory; // "": no reports
    std::vector<DevicePool::Options> devices;
    v1::GetCapabilitiesReply capabilities;
    BuildIdentity build;
  };
  PooledBackend(Options options, ArtifactCache &cache, Spawner &spawner, Metrics &metrics);
  ~PooledBackend() override;

  PendingPtr Compile(v1::CompileRequest request, const Caller &caller,
                     std::function<void(const CompileAnswer &)> done,
                     const std::function<void()> &on_wait) override;
  CompiledPtr FindCached(const std::string &request_key, const Caller &caller) override {
    return cache_.FindInMemory(KeyWithin(caller.name_space, request_key));
  }
  PendingPtr Check(v1::CheckRequest request, const Caller &caller,
                   std::function<void(absl::StatusOr<v1::CheckReply>)> done) override;
  PendingPtr Launch(std::shared_ptr<LaunchWork> work,
                    std::function<void(LaunchAnswer)> done) override;
  std::vector<v1::DeviceInfo> Devices() override;
  const v1::GetCapabilitiesReply &capabilities() const override { return options_.capabilities; }
  absl::StatusOr<std::string> ArtifactRecord(const std::string &key, const Caller &caller) override;

  void KeepCrash(const std::string &how, const v1::CompileRequest &request) override {
    crashes_.Keep("device worker", how, request);
  }

  // Takes no more work and waits for what runs until `deadline`.
  void Stop(std::chrono::steady_clock::time_point deadline);

  // New kernels would be refused: a load balancer should send them elsewhere.
  bool saturated() const { return compile_pool_->full(); }
  // Looks after devices that are not well; returns when to call it again.
  std::chrono::steady_clock::time_point TendDevices();

  std::vector<v1::WorkerStats> WorkerStats() const;
  uint64_t compiles() const { return compiles_; }
  uint64_t joined() const { return joined_; }
  size_t flights() const { return flights_.size(); }
  void UpdateMetrics();

private:
  struct CompileTask {
    v1::CompileRequest request;
    std::string request_key; // within the caller's namespace
    Caller caller;
  };
  using TaskPtr = std::shared_ptr<CompileTask>;

  void LookUp(const TaskPtr &task);
  void RunInWorker(const TaskPtr &task, WorkerSession &session);
  void CompileInWorker(const TaskPtr &task, WorkerSession &session, const std::string &semantic);
  absl::Status QueueFull();
  absl::StatusOr<wire::WorkerReply> Ask(WorkerSession &session, wire::WorkerRequest request);
  // `task`: null when the request has no key, and is not to be remembered.
  FlightResult Failure(const absl::Status &status, WorkerSession &session, const CompileTask *task);

  const Options options_;
  ArtifactCache &cache_;
  Metrics &metrics_;
  prometheus::Counter &led_, &joined_counter_, &queue_full_, &poisonous_;
  std::atomic<uint64_t> compiles_{0}, joined_{0};
  Flights flights_;
  PoisonList poison_;
  CrashReports crashes_;
  std::unique_ptr<WorkerPool> compile_pool_;
  std::vector<std::unique_ptr<DevicePool>> devices_;
  // Last, so that it ends first: what it runs submits to the pools.
  std::unique_ptr<Executor> executor_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_DAEMON_POOLED_BACKEND_H
