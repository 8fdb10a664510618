// The backend of `pyasc-worker --role=local`: compiles and runs in this process, without cache,
// limits or isolation. For one user's one command.
#ifndef PYASC_SERVER_WORKER_IN_PROCESS_BACKEND_H
#define PYASC_SERVER_WORKER_IN_PROCESS_BACKEND_H

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/core/backend.h"
#include "server/core/executor.h"
#include "server/worker/engine.h"
#include "server/worker/run_job.h"

namespace pyasc::server {

class InProcessBackend : public Backend {
public:
  explicit InProcessBackend(const Engine &engine);

  PendingPtr Compile(v1::CompileRequest request, const Caller &caller,
                     std::function<void(const CompileAnswer &)> done,
                     const std::function<void()> &on_wait) override;
  PendingPtr Check(v1::CheckRequest request, const Caller &caller,
                   std::function<void(absl::StatusOr<v1::CheckReply>)> done) override;
  PendingPtr Launch(std::shared_ptr<LaunchWork> work,
                    std::function<void(LaunchAnswer)> done) override;
  std::vector<v1::DeviceInfo> Devices() override;
  const v1::GetCapabilitiesReply &capabilities() const override;
  absl::StatusOr<std::string> ArtifactRecord(const std::string &key, const Caller &caller) override;

private:
  // The device of a driver, opened at its first use. On the launches' thread.
  absl::StatusOr<DeviceRunner *> Runner(const std::string &driver);
  LaunchAnswer RunHere(LaunchWork &work);

  const Engine &engine_;
  mutable std::once_flag described_;
  mutable v1::GetCapabilitiesReply capabilities_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<DeviceRunner>> runners_;
  // Last: what they run uses all the rest.
  Executor compiles_{1};
  Executor launches_{1};
};

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_IN_PROCESS_BACKEND_H
