#include "server/daemon/device_pool.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/service_error.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kDescribeLimit{30'000};
constexpr int kProbesUntilQuarantine = 3;
constexpr std::chrono::milliseconds kFirstProbePause{1000};
constexpr std::chrono::milliseconds kLongestProbePause{30'000};

class LaunchPending : public Pending {
public:
  explicit LaunchPending(std::shared_ptr<CancelFlag> flag) : flag_(std::move(flag)) {}
  void Cancel() override { flag_->Cancel(); }

private:
  std::shared_ptr<CancelFlag> flag_;
};

// Outputs that came in the frame. False: not those that were asked for.
bool TakeOutputs(LaunchWork &work, const wire::RunResult &result) {
  int next = 0;
  for (const wire::LaunchArgument &output : work.job.outputs()) {
    TensorMemory &memory = work.memory[output.memory_index()];
    if (!memory.in_frame())
      continue;
    if (next >= result.outputs_size() ||
        static_cast<int64_t>(result.outputs(next).size()) != memory.size_bytes() ||
        !memory.Write(0, result.outputs(next)).ok())
      return false;
    ++next;
  }
  return next == result.outputs_size();
}

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

} // namespace

DevicePool::DevicePool(Options options, Spawner &spawner, Metrics &metrics)
    : options_(std::move(options)), metrics_(metrics),
      lease_(
          metrics.device_lease_seconds.Add({{"driver", options_.driver}}, Metrics::WorkBuckets())),
      run_(metrics.run_duration_seconds.Add({{"driver", options_.driver}}, Metrics::WorkBuckets())),
      queue_full_(metrics.admission_rejected_total.Add({{"reason", "device_queue_full"}})),
      quarantined_(metrics.admission_rejected_total.Add({{"reason", "device_quarantined"}})),
      device_lease_(options_.lease_time), seats_(options_.pool.workers) {
  pool_ = std::make_unique<WorkerPool>(PoolOptions(), spawner, metrics);
  info_.set_ordinal(options_.ordinal);
  info_.set_driver(options_.driver);
  info_.set_state(v1::DEVICE_STATE_PROBING);
  SubmitProbe();
}

WorkerPool::Options DevicePool::PoolOptions() {
  WorkerPool::Options options = options_.pool;
  options.ready_workers = 1; // the others where runs come at the same time
  options.on_start = [this](size_t worker, WorkerProcess &process) {
    return Introduce(worker, process);
  };
  options.on_silent = [this](size_t worker, std::unique_ptr<WorkerProcess> process) {
    LetGo(worker, std::move(process));
  };
  return options;
}

void DevicePool::Stop(Clock::time_point deadline) {
  pool_->Stop(deadline);
  std::lock_guard lock(mutex_);
  stopping_ = true;
  for (WorkerProcess *process : let_go_)
    process->Kill();
}

absl::Status DevicePool::Introduce(size_t worker, WorkerProcess &process) {
  Seat &seat = seats_[worker];
  seat.loaded.clear();
  absl::StatusOr<LeasePage> page = LeasePage::Create();
  if (!page.ok())
    return page.status();
  seat.page = std::make_shared<LeasePage>(*std::move(page));
  wire::WorkerRequest grant;
  // Several signs of life a lease: one may come late on a busy machine.
  grant.mutable_lease()->set_renew_ms(
      static_cast<uint32_t>(std::max<int64_t>(options_.lease_time.count() / 4, 1)));
  const int fd = seat.page->memory().fd();
  return process.Call(std::move(grant), {&fd, 1}, {kDescribeLimit}, nullptr).status();
}

