// A pool of worker processes of one role, with a bounded queue before it that is fair to tenants.
//
// Every worker has a thread of its own here, which takes a job, talks to its process and replaces
// the process when it has crashed, hung or eaten its memory. A worker that fails to start is tried
// again after a growing pause; one that a job has killed is replaced at once.
//
// A job may ask to be alone: it waits for those that run, and those behind it in the queue wait for
// it, so that neither kind keeps the other out for ever.
#ifndef PYASC_SERVER_PROCESS_WORKER_POOL_H
#define PYASC_SERVER_PROCESS_WORKER_POOL_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/fair_queue.h"
#include "server/metrics/metrics.h"
#include "server/process/worker_process.h"

namespace pyasc::server {

// Lets another thread end a job: before it starts it is dropped, afterwards its worker is killed.
class CancelFlag {
public:
  void Cancel();
  bool cancelled() const;

private:
  friend class WorkerSession;
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::function<void()> kill_;
};

// What a running job sees of its worker. Valid while the job's `run` runs.
class WorkerSession {
public:
  // As WorkerProcess::Call; a dead worker is replaced first. CANCELLED when `cancel` was set.
  // UNAVAILABLE when no worker can be started, or the pool stops and had to end the job.
  absl::StatusOr<wire::WorkerReply>
  Call(wire::WorkerRequest request, std::span<const int> fds, CallLimits limits,
       CancelFlag *cancel = nullptr,
       const std::function<void(const wire::WorkerReply &)> &on_event = nullptr);

  std::chrono::nanoseconds queue_wait() const { return queue_wait_; }
  // Which of the pool's workers it is: 0, 1, ...
  size_t worker() const { return worker_; }

private:
  friend class WorkerPool;
  WorkerSession(class WorkerPool &pool, size_t worker, std::unique_ptr<WorkerProcess> &process)
      : pool_(pool), worker_(worker), process_(process) {}

  class WorkerPool &pool_;
  const size_t worker_;
  std::unique_ptr<WorkerProcess> &process_;
  std::chrono::nanoseconds queue_wait_{};
};

class WorkerPool {
public:
  struct Options {
    // Label in metrics and logs: "compile", "device".
    std::string role;
    // What the workers are for, in messages: "compile worker", "device worker sim:0".
    std::string what;
    WorkerCommand command;
    size_t workers = 1;
    // Of them, those whose processes are there before there is work for them.
    size_t ready_workers = SIZE_MAX;
    size_t max_queue = 256;
    // A worker that has done so many jobs, or keeps so much memory after one, is replaced before
    // the next; 0: never.
    uint64_t max_jobs = 0;
    uint64_t max_rss_bytes = 0;
    // That a job may take of CPU time: a worker whose life's share does not reach for another one
    // is replaced, too. 0: no limit.
    std::chrono::seconds job_cpu{0};
    // Called without a lock when the queue has become full, and when it is no longer. May be empty.
    std::function<void()> on_pressure = {};
    // Called on the worker's thread. A process has started: an error ends it again. And one was
    // silent for longer than its job allowed: it still lives, and is not the pool's any more. May
    // be empty.
    std::function<absl::Status(size_t worker, WorkerProcess &)> on_start = {};
    std::function<void(size_t worker, std::unique_ptr<WorkerProcess>)> on_silent = {};
  };
  struct Job {
    // Asked when the job's turn comes; false: nobody wants it any more. May be empty.
    std::function<bool()> wanted;
    std::function<void(WorkerSession &)> run;
    // Called instead of run: CANCELLED (unwanted) or UNAVAILABLE (the pool stops).
    std::function<void(absl::Status)> drop;
    Share share = {};
    // No other job runs beside it.
    bool alone = false;
  };
  struct Stats {
    uint32_t alive = 0, busy = 0, queued = 0;
    uint64_t started = 0, finished = 0, restarts = 0;
  };

  WorkerPool(Options options, Spawner &spawner, Metrics &metrics);
  ~WorkerPool();

  // False: there is no room for this tenant, or the pool stops; the job is untouched.
  bool Submit(Job &&job);
  // Takes no more jobs, drops what is queued, and waits for what runs; kills the workers that
  // still work at `deadline`. Idempotent.
  void Stop(std::chrono::steady_clock::time_point deadline);
  bool stopping() const;
  // The next job would be refused.
  bool full() const;
  // A job that came now would not begin at once.
  bool WouldWait(bool alone) const;
  Stats stats() const;
  const Options &options() const { return options_; }
  // A guess of how long a job that is queued now would wait.
  std::chrono::milliseconds ExpectedWait() const;

private:
  friend class WorkerSession;
  using Clock = std::chrono::steady_clock;
  struct Queued {
    Job job;
    std::chrono::steady_clock::time_point at;
  };
  void ServeSlot(size_t index);
  // Takes the next job that this worker is to do, and its tenant; waits for it until `deadline`.
  // False: there is none, or the pool stops. With the mutex held.
  bool TakeJob(std::unique_lock<std::mutex> &lock, size_t index, Clock::time_point deadline,
               Queued *next, std::string *tenant, double *expected, bool *was_full);
  // Starts the process of a worker when it has none. UNAVAILABLE: it does not start.
  absl::Status EnsureProcess(size_t index, std::unique_ptr<WorkerProcess> &process);
  void CountEnd(const absl::Status &why);
  // Ends a worker that has served long enough.
  void Recycle(std::unique_ptr<WorkerProcess> &process);

  const Options options_;
  Spawner &spawner_;
  Metrics &metrics_;
  prometheus::Histogram &queue_wait_;
  prometheus::Counter &started_;
  prometheus::Counter &finished_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FairQueue<Queued> queue_;
  // Workers that have a job. One that is not kept ready takes none while one before it has none.
  std::set<size_t> working_;
  bool alone_ = false;             // a job is, or waits to be
  uint32_t waiting_ = 0;           // such jobs that wait
  std::set<WorkerProcess *> live_; // for killing at Stop
  bool stopping_ = false;
  bool killing_ = false; // what still runs was ended because the pool stops
  Stats stats_;
  int start_failures_ = 0;
  std::chrono::steady_clock::time_point no_start_before_{};
  std::chrono::nanoseconds mean_job_{std::chrono::milliseconds(100)};
  std::vector<std::thread> threads_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_PROCESS_WORKER_POOL_H
