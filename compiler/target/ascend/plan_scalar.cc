// Steps on the scalar unit.
#include "compiler/target/ascend/plan.h"

using namespace mlir;

namespace pyasc::npu {

size_t planScalar(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  reason = "no plan for " + steps.front()->getName().getStringRef().str();
  return 0;
}

} // namespace pyasc::npu