void DevicePool::LetGo(size_t worker, std::unique_ptr<WorkerProcess> process) {
  std::shared_ptr<LeasePage> page = seats_[worker].page;
  page->Revoke();
  std::shared_ptr<WorkerProcess> old = std::move(process);
  std::lock_guard lock(mutex_);
  if (stopping_)
    return; // killed by its destructor
  let_go_.insert(old.get());
  if (!farewell_)
    farewell_ = std::make_unique<Executor>(seats_.size());
  farewell_->Post([this, old, page] {
    const char *how = "ended";
    switch (old->Outlive(options_.lease_time)) {
    case WorkerProcess::LateEnd::kAnswered:
      how = "answered";
      device_lease_.CountLateResult();
      break;
    case WorkerProcess::LateEnd::kLeft:
      how = "left";
      break;
    case WorkerProcess::LateEnd::kEnded:
      break;
    }
    metrics_.device_lost_workers_total.Add({{"driver", options_.driver}, {"end", how}}).Increment();
    spdlog::warn("device {}:{}: the worker that lost its lease {}", options_.driver,
                 options_.ordinal,
                 how[0] == 'a'   ? "sent its result too late: dropped"
                 : how[0] == 'l' ? "woke up, saw it and ended"
                                 : "was ended");
    std::lock_guard lock(mutex_);
    let_go_.erase(old.get());
  });
}

void DevicePool::SubmitProbe() {
  {
    std::lock_guard lock(mutex_);
    if (probe_pending_)
      return;
    probe_pending_ = true;
  }
  WorkerPool::Job job;
  job.run = [this](WorkerSession &session) { Probe(session); };
  job.drop = [](const absl::Status &) {}; // the service stops
  if (pool_->Submit(std::move(job)))
    return;
  std::lock_guard lock(mutex_); // the queue is full: its jobs will show how the device is
  probe_pending_ = false;
  next_probe_ = Clock::now() + kFirstProbePause;
}

void DevicePool::Probe(WorkerSession &session) {
  wire::WorkerRequest ask;
  ask.set_describe_devices(true);
  auto answer = session.Call(std::move(ask), {}, {kDescribeLimit});
  std::unique_lock lock(mutex_);
  probe_pending_ = false;
  const v1::DeviceState before = info_.state();
  if (answer.ok() && !answer->devices().devices().empty()) {
    info_ = answer->devices().devices(0);
    info_.set_driver(options_.driver);
    info_.set_ordinal(options_.ordinal);
    info_.set_state(v1::DEVICE_STATE_HEALTHY);
    if (probes_failed_ > 0)
      spdlog::warn("device {}:{} is well again", options_.driver, options_.ordinal);
    probes_failed_ = 0;
    return;
  }
  ++probes_failed_;
  info_.set_state(probes_failed_ >= kProbesUntilQuarantine ? v1::DEVICE_STATE_QUARANTINED
                                                           : v1::DEVICE_STATE_SUSPECT);
  next_probe_ = Clock::now() + std::min(kFirstProbePause * (1 << std::min(probes_failed_ - 1, 10)),
                                        kLongestProbePause);
  if (info_.state() != before)
    spdlog::warn("device {}:{} does not answer{}", options_.driver, options_.ordinal,
                 info_.state() == v1::DEVICE_STATE_QUARANTINED ? " and is quarantined" : "");
  lock.unlock();
  if (options_.on_unwell)
    options_.on_unwell();
}

Clock::time_point DevicePool::Tend() {
  {
    std::lock_guard lock(mutex_);
    if (info_.state() == v1::DEVICE_STATE_HEALTHY)
      return Clock::time_point::max();
    if (probe_pending_ || Clock::now() < next_probe_)
      return std::max(next_probe_, Clock::now() + kFirstProbePause / 4);
  }
  SubmitProbe();
  return Clock::now() + kFirstProbePause / 4;
}

bool DevicePool::quarantined() const {
  std::lock_guard lock(mutex_);
  return info_.state() == v1::DEVICE_STATE_QUARANTINED;
}

void DevicePool::SetState(v1::DeviceState state) {
  std::lock_guard lock(mutex_);
  info_.set_state(state);
}

uint32_t DevicePool::Load() const {
  WorkerPool::Stats stats = pool_->stats();
  return stats.busy + stats.queued;
}

v1::DeviceInfo DevicePool::info() const {
  uint32_t queued = pool_->stats().queued;
  std::lock_guard lock(mutex_);
  v1::DeviceInfo info = info_;
  info.set_queue_length(queued);
  *info.mutable_lease() = device_lease_.info(Clock::now());
  return info;
}

