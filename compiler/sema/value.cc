#include "compiler/sema/value.h"

#include "compiler/sema/library.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace pyasc::sema {

std::optional<int64_t> KnownIndex(const Index &index) {
  auto c = index.expr ? mlir::dyn_cast<mlir::AffineConstantExpr>(index.expr)
                      : mlir::AffineConstantExpr();
  return c ? std::optional(c.getValue()) : std::nullopt;
}

bool IsWhole(const Tensor &t) {
  auto type = mlir::cast<mlir::MemRefType>(t.root.getType());
  if (!t.fixed.empty() || t.dims.size() != static_cast<size_t>(type.getRank()))
    return false;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    const TensorDim &d = t.dims[i];
    if (d.root != static_cast<int>(i) || d.step != 1 || KnownIndex(d.offset) != 0 ||
        d.size != type.getDimSize(static_cast<unsigned>(i)))
      return false;
  }
  return true;
}

mlir::Value HolderOf(mlir::Value memory) {
  while (auto view = memory.getDefiningOp<mlir::ViewLikeOpInterface>())
    memory = view.getViewSource();
  return memory;
}

void ForEachWrite(mlir::Operation *op, llvm::function_ref<void(mlir::Value holder)> written) {
  op->walk([&](mlir::MemoryEffectOpInterface writer) {
    llvm::SmallVector<mlir::MemoryEffects::EffectInstance> effects;
    writer.getEffects(effects);
    for (const auto &effect : effects)
      if (effect.getValue() && llvm::isa<mlir::MemoryEffects::Write>(effect.getEffect()))
        written(HolderOf(effect.getValue()));
  });
}

std::string ShapeText(const std::vector<int64_t> &shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i)
      out += ", ";
    out += std::to_string(shape[i]);
  }
  if (shape.size() == 1)
    out += ",";
  return out + ")";
}

std::string Describe(const Value &value) {
  switch (value.kind) {
  case Value::Kind::Invalid:
    return "an invalid value";
  case Value::Kind::None:
    return "None";
  case Value::Kind::Scalar: {
    std::string type(Name(value.dtype));
    if (value.weak)
      type = IsFloat(value.dtype) ? "float" : "int";
    bool vowel = type[0] == 'i'; // a uint8, as it is spoken
    return (vowel ? "an " : "a ") + type + (value.weak ? " literal" : " scalar");
  }
  case Value::Kind::Tensor: {
    std::string type(Name(value.dtype));
    bool vowel = type[0] == 'i'; // a uint8, as it is spoken
    return (vowel ? "an " : "a ") + type + " tensor of shape " + ShapeText(value.tensor.Shape());
  }
  case Value::Kind::Tuple:
    return (value.is_list ? "a list of " : "a tuple of ") + std::to_string(value.items->size());
  case Value::Kind::DType:
    return "the type " + std::string(Name(value.dtype));
  case Value::Kind::String:
    return "a string";
  case Value::Kind::Function:
    return "the function '" + std::string(value.function->name) + "'";
  case Value::Kind::Library:
    return "the function '" + std::string(value.library->name) + "'";
  case Value::Kind::Module:
    return "the module '" + value.text + "'";
  case Value::Kind::Method:
    return "a method";
  case Value::Kind::Ellipsis:
    return "...";
  case Value::Kind::Slice:
    return "a slice";
  case Value::Kind::Range:
    return "a range";
  }
  return "a value";
}

} // namespace pyasc::sema
