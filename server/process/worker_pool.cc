#include "server/process/worker_pool.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{5000};
constexpr std::chrono::hours kLongestNap{1};

const char *ReasonLabel(const absl::Status &why) {
  switch (why.code()) {
  case absl::StatusCode::kDeadlineExceeded:
    return "timeout";
  case absl::StatusCode::kResourceExhausted:
    return absl::StrContains(why.message(), "CPU") ? "cpu" : "memory";
  case absl::StatusCode::kCancelled:
    return "cancelled";
  case absl::StatusCode::kDataLoss:
    return "protocol";
  case absl::StatusCode::kUnavailable:
    return "start";
  case absl::StatusCode::kFailedPrecondition:
    return "lease";
  default:
    return "crash";
  }
}

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

} // namespace

void CancelFlag::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (kill_)
    kill_();
}

bool CancelFlag::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

absl::StatusOr<wire::WorkerReply>
WorkerSession::Call(wire::WorkerRequest request, std::span<const int> fds, CallLimits limits,
                    CancelFlag *cancel,
                    const std::function<void(const wire::WorkerReply &)> &on_event) {
  if (absl::Status s = pool_.EnsureProcess(worker_, process_); !s.ok())
    return s;
  if (cancel) {
    std::lock_guard lock(cancel->mutex_);
    if (cancel->cancelled_)
      return absl::CancelledError("cancelled by the caller");
    cancel->kill_ = [process = process_.get()] { process->Kill(); };
  }
  absl::StatusOr<wire::WorkerReply> reply =
      process_->Call(std::move(request), fds, limits, on_event);
  if (cancel) {
    std::lock_guard lock(cancel->mutex_);
    cancel->kill_ = nullptr;
    // Killed, or about to be: either way this worker is not to be used again.
    if (cancel->cancelled_)
      reply = absl::CancelledError("cancelled by the caller");
  }
  if (!reply.ok()) {
    if (std::lock_guard lock(pool_.mutex_); pool_.killing_)
      reply =
          absl::UnavailableError("was ended before it was done, because the service is stopping "
                                 "and its grace is over");
    pool_.CountEnd(reply.status());
    {
      std::lock_guard lock(pool_.mutex_);
      pool_.live_.erase(process_.get());
      --pool_.stats_.alive;
    }
    if (absl::IsFailedPrecondition(reply.status()) && pool_.options_.on_silent)
      pool_.options_.on_silent(worker_, std::move(process_));
    process_.reset();
  }
  return reply;
}

WorkerPool::WorkerPool(Options options, Spawner &spawner, Metrics &metrics)
    : options_(std::move(options)), spawner_(spawner), metrics_(metrics),
      queue_wait_(
          metrics.queue_wait_seconds.Add({{"role", options_.role}}, Metrics::WorkBuckets())),
      started_(metrics.jobs_started_total.Add({{"role", options_.role}})),
      finished_(metrics.jobs_finished_total.Add({{"role", options_.role}})),
      queue_(options_.max_queue) {
  for (size_t i = 0; i < options_.workers; ++i)
    threads_.emplace_back([this, i] { ServeSlot(i); });
}

WorkerPool::~WorkerPool() { Stop(Clock::now()); }

bool WorkerPool::Submit(Job &&job) {
  bool now_full;
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || !queue_.HasRoom(job.share))
      return false;
    const Share share = job.share;
    queue_.Push(share, {std::move(job), Clock::now()});
    changed_.notify_all(); // one of them may, and only it
    now_full = queue_.full();
  }
  if (now_full && options_.on_pressure)
    options_.on_pressure();
  return true;
}

bool WorkerPool::full() const {
  std::lock_guard lock(mutex_);
  return queue_.full();
}

bool WorkerPool::WouldWait(bool alone) const {
  std::lock_guard lock(mutex_);
  return alone_ || !queue_.empty() || stats_.alive <= stats_.busy || (alone && stats_.busy > 0);
}

void WorkerPool::Stop(Clock::time_point deadline) {
  std::vector<Queued> dropped;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    dropped = queue_.TakeAll();
    changed_.notify_all();
  }
  for (Queued &q : dropped)
    q.job.drop(absl::UnavailableError("the service is stopping"));
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return stats_.busy == 0; });
    // A worker that is being waited for sees its process die.
    killing_ = true;
    for (WorkerProcess *process : live_)
      process->Kill();
  }
  for (std::thread &thread : threads_)
    if (thread.joinable())
      thread.join();
}

bool WorkerPool::stopping() const {
  std::lock_guard lock(mutex_);
  return stopping_;
}

WorkerPool::Stats WorkerPool::stats() const {
  std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.queued = static_cast<uint32_t>(queue_.size()) + waiting_;
  return stats;
}

