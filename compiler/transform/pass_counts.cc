#include "compiler/transform/pass_counts.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace pyasc {

using namespace mlir;

void addPassCount(Operation *op, llvm::StringRef name, int64_t n) {
  Operation *module = op;
  while (module->getParentOp())
    module = module->getParentOp();
  Builder builder(op->getContext());
  NamedAttrList counts(module->getAttrOfType<DictionaryAttr>("asc.pass_counts"));
  int64_t before = 0;
  if (auto known = dyn_cast_or_null<IntegerAttr>(counts.get(name)))
    before = known.getInt();
  counts.set(name, builder.getI64IntegerAttr(before + n));
  module->setAttr("asc.pass_counts", counts.getDictionary(op->getContext()));
}

} // namespace pyasc
