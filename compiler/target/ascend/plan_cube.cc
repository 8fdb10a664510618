// Contractions on the cube unit.
#include "compiler/target/ascend/plan.h"

using namespace mlir;

namespace pyasc::npu {

void foldAroundContractions(Planner &planner, ArrayRef<Operation *> steps) {}

size_t planContraction(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  reason = "";
  return 0;
}

} // namespace pyasc::npu