PendingPtr DevicePool::Launch(const std::shared_ptr<LaunchWork> &work,
                              std::function<void(LaunchAnswer)> done) {
  auto cancel = std::make_shared<CancelFlag>();
  auto answer_once = std::make_shared<std::function<void(LaunchAnswer)>>(std::move(done));
  std::optional<LaunchAnswer> refuse;
  WorkerPool::Job job;
  job.share = work->share;
  // Times are what somebody wants to know: nothing else may take part of them.
  const bool alone = work->job.profile() || work->job.max_samples() > 0 || work->job.timing_only();
  job.alone = alone;
  job.wanted = [cancel] { return !cancel->cancelled(); };
  job.drop = [answer_once](const absl::Status &why) {
    LaunchAnswer answer;
    answer.status = absl::IsCancelled(why)
                        ? why
                        : ServiceError(absl::StatusCode::kUnavailable, "the service is stopping",
                                       {.reason = "STOPPING"});
    (*answer_once)(std::move(answer));
  };
  job.run = [this, work, alone, cancel, answer_once](WorkerSession &session) {
    bool suspect = false;
    (*answer_once)(RunOnDevice(*work, alone, session, *cancel, &suspect));
    if (suspect) // whether the kernel or the device was at fault
      Probe(session);
  };
  {
    std::lock_guard lock(mutex_);
    if (info_.state() == v1::DEVICE_STATE_QUARANTINED) {
      const auto wait = std::max<Clock::duration>(next_probe_ - Clock::now(), kFirstProbePause);
      LaunchAnswer refused;
      refused.status = ServiceError(
          absl::StatusCode::kUnavailable,
          absl::StrCat("the device ", options_.driver, ":", options_.ordinal,
                       " does not work and is quarantined; it is tried again now and then"),
          {.reason = "DEVICE_QUARANTINED",
           .retry_after = std::chrono::duration_cast<std::chrono::milliseconds>(wait)});
      refuse.emplace(std::move(refused));
    }
  }
  if (refuse) {
    quarantined_.Increment();
    (*answer_once)(*std::move(refuse));
    return nullptr;
  }
  if (work->on_progress && pool_->WouldWait(alone)) {
    v1::Progress progress;
    progress.set_stage("waiting for device");
    work->on_progress(progress);
  }
  if (pool_->Submit(std::move(job)))
    return std::make_shared<LaunchPending>(std::move(cancel));
  LaunchAnswer answer;
  if (pool_->stopping()) {
    answer.status = ServiceError(absl::StatusCode::kUnavailable, "the service is stopping",
                                 {.reason = "STOPPING"});
  } else {
    queue_full_.Increment();
    answer.status = ServiceError(
        absl::StatusCode::kResourceExhausted, "the queue of the device is full; try again later",
        {.reason = "QUEUE_FULL",
         .metadata = {{"queue", absl::StrCat(options_.driver, ":", options_.ordinal)}},
         .retry_after = pool_->ExpectedWait()});
  }
  (*answer_once)(std::move(answer));
  return nullptr;
}

