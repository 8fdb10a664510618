#include "server/daemon/pooled_backend.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/service_error.h"
#include "server/core/sha256.h"
#include "spdlog/spdlog.h"

namespace pyasc::server {

using Clock = std::chrono::steady_clock;

namespace {

class FlightWaiter : public Pending {
public:
  FlightWaiter(Flights &flights, std::string key, uint64_t waiter)
      : flights_(flights), key_(std::move(key)), waiter_(waiter) {}
  void Cancel() override { flights_.Leave(key_, waiter_); }

private:
  Flights &flights_;
  std::string key_;
  uint64_t waiter_;
};

class CheckPending : public Pending {
public:
  explicit CheckPending(std::shared_ptr<CancelFlag> flag) : flag_(std::move(flag)) {}
  void Cancel() override { flag_->Cancel(); }

private:
  std::shared_ptr<CancelFlag> flag_;
};

absl::Status Stopping() {
  return ServiceError(absl::StatusCode::kUnavailable, "the service is stopping",
                      {.reason = "STOPPING", .retry_after = std::chrono::milliseconds(1000)});
}

const char *ResultLabel(const CompiledPtr &compiled) {
  switch (compiled->outcome()) {
  case v1::OUTCOME_OK:
    return "ok";
  case v1::OUTCOME_REJECTED:
    return "rejected";
  default:
    return "failed";
  }
}

} // namespace

PooledBackend::PooledBackend(Options options, ArtifactCache &cache, Spawner &spawner,
                             Metrics &metrics)
    : options_(std::move(options)), cache_(cache), metrics_(metrics),
      led_(metrics.singleflight_total.Add({{"role", "leader"}})),
      joined_counter_(metrics.singleflight_total.Add({{"role", "joined"}})),
      queue_full_(metrics.admission_rejected_total.Add({{"reason", "compile_queue_full"}})),
      poisonous_(metrics.admission_rejected_total.Add({{"reason", "poisonous"}})),
      poison_(options_.poison_time), crashes_(options_.crash_directory, options_.build.build_id),
      compile_pool_(std::make_unique<WorkerPool>(options_.compile, spawner, metrics)),
      executor_(std::make_unique<Executor>(2)) {
  for (DevicePool::Options device : options_.devices) {
    device.other_work = [this] { return compile_pool_->stats(); };
    devices_.push_back(std::make_unique<DevicePool>(std::move(device), spawner, metrics));
  }
}

PooledBackend::~PooledBackend() { Stop(Clock::now()); }

PendingPtr PooledBackend::Compile(v1::CompileRequest request, const Caller &caller,
                                  std::function<void(const CompileAnswer &)> done,
                                  const std::function<void()> &on_wait) {
  const std::string shown = RequestKey(request, options_.build);
  std::string key = KeyWithin(caller.name_space, shown);
  if (CompiledPtr hit = cache_.FindInMemory(key)) {
    done({std::move(hit), v1::CACHE_RESULT_HIT, shown, 0});
    return nullptr;
  }
  if (on_wait)
    on_wait();
  Flights::Joined joined =
      flights_.Join(key, [shown, done = std::move(done)](const FlightResult &result, bool led) {
        // Those who joined say so, unless the flight found the answer without compiling.
        bool compiled = result.cache == v1::CACHE_RESULT_MISS;
        done({result.compiled, !led && compiled ? v1::CACHE_RESULT_JOINED : result.cache, shown,
              result.queue_ns});
      });
  auto waiter = std::make_shared<FlightWaiter>(flights_, key, joined.waiter);
  if (!joined.led) {
    joined_counter_.Increment();
    joined_.fetch_add(1, std::memory_order_relaxed);
    return waiter;
  }
  led_.Increment();
  auto task =
      std::make_shared<CompileTask>(CompileTask{std::move(request), std::move(key), caller});
  executor_->Post([this, task] { LookUp(task); });
  return waiter;
}

void PooledBackend::LookUp(const TaskPtr &task) {
  // Memory again, too: the flight before this one may have ended since.
  if (CompiledPtr hit = cache_.Find(task->request_key))
    return flights_.Finish(task->request_key, {std::move(hit), v1::CACHE_RESULT_HIT});
  if (auto how = poison_.Refuses(task->request_key)) {
    poisonous_.Increment();
    return flights_.Finish(
        task->request_key,
        {Compiled::Failed(absl::StrCat("the compiler ", *how, " at this kernel ",
                                       PoisonList::kDeaths, " times; it is not tried again for ",
                                       options_.poison_time.count(), " s")),
         v1::CACHE_RESULT_MISS});
  }
  WorkerPool::Job job;
  job.share = task->caller.share;
  job.wanted = [this, task] { return !flights_.AbandonIfUnwanted(task->request_key); };
  job.run = [this, task](WorkerSession &session) { RunInWorker(task, session); };
  job.drop = [this, task](const absl::Status &why) {
    // CANCELLED: the flight was abandoned above, and another of its key may have begun.
    if (!absl::IsCancelled(why))
      flights_.Finish(task->request_key, {Stopping()});
  };
  if (compile_pool_->Submit(std::move(job)))
    return;
  if (compile_pool_->stopping())
    return flights_.Finish(task->request_key, {Stopping()});
  flights_.Finish(task->request_key, {QueueFull()});
}

absl::Status PooledBackend::QueueFull() {
  queue_full_.Increment();
  return ServiceError(absl::StatusCode::kResourceExhausted,
                      "the queue of compiles is full; try again later",
                      {.reason = "QUEUE_FULL",
                       .metadata = {{"queue", "compile"}},
                       .retry_after = compile_pool_->ExpectedWait()});
}

PendingPtr PooledBackend::Check(v1::CheckRequest request, const Caller &caller,
                                std::function<void(absl::StatusOr<v1::CheckReply>)> done) {
  auto flag = std::make_shared<CancelFlag>();
  auto asked = std::make_shared<v1::CheckRequest>(std::move(request));
  WorkerPool::Job job;
  job.share = caller.share;
  job.wanted = [flag] { return !flag->cancelled(); };
  job.drop = [done](const absl::Status &why) { done(absl::IsCancelled(why) ? why : Stopping()); };
  job.run = [this, asked, flag, done](WorkerSession &session) {
    wire::WorkerRequest ask;
    *ask.mutable_check() = *asked;
    absl::StatusOr<wire::WorkerReply> answer = Ask(session, std::move(ask));
    if (answer.ok())
      return done(std::move(*answer->mutable_check()));
    FlightResult failed = Failure(answer.status(), session, nullptr);
    if (!failed.compiled.ok())
      return done(failed.compiled.status());
    // What became of the compiler, in the words of a compile that failed.
    v1::CompileReply reply;
    reply.ParseFromArray((*failed.compiled)->reply().data(),
                         static_cast<int>((*failed.compiled)->reply().size()));
    v1::CheckReply failure;
    failure.set_outcome(v1::OUTCOME_FAILED);
    *failure.mutable_diagnostics() = std::move(*reply.mutable_diagnostics());
    done(std::move(failure));
  };
  if (compile_pool_->Submit(std::move(job)))
    return std::make_shared<CheckPending>(std::move(flag));
  done(compile_pool_->stopping() ? Stopping() : QueueFull());
  return nullptr;
}

absl::StatusOr<wire::WorkerReply> PooledBackend::Ask(WorkerSession &session,
                                                     wire::WorkerRequest request) {
  absl::StatusOr<wire::WorkerReply> answer =
      session.Call(request, {}, {options_.compile_time_limit, {}, options_.compile.job_cpu});
  // Killed from outside is not the kernel's doing, most likely: one more try.
  if (absl::IsInternal(answer.status()))
    answer = session.Call(std::move(request), {},
                          {options_.compile_time_limit, {}, options_.compile.job_cpu});
  return answer;
}

void PooledBackend::RunInWorker(const TaskPtr &task, WorkerSession &session) {
  wire::WorkerRequest ask;
  *ask.mutable_key()->mutable_request() = task->request;
  absl::StatusOr<wire::WorkerReply> answer = Ask(session, std::move(ask));
  if (!answer.ok())
    return flights_.Finish(task->request_key, Failure(answer.status(), session, task.get()));
  if (answer->semantic_key().empty()) {
    // It does not get through semantic analysis: the compile says why. Without a meaning there is
    // nothing to share; should it succeed all the same, the text is its meaning.
    return CompileInWorker(task, session, "");
  }
  std::string semantic =
      KeyWithin(task->caller.name_space,
                SemanticCacheKey(answer->semantic_key(), task->request, options_.build));
  const int64_t waited = session.queue_wait().count();
  if (CompiledPtr hit = cache_.FindSemantic(semantic)) {
    cache_.PutAlias(task->request_key, hit);
    return flights_.Finish(task->request_key, {std::move(hit), v1::CACHE_RESULT_HIT_ALIAS, waited});
  }
  const std::string flight = "semantic/" + semantic;
  Flights::Joined joined =
      flights_.Join(flight, [this, task, waited](const FlightResult &result, bool led) {
        if (led)
          return; // finished by CompileInWorker itself
        if (result.compiled.ok())
          cache_.PutAlias(task->request_key, *result.compiled);
        flights_.Finish(task->request_key, {result.compiled, v1::CACHE_RESULT_JOINED, waited});
      });
  if (!joined.led) {
    joined_counter_.Increment();
    joined_.fetch_add(1, std::memory_order_relaxed);
    return; // this worker is free for something else
  }
  CompileInWorker(task, session, semantic);
}

void PooledBackend::CompileInWorker(const TaskPtr &task, WorkerSession &session,
                                    const std::string &semantic) {
  const Clock::time_point begin = Clock::now();
  compiles_.fetch_add(1, std::memory_order_relaxed);
  FlightResult result{absl::UnknownError(""), v1::CACHE_RESULT_MISS, session.queue_wait().count()};
  // The flight before this one may have stored it between the look-up and the join.
  CompiledPtr stored = semantic.empty() ? nullptr : cache_.FindInMemory(semantic);
  std::string lease;
  if (!stored && !semantic.empty())
    stored = cache_.AwaitFleet(semantic, options_.compile_time_limit, &lease);
  if (stored) {
    compiles_.fetch_sub(1, std::memory_order_relaxed);
    cache_.PutAlias(task->request_key, stored);
    result.compiled = stored;
    result.cache = v1::CACHE_RESULT_HIT_ALIAS;
  } else {
    wire::WorkerRequest ask;
    *ask.mutable_compile()->mutable_request() = task->request;
    absl::StatusOr<wire::WorkerReply> answer = Ask(session, std::move(ask));
    if (!answer.ok()) {
      result = Failure(answer.status(), session, task.get());
    } else if (!answer->has_compile()) {
      result.compiled = Compiled::Failed("the compiler gave no answer");
    } else {
      std::string key = semantic.empty()
                            ? SemanticCacheKey(task->request_key, task->request, options_.build)
                            : semantic;
      auto compiled = Compiled::FromWorker(std::move(*answer->mutable_compile()), task->request,
                                           key, options_.build.build_id);
      result.compiled = compiled.ok() ? *std::move(compiled)
                                      : Compiled::Failed(std::string(compiled.status().message()));
      cache_.Put(task->request_key, *result.compiled);
    }
    if (result.compiled.ok()) {
      double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      metrics_.compile_duration_seconds
          .Add({{"result", ResultLabel(*result.compiled)}}, Metrics::WorkBuckets())
          .Observe(seconds);
      for (const auto &[stage, took] : (*result.compiled)->stage_seconds())
        metrics_.compile_stage_seconds.Add({{"stage", stage}}, Metrics::WorkBuckets())
            .Observe(took);
      spdlog::info("[{}] compile {} {} in {:.1f} ms, key {}", LogName(task->request),
                   Printable(task->request.kernel()), ResultLabel(*result.compiled), seconds * 1e3,
                   task->request_key.substr(0, 12));
    }
  }
  cache_.GiveLease(semantic, lease);
  if (!semantic.empty())
    flights_.Finish("semantic/" + semantic, result);
  flights_.Finish(task->request_key, result);
}

FlightResult PooledBackend::Failure(const absl::Status &status, WorkerSession &session,
                                    const CompileTask *task) {
  FlightResult result;
  result.cache = v1::CACHE_RESULT_MISS;
  result.queue_ns = session.queue_wait().count();
  if (absl::IsUnavailable(status))
    result.compiled = ServiceError(absl::StatusCode::kUnavailable,
                                   absl::StartsWith(status.message(), "was ")
                                       ? absl::StrCat("the compile ", status.message())
                                       : std::string(status.message()),
                                   {.reason = compile_pool_->stopping() ? "STOPPING" : "NO_WORKER",
                                    .retry_after = std::chrono::milliseconds(1000)});
  else
    result.compiled = Compiled::Failed(absl::StrCat("the compiler ", status.message()));
  if (!task || absl::IsUnavailable(status))
    return result;
  spdlog::warn("[{}] compile of {}: the compiler {}, key {}", LogName(task->request),
               Printable(task->request.kernel()), std::string(status.message()),
               task->request_key.substr(0, 12));
  // A time-out may be a busy machine's fault; one that is killed from outside is not to blame.
  if (DiedOfItsJob(status)) {
    poison_.CountDeath(task->request_key, std::string(status.message()));
    crashes_.Keep("compile worker", std::string(status.message()), task->request);
  }
  return result;
}

PendingPtr PooledBackend::Launch(std::shared_ptr<LaunchWork> work,
                                 std::function<void(LaunchAnswer)> done) {
  // The least busy device that is well; one that is quarantined only when there is no other.
  DevicePool *best = nullptr;
  bool driver_known = false;
  auto rank = [](const DevicePool &pool) { return std::pair(pool.quarantined(), pool.Load()); };
  for (const auto &pool : devices_) {
    if (pool->options().driver != TargetName(work->target))
      continue;
    driver_known = true;
    if (work->ordinal && *work->ordinal != pool->options().ordinal)
      continue;
    if (!best || rank(*pool) < rank(*best))
      best = pool.get();
  }
  if (best)
    return best->Launch(work, std::move(done));
  std::string text = driver_known ? absl::StrCat("there is no device ", *work->ordinal,
                                                 " of driver '", TargetName(work->target), "'")
                                  : absl::StrCat("this service has no device of driver '",
                                                 TargetName(work->target), "'");
  done({ServiceError(absl::StatusCode::kNotFound, text, {.reason = "NO_SUCH_DEVICE"}), "", {}});
  return nullptr;
}

std::vector<v1::DeviceInfo> PooledBackend::Devices() {
  std::vector<v1::DeviceInfo> devices;
  for (const auto &pool : devices_)
    devices.push_back(pool->info());
  return devices;
}

absl::StatusOr<std::string> PooledBackend::ArtifactRecord(const std::string &key,
                                                          const Caller &caller) {
  CompiledPtr found = cache_.Find(KeyWithin(caller.name_space, key));
  // A semantic key is shown as it is stored, so it opens its artifact to whoever knows it: where
  // there are namespaces, request keys alone do.
  if (!found && caller.name_space.empty())
    found = cache_.FindSemantic(key);
  if (!found || found->outcome() != v1::OUTCOME_OK)
    return ServiceError(absl::StatusCode::kNotFound, "no artifact with this key is cached",
                        {.reason = "NO_SUCH_ARTIFACT"});
  v1::ArtifactRecord record;
  record.set_schema_version(1);
  record.set_artifact(found->artifact().data(), found->artifact().size());
  record.set_sha256(Sha256::Of(found->artifact()));
  return record.SerializeAsString();
}

void PooledBackend::Stop(Clock::time_point deadline) {
  compile_pool_->Stop(deadline);
  for (const auto &pool : devices_)
    pool->Stop(deadline);
}

Clock::time_point PooledBackend::TendDevices() {
  Clock::time_point next = Clock::time_point::max();
  for (const auto &pool : devices_)
    next = std::min(next, pool->Tend());
  return next;
}

std::vector<v1::WorkerStats> PooledBackend::WorkerStats() const {
  std::vector<v1::WorkerStats> all;
  auto add = [&](const WorkerPool &pool) {
    WorkerPool::Stats from = pool.stats();
    // One entry a role: devices are summed up.
    auto same = std::find_if(all.begin(), all.end(), [&](const v1::WorkerStats &s) {
      return s.role() == pool.options().role;
    });
    v1::WorkerStats &to = same == all.end() ? all.emplace_back() : *same;
    to.set_role(pool.options().role);
    to.set_alive(to.alive() + from.alive);
    to.set_busy(to.busy() + from.busy);
    to.set_jobs_started(to.jobs_started() + from.started);
    to.set_jobs_finished(to.jobs_finished() + from.finished);
    to.set_restarts(to.restarts() + from.restarts);
    to.set_queue_depth(to.queue_depth() + from.queued);
  };
  add(*compile_pool_);
  for (const auto &pool : devices_)
    add(pool->pool());
  return all;
}

void PooledBackend::UpdateMetrics() {
  metrics_.flights.Add({}).Set(static_cast<double>(flights_.size()));
  for (const v1::WorkerStats &stats : WorkerStats()) {
    metrics_.queue_depth.Add({{"role", stats.role()}}).Set(stats.queue_depth());
    metrics_.workers_alive.Add({{"role", stats.role()}}).Set(stats.alive());
  }
  for (const auto &pool : devices_)
    pool->UpdateMetrics();
}

} // namespace pyasc::server
