// pyasc doctor: whether everything that pyasc needs is there.

#include <cstdio>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cpp/daemon.h"

namespace pyasc::cli {
namespace {

// Prints findings; remembers whether one is bad.
class Findings {
public:
  // `quiet`: they are only remembered, for Json().
  explicit Findings(bool quiet) : quiet_(quiet) {}
  void Good(const char *what, const std::string &text) { Add("ok", what, text); }
  void Bad(const char *what, const std::string &text) {
    Add("BAD", what, text);
    bad_ = true;
  }
  bool bad() const { return bad_; }
  std::string Json() const {
    return absl::StrCat("{\"ok\": ", bad_ ? "false" : "true", ", \"findings\": [\n  ",
                        absl::StrJoin(json_, ",\n  "), "\n]}\n");
  }

private:
  void Add(const char *mark, const char *what, const std::string &text) {
    if (!quiet_)
      std::printf("%-4s %-9s %s\n", mark, what, text.c_str());
    json_.push_back(absl::StrCat("{\"ok\": ", absl::string_view(mark) == "ok" ? "true" : "false",
                                 ", \"what\": ", JsonString(what), ", \"text\": ", JsonString(text),
                                 "}"));
  }
  const bool quiet_;
  bool bad_ = false;
  std::vector<std::string> json_;
};

void ExaminePrograms(Findings *findings) {
  for (const char *program : {"pyascd", "pyasc-worker"}) {
    std::string path = absl::StrCat(BinDirectory(), "/", program);
    if (::access(path.c_str(), X_OK) == 0)
      findings->Good("program", path);
    else
      findings->Bad("program", path + " is missing: it belongs beside pyasc");
  }
}

void ExamineDaemon(Findings *findings) {
  absl::StatusOr<client::DaemonPaths> paths = client::FindDaemon(BinDirectory());
  if (!paths.ok())
    return findings->Bad("daemon", std::string(paths.status().message()));
  findings->Good("build", paths->build);
  findings->Good("socket", absl::StrCat(paths->socket, client::IsListening(paths->socket)
                                                           ? " (running)"
                                                           : " (not running yet)"));
  findings->Good("log", paths->log);
  // The daemon makes it; what is above has to let it.
  std::string above = paths->cache_dir.substr(0, paths->cache_dir.rfind('/'));
  if (::access(above.c_str(), W_OK | X_OK) == 0)
    findings->Good("cache", paths->cache_dir);
  else
    findings->Bad("cache", above + " cannot be written: compiled kernels are kept in memory only");
}

void ExamineService(const Arguments &arguments, Findings *findings) {
  absl::StatusOr<std::unique_ptr<client::Client>> connected = Connect(arguments);
  if (!connected.ok())
    return findings->Bad("service", std::string(connected.status().message()));
  client::CallOptions options;
  options.timeout = absl::Seconds(30);
  absl::StatusOr<v1::GetCapabilitiesReply> capabilities = (*connected)->GetCapabilities(options);
  if (!capabilities.ok())
    return findings->Bad("service", std::string(capabilities.status().message()));
  findings->Good("service",
                 absl::StrCat((*connected)->address(), ", version ", capabilities->version(),
                              ", API level ", capabilities->api_level(), ", build ",
                              capabilities->build_id().substr(0, 16)));
  absl::StatusOr<v1::ListDevicesReply> devices = ListReadyDevices(**connected, options);
  if (!devices.ok())
    return findings->Bad("devices", std::string(devices.status().message()));
  if (devices->devices().empty())
    findings->Bad("devices", "the service has none: kernels compile, but cannot run");
  for (const v1::DeviceInfo &device : devices->devices()) {
    std::string text = absl::StrCat(device.driver(), ":", device.ordinal(),
                                    device.name().empty() ? "" : ", " + device.name(),
                                    device.soc().empty() ? "" : ", " + device.soc());
    if (device.state() == v1::DEVICE_STATE_QUARANTINED)
      findings->Bad("device", text + " is quarantined");
    else if (device.state() == v1::DEVICE_STATE_SUSPECT ||
             device.state() == v1::DEVICE_STATE_PROBING)
      findings->Bad("device", text + " does not answer; see `pyasc server logs`");
    else
      findings->Good("device", text);
  }
}

int Run(const Arguments &arguments) {
  Findings findings(arguments.Get("--json") == "-");
  bool own_programs = ServerAddress(arguments).empty() || IsLocal(arguments);
  // Programs and daemon do not matter when somebody else's service is used.
  if (own_programs)
    ExaminePrograms(&findings);
  if (own_programs && !IsLocal(arguments) && !findings.bad())
    ExamineDaemon(&findings);
  if (!findings.bad())
    ExamineService(arguments, &findings);
  if (arguments.Has("--json"))
    if (absl::Status status = WriteTo(arguments.Get("--json"), findings.Json()); !status.ok())
      return UsageError(status);
  return findings.bad() ? kServiceFailed : kDone;
}

} // namespace

Command DoctorCommand() {
  Command command;
  command.name = "doctor";
  command.usage = "[--json [FILE]] [flags]";
  command.summary = "Check that everything pyasc needs is there and works.";
  command.details = "Ends with 3 when something is missing.";
  command.examples = {"pyasc doctor", "pyasc doctor --local", "pyasc doctor --server host:7070"};
  command.flags =
      Concat({{"--json", "FILE", "write JSON; - and no FILE are standard output", /*implied=*/"-"}},
             ServiceFlags());
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
