#include "server/worker/in_process_backend.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "server/core/keys.h"
#include "server/core/service_error.h"
#include "server/worker/self_description.h"

namespace pyasc::server {
namespace {

class FlagPending : public Pending {
public:
  void Cancel() override { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

private:
  std::atomic<bool> cancelled_{false};
};

} // namespace

InProcessBackend::InProcessBackend(const Engine &engine) : engine_(engine) {}

PendingPtr InProcessBackend::Compile(v1::CompileRequest request, const Caller &,
                                     std::function<void(const CompileAnswer &)> done,
                                     const std::function<void()> &on_wait) {
  if (on_wait)
    on_wait();
  auto pending = std::make_shared<FlagPending>();
  auto begin = std::chrono::steady_clock::now();
  compiles_.Post([this, pending, begin, request = std::move(request), done = std::move(done)] {
    if (pending->cancelled())
      return;
    CompileAnswer answer;
    answer.cache = v1::CACHE_RESULT_BYPASSED;
    answer.queue_ns = (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1);
    // Keys of this process alone: they need no build in them.
    answer.request_key = RequestKey(request, {});
    v1::CompileReply reply = engine_.compile(request);
    std::string semantic = SemanticCacheKey(
        reply.semantic_key().empty() ? answer.request_key : reply.semantic_key(), request, {});
    auto compiled = Compiled::FromWorker(std::move(reply), request, semantic, "");
    answer.compiled = compiled.ok() ? *std::move(compiled)
                                    : Compiled::Failed(std::string(compiled.status().message()));
    done(answer);
  });
  return pending;
}

PendingPtr InProcessBackend::Check(v1::CheckRequest request, const Caller &,
                                   std::function<void(absl::StatusOr<v1::CheckReply>)> done) {
  auto pending = std::make_shared<FlagPending>();
  compiles_.Post([this, pending, request = std::move(request), done = std::move(done)] {
    if (!pending->cancelled())
      done(engine_.check(request));
  });
  return pending;
}

PendingPtr InProcessBackend::Launch(std::shared_ptr<LaunchWork> work,
                                    std::function<void(LaunchAnswer)> done) {
  auto pending = std::make_shared<FlagPending>();
  launches_.Post([this, pending, work, done = std::move(done)] {
    if (!pending->cancelled())
      done(RunHere(*work));
  });
  return pending;
}

absl::StatusOr<DeviceRunner *> InProcessBackend::Runner(const std::string &driver) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<DeviceRunner> &runner = runners_[driver];
  if (runner)
    return runner.get();
  for (const Engine::DriverEntry &entry : engine_.drivers) {
    if (entry.name != driver)
      continue;
    auto opened = DeviceRunner::Open(entry.make(), 0);
    if (!opened.ok())
      return opened.status();
    runner = *std::move(opened);
    return runner.get();
  }
  return ServiceError(absl::StatusCode::kNotFound,
                      absl::StrCat("there is no device of driver '", driver, "'"),
                      {.reason = "NO_SUCH_DEVICE"});
}

LaunchAnswer InProcessBackend::RunHere(LaunchWork &work) {
  LaunchAnswer answer;
  absl::StatusOr<DeviceRunner *> runner =
      work.ordinal.value_or(0) == 0
          ? Runner(TargetName(work.target))
          : absl::StatusOr<DeviceRunner *>(ServiceError(
                absl::StatusCode::kNotFound, absl::StrCat("there is no device ", *work.ordinal),
                {.reason = "NO_SUCH_DEVICE"}));
  if (!runner.ok()) {
    answer.status = runner.status();
    return answer;
  }
  work.job.set_artifact_key(work.compiled->semantic_key());
  work.job.set_artifact(work.compiled->artifact().data(), work.compiled->artifact().size());
  answer.result =
      (*runner)->Run(work.job, work.memory, {work.on_progress, work.on_print, work.on_trace});
  return answer;
}

std::vector<v1::DeviceInfo> InProcessBackend::Devices() {
  std::vector<v1::DeviceInfo> devices;
  for (const Engine::DriverEntry &entry : engine_.drivers) {
    for (v1::DeviceInfo &device : entry.make()->Enumerate()) {
      device.set_driver(entry.name);
      device.set_state(v1::DEVICE_STATE_HEALTHY);
      devices.push_back(std::move(device));
      break; // only ordinal 0 is served here
    }
  }
  return devices;
}

const v1::GetCapabilitiesReply &InProcessBackend::capabilities() const {
  // Hashing the libraries takes a moment, and most commands never ask.
  std::call_once(described_, [this] {
    absl::StatusOr<std::string> build = SelfBuildId();
    capabilities_.set_build_id(build.ok() ? *build : "");
    capabilities_.set_version("0.1.0");
    capabilities_.set_api_level(1);
    for (v1::Target target : engine_.targets)
      capabilities_.add_targets(target);
    for (const std::string &soc : engine_.socs)
      capabilities_.add_socs(soc);
    capabilities_.add_features("local");
  });
  return capabilities_;
}

absl::StatusOr<std::string> InProcessBackend::ArtifactRecord(const std::string &, const Caller &) {
  return ServiceError(absl::StatusCode::kUnimplemented, "this process keeps no artifacts",
                      {.reason = "NO_CACHE"});
}

} // namespace pyasc::server
