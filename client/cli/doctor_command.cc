// pyasc doctor: whether everything that pyasc needs is there.

#include <cstdio>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cpp/daemon.h"

namespace pyasc::cli {
namespace {

// Prints findings; remembers whether one is bad.
class Findings {
public:
  void Good(const char *what, const std::string &text) { Print("ok", what, text); }
  void Bad(const char *what, const std::string &text) {
    Print("BAD", what, text);
    bad_ = true;
  }
  bool bad() const { return bad_; }

private:
  static void Print(const char *mark, const char *what, const std::string &text) {
    std::printf("%-4s %-9s %s\n", mark, what, text.c_str());
  }
  bool bad_ = false;
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
  absl::StatusOr<v1::ListDevicesReply> devices = (*connected)->ListDevices(options);
  if (!devices.ok())
    return findings->Bad("devices", std::string(devices.status().message()));
  if (devices->devices().empty())
    findings->Bad("devices", "the service has none: kernels compile, but cannot run");
  for (const v1::DeviceInfo &device : devices->devices()) {
    std::string text = absl::StrCat(device.ordinal(), ": ", device.driver(),
                                    device.name().empty() ? "" : ", " + device.name(),
                                    device.soc().empty() ? "" : ", " + device.soc());
    if (device.state() == v1::DEVICE_STATE_QUARANTINED)
      findings->Bad("device", text + " is quarantined");
    else
      findings->Good("device", text);
  }
}

int Run(const Arguments &arguments) {
  Findings findings;
  // Programs and daemon do not matter when somebody else's service is used.
  if (ServerAddress(arguments).empty())
    ExaminePrograms(&findings);
  if (ServerAddress(arguments).empty() && !arguments.Has("--local") && !findings.bad())
    ExamineDaemon(&findings);
  if (!findings.bad())
    ExamineService(arguments, &findings);
  return findings.bad() ? kServiceFailed : kDone;
}

} // namespace

Command DoctorCommand() {
  Command command;
  command.name = "doctor";
  command.usage = "[flags]";
  command.summary = "Check that everything pyasc needs is there and works.";
  command.details = "Ends with 3 when something is missing.";
  command.examples = {"pyasc doctor", "pyasc doctor --local", "pyasc doctor --server host:7070"};
  command.flags = ServiceFlags();
  command.run = Run;
  return command;
}

} // namespace pyasc::cli