LaunchAnswer DevicePool::RunOnDevice(LaunchWork &work, bool alone, WorkerSession &session,
                                     CancelFlag &cancel, bool *suspect) {
  std::set<std::string> &loaded = seats_[session.worker()].loaded;
  const Clock::time_point begin = Clock::now();
  auto limit = options_.time_limit;
  if (work.time_limit.count() > 0)
    limit = std::min(limit, work.time_limit);
  // Simulated time is the same however busy the machine is.
  const bool watch = options_.other_work && options_.driver != "sim";
  WorkerPool::Stats others_before;
  const WorkerPool::Stats ours_before = pool_->stats();
  if (watch)
    others_before = options_.other_work();
  std::vector<int> fds;
  for (const TensorMemory &memory : work.memory) {
    wire::TensorMemory &sent = *work.job.add_memory();
    sent.set_bytes(memory.size_bytes());
    if (!memory.in_frame()) {
      sent.set_fd_index(static_cast<uint32_t>(fds.size()));
      fds.push_back(memory.fd());
    } else if (memory.sealed()) { // an input: outputs are zeros
      sent.set_data(memory.data().data(), memory.data().size());
    }
  }
  uint64_t token = 0;
  auto on_event = [&](const wire::WorkerReply &event) {
    device_lease_.Renew(token, Clock::now());
    if (event.has_progress() && work.on_progress)
      work.on_progress(event.progress());
    if (event.has_print() && work.on_print)
      work.on_print(event.print());
    if (event.has_trace() && work.on_trace)
      work.on_trace(event.trace());
  };
  const std::string &key = work.compiled->semantic_key();
  absl::StatusOr<wire::WorkerReply> reply = absl::UnknownError("");
  for (bool send_artifact : {!loaded.count(key), true}) {
    wire::WorkerRequest ask;
    *ask.mutable_run() = work.job;
    ask.mutable_run()->set_artifact_key(key);
    if (send_artifact)
      ask.mutable_run()->set_artifact(work.compiled->artifact().data(),
                                      work.compiled->artifact().size());
    token = device_lease_.Grant(alone, Clock::now());
    ask.mutable_run()->set_lease_token(token);
    reply = session.Call(std::move(ask), fds, {limit, options_.lease_time, options_.pool.job_cpu},
                         &cancel, on_event);
    if (absl::IsFailedPrecondition(reply.status())) {
      device_lease_.Lose(token);
      break;
    }
    device_lease_.Release(token);
    if (!reply.ok() || !reply->run().artifact_needed())
      break;
  }
  LaunchAnswer answer;
  answer.lease = Clock::now() - begin;
  lease_.Observe(Seconds(Clock::now() - begin));
  if (!reply.ok()) {
    loaded.clear();
    if (absl::IsCancelled(reply.status()))
      answer.status = reply.status();
    else if (absl::IsUnavailable(reply.status()))
      answer.status = ServiceError(absl::StatusCode::kUnavailable,
                                   absl::StartsWith(reply.status().message(), "was ")
                                       ? absl::StrCat("the run ", reply.status().message())
                                       : std::string(reply.status().message()),
                                   {.reason = pool_->stopping() ? "STOPPING" : "NO_WORKER",
                                    .retry_after = std::chrono::milliseconds(1000)});
    else if (absl::IsFailedPrecondition(reply.status()))
      answer.failure = absl::StrCat("lost its lease on the device: it ", reply.status().message());
    else
      answer.failure = std::string(reply.status().message());
    answer.died = DiedOfItsJob(reply.status());
    *suspect = !absl::IsCancelled(reply.status());
    if (*suspect) {
      {
        std::lock_guard lock(mutex_);
        probe_pending_ = true; // by this worker, behind its answer: no other one is wanted for it
      }
      SetState(v1::DEVICE_STATE_SUSPECT);
    }
    return answer;
  }
  SetState(v1::DEVICE_STATE_HEALTHY);
  if (!reply->has_run() || reply->run().artifact_needed()) {
    answer.failure = "gave no answer";
    return answer;
  }
  if (reply->run().lease_token() != token) {
    device_lease_.CountLateResult();
    answer.failure = "answered under another lease than the one that it has";
    return answer;
  }
  if (reply->run().error().empty() && !TakeOutputs(work, reply->run())) {
    answer.failure = "gave other outputs than it was asked for";
    return answer;
  }
  run_.Observe(Seconds(Clock::now() - begin));
  if (loaded.size() > 1024)
    loaded.clear(); // only a hint: the worker asks when it needs the artifact
  loaded.insert(key);
  answer.result = std::move(*reply->mutable_run());
  if (watch) {
    const WorkerPool::Stats others = options_.other_work();
    const WorkerPool::Stats ours = pool_->stats(); // this run among them
    if (others_before.busy || others.busy || others.started != others_before.started ||
        ours_before.busy > 1 || ours.busy > 1 || ours.started != ours_before.started)
      answer.result.mutable_report()->mutable_trust()->set_contended(true);
  }
  return answer;
}

void DevicePool::UpdateMetrics() {
  v1::DeviceInfo now = info();
  const std::string device = absl::StrCat(options_.driver, ":", options_.ordinal);
  for (auto [state, label] : {std::pair{v1::DEVICE_STATE_HEALTHY, "healthy"},
                              std::pair{v1::DEVICE_STATE_SUSPECT, "suspect"},
                              std::pair{v1::DEVICE_STATE_QUARANTINED, "quarantined"},
                              std::pair{v1::DEVICE_STATE_PROBING, "probing"}})
    metrics_.device_state.Add({{"device", device}, {"state", label}})
        .Set(now.state() == state ? 1 : 0);
}

} // namespace pyasc::server