milliseconds WorkerPool::ExpectedWait() const {
  std::lock_guard lock(mutex_);
  auto wait = mean_job_ * (queue_.size() + 1) / std::max<size_t>(options_.workers, 1);
  return std::clamp(std::chrono::duration_cast<milliseconds>(wait), milliseconds(50),
                    milliseconds(30'000));
}

absl::Status WorkerPool::EnsureProcess(size_t index, std::unique_ptr<WorkerProcess> &process) {
  if (process && process->Alive())
    return absl::OkStatus();
  if (stopping())
    return absl::UnavailableError("was not started, because the service is stopping");
  if (process) { // it went away by itself between two jobs
    CountEnd(absl::AbortedError("ended while it was idle"));
    std::lock_guard lock(mutex_);
    live_.erase(process.get());
    --stats_.alive;
    process.reset();
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, no_start_before_, [&] { return stopping_; });
    if (stopping_)
      return absl::UnavailableError("was not started, because the service is stopping");
  }
  auto started = WorkerProcess::Start(spawner_, options_.command);
  if (started.ok() && options_.on_start)
    if (absl::Status s = options_.on_start(index, **started); !s.ok())
      started = s;
  std::unique_lock lock(mutex_);
  if (!started.ok()) {
    auto pause = std::min(kFirstPause * (1 << std::min(start_failures_, 10)), kLongestPause);
    ++start_failures_;
    no_start_before_ = Clock::now() + pause;
    lock.unlock();
    CountEnd(absl::UnavailableError(started.status().message()));
    return absl::UnavailableError(
        absl::StrCat("no ", options_.what, " can be started: ", started.status().message()));
  }
  start_failures_ = 0;
  process = *std::move(started);
  live_.insert(process.get());
  ++stats_.alive;
  return absl::OkStatus();
}

void WorkerPool::CountEnd(const absl::Status &why) {
  {
    std::lock_guard lock(mutex_);
    ++stats_.restarts;
  }
  metrics_.worker_restarts_total.Add({{"role", options_.role}, {"reason", ReasonLabel(why)}})
      .Increment();
  spdlog::warn("{}: a worker {}", options_.what, std::string(why.message()));
}

void WorkerPool::Recycle(std::unique_ptr<WorkerProcess> &process) {
  if (!process)
    return;
  const uint64_t jobs = process->CountJob();
  const char *reason = nullptr;
  if (options_.max_jobs && jobs >= options_.max_jobs)
    reason = "recycled_jobs";
  else if (options_.max_rss_bytes && process->RssBytes() > options_.max_rss_bytes)
    reason = "recycled_memory";
  else if (!process->HasCpuFor(options_.job_cpu))
    reason = "recycled_cpu";
  if (!reason)
    return;
  metrics_.worker_restarts_total.Add({{"role", options_.role}, {"reason", reason}}).Increment();
  spdlog::debug("{}: a worker is replaced after {} jobs", options_.what, jobs);
  {
    std::lock_guard lock(mutex_);
    ++stats_.restarts;
    live_.erase(process.get());
    --stats_.alive;
  }
  process.reset();
}

bool WorkerPool::TakeJob(std::unique_lock<std::mutex> &lock, size_t index,
                         Clock::time_point deadline, Queued *next, std::string *tenant,
                         double *expected, bool *was_full) {
  auto turn = [&] {
    const bool needed =
        index < options_.ready_workers ||
        static_cast<size_t>(std::distance(working_.begin(), working_.lower_bound(index))) == index;
    return stopping_ || (!queue_.empty() && !alone_ && needed);
  };
  if (!changed_.wait_until(lock, deadline, turn) || stopping_)
    return false;
  working_.insert(index);
  changed_.notify_all(); // what is left may be another's now
  *was_full = queue_.full();
  *expected = Seconds(mean_job_);
  std::tie(*next, *tenant) = queue_.Pop(*expected);
  if (next->job.alone) {
    alone_ = true;
    ++waiting_;
    changed_.wait(lock, [&] { return stopping_ || stats_.busy == 0; });
    --waiting_;
  }
  return true;
}

void WorkerPool::ServeSlot(size_t index) {
  std::unique_ptr<WorkerProcess> process;
  for (;;) {
    // Before there is work, so that the next job does not wait for a process to start.
    const bool ready = index < options_.ready_workers;
    if (ready)
      (void)EnsureProcess(index, process);
    Queued next;
    std::string tenant;
    double expected = 0;
    bool was_full = false;
    {
      std::unique_lock lock(mutex_);
      // Without a process it is time to try to start one again, sooner or later.
      const auto deadline = process || !ready ? Clock::now() + kLongestNap : no_start_before_;
      if (!TakeJob(lock, index, deadline, &next, &tenant, &expected, &was_full)) {
        if (stopping_)
          break;
        continue;
      }
      const bool wanted = !next.job.wanted || next.job.wanted();
      if (wanted && !stopping_) {
        ++stats_.busy;
        ++stats_.started;
      } else {
        queue_.Charge(tenant, -expected);
        working_.erase(index);
        alone_ = alone_ && !next.job.alone;
        changed_.notify_all();
        const bool stops = stopping_;
        lock.unlock();
        next.job.drop(stops ? absl::UnavailableError("the service is stopping")
                            : absl::CancelledError("nobody waits for the job any more"));
        continue;
      }
    }
    if (was_full && options_.on_pressure)
      options_.on_pressure();
    WorkerSession session(*this, index, process);
    const Clock::time_point begin = Clock::now();
    session.queue_wait_ = begin - next.at;
    queue_wait_.Observe(Seconds(begin - next.at));
    started_.Increment();
    next.job.run(session);
    finished_.Increment();
    Recycle(process);
    std::lock_guard lock(mutex_);
    const Clock::duration took = Clock::now() - begin;
    mean_job_ = (mean_job_ * 7 + took) / 8;
    queue_.Charge(tenant, Seconds(took) - expected);
    working_.erase(index);
    alone_ = alone_ && !next.job.alone;
    --stats_.busy;
    ++stats_.finished;
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  if (process) {
    live_.erase(process.get());
    --stats_.alive;
  }
}

} // namespace pyasc::server
