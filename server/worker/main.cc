// pyasc-worker: the only program that links the compiler and the device drivers.

#include "compiler/driver/check.h"
#include "compiler/driver/compile.h"
#include "compiler/machine/machine.h"
#include "profiler/host/host_driver.h"
#include "profiler/sim/sim_driver.h"
#include "server/worker/engine.h"

int main(int argc, char **argv) {
  pyasc::server::Engine engine;
  engine.compile = pyasc::compiler::Compile;
  engine.semantic_key = pyasc::compiler::SemanticKey;
  engine.check = pyasc::compiler::Check;
  // As many simulated devices as a configuration may ask for (config.cc); each process opens one.
  pyasc::sim::SimOptions sim;
  sim.num_devices = 64;
  engine.drivers = {{"sim", [sim] { return pyasc::sim::MakeSimDriver(sim); }},
                    {"host", [] { return pyasc::device::MakeHostDriver(); }}};
  engine.socs = pyasc::machine::SocNames();
  engine.targets = {pyasc::v1::TARGET_SIM, pyasc::v1::TARGET_HOST, pyasc::v1::TARGET_ASCEND};
  return pyasc::server::WorkerMain(argc, argv, engine);
}
