#include "compiler/ir/asc_dialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include "compiler/ir/asc_dialect.cc.inc"
#define GET_OP_CLASSES
#include "compiler/ir/asc_ops.cc.inc"

namespace pyasc::ir {

void LoadKernelDialects(mlir::MLIRContext &context) {
  context
      .loadDialect<AscDialect, mlir::func::FuncDialect, mlir::affine::AffineDialect,
                   mlir::scf::SCFDialect, mlir::memref::MemRefDialect, mlir::linalg::LinalgDialect,
                   mlir::arith::ArithDialect, mlir::math::MathDialect>();
}

void AscDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/asc_ops.cc.inc"
      >();
}

// A check names a row of the table of the function around it, so that whoever reads the error
// buffer finds a message for every code.
mlir::LogicalResult CheckOp::verify() {
  auto function = (*this)->getParentOfType<mlir::func::FuncOp>();
  if (!function)
    return mlir::success(); // as in a test's fragment
  auto table = function->getAttrOfType<mlir::ArrayAttr>(AscDialect::kErrors);
  if (!table)
    return emitOpError("needs the attribute asc.errors on its function");
  for (mlir::Attribute row : table) {
    auto entry = mlir::dyn_cast<mlir::DictionaryAttr>(row);
    auto code = entry ? entry.getAs<mlir::IntegerAttr>("code") : mlir::IntegerAttr();
    if (code && code.getInt() == static_cast<int64_t>(getCode()))
      return mlir::success();
  }
  return emitOpError("has code ") << getCode() << ", which asc.errors does not list";
}

namespace {

// The number of `{...}` fields, or -1 when a brace is unbalanced.
int CountFields(llvm::StringRef format) {
  int fields = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '{') {
      if (i + 1 < format.size() && format[i + 1] == '{') {
        ++i;
        continue;
      }
      size_t end = format.find('}', i);
      if (end == llvm::StringRef::npos)
        return -1;
      ++fields;
      i = end;
    } else if (format[i] == '}') {
      if (i + 1 >= format.size() || format[i + 1] != '}')
        return -1;
      ++i;
    }
  }
  return fields;
}

} // namespace

void PrintOp::getEffects(
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>
        &effects) {
  for (mlir::OpOperand &operand : getValuesMutable())
    if (mlir::isa<mlir::BaseMemRefType>(operand.get().getType()))
      effects.emplace_back(mlir::MemoryEffects::Read::get(), &operand,
                           mlir::SideEffects::DefaultResource::get());
  // The log: something that no value names.
  effects.emplace_back(mlir::MemoryEffects::Write::get());
}

mlir::LogicalResult PrintOp::verify() {
  int fields = CountFields(getFormat());
  if (fields < 0)
    return emitOpError("has a format with an unbalanced brace");
  if (static_cast<size_t>(fields) != getValues().size())
    return emitOpError("has ") << fields << " fields for " << getValues().size() << " values";
  if (getDtypes().size() != getValues().size())
    return emitOpError("has ") << getDtypes().size() << " dtypes for " << getValues().size()
                               << " values";
  return mlir::success();
}

} // namespace pyasc::ir
