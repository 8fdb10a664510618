// What a worker process is made of: a compiler and device drivers. pyasc-worker has the real ones,
// the fake worker of the tests its own.
#ifndef PYASC_SERVER_WORKER_ENGINE_H
#define PYASC_SERVER_WORKER_ENGINE_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiler/device/device.h"
#include "pyasc/v1/compile.pb.h"

namespace pyasc::server {

struct Engine {
  // As compiler/driver/compile.h.
  std::function<v1::CompileReply(const v1::CompileRequest &)> compile;
  std::function<std::string(const v1::CompileRequest &)> semantic_key;
  std::function<v1::CheckReply(const v1::CheckRequest &)> check;
  // Made on demand: a compile worker has no use for devices.
  struct DriverEntry {
    std::string name;
    std::function<std::unique_ptr<device::Driver>()> make;
  };
  std::vector<DriverEntry> drivers;
  // Of the machine descriptions that are linked in.
  std::vector<std::string> socs;
  std::vector<v1::Target> targets;
  // Whether workers of the daemon enter their sandbox; the tests' engine does what it forbids.
  bool sandbox = true;
};

// main() of a worker: --describe, --role=compile, --role=device, --role=local.
int WorkerMain(int argc, char **argv, const Engine &engine);

} // namespace pyasc::server

#endif // PYASC_SERVER_WORKER_ENGINE_H
