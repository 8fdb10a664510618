#include "compiler/ir/expand_print.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pyasc::ir {

using namespace mlir;

namespace {

constexpr int64_t kUsed = 0, kDropped = 1, kFirstRecord = 2;

bool isUnsigned(StringRef dtype) { return dtype.starts_with("uint") || dtype == "bool"; }

// The word that stands for a number in a record.
Value toWord(OpBuilder &builder, Location loc, Value value, StringRef dtype) {
  Type type = value.getType(), i64 = builder.getI64Type();
  if (type.isIndex())
    return builder.create<arith::IndexCastOp>(loc, i64, value);
  if (isa<FloatType>(type)) {
    if (type.getIntOrFloatBitWidth() < 32)
      value = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), value);
    unsigned bits = value.getType().getIntOrFloatBitWidth();
    value = builder.create<arith::BitcastOp>(loc, builder.getIntegerType(bits), value);
    return bits == 64 ? value : builder.create<arith::ExtUIOp>(loc, i64, value).getResult();
  }
  if (type.isInteger(64))
    return value;
  if (type.isInteger(1) || isUnsigned(dtype))
    return builder.create<arith::ExtUIOp>(loc, i64, value);
  return builder.create<arith::ExtSIOp>(loc, i64, value);
}

} // namespace

Operation *ExpandPrint(OpBuilder &builder, PrintOp print, Value log, Value errors,
                       const std::function<void(Value)> &publish) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = print.getLoc();
  auto index = [&](int64_t i) -> Value { return builder.create<arith::ConstantIndexOp>(loc, i); };
  auto word = [&](int64_t i) -> Value { return builder.create<arith::ConstantIntOp>(loc, i, 64); };
  auto load = [&](Value memory, int64_t at) -> Value {
    return builder.create<memref::LoadOp>(loc, memory, ValueRange{index(at)});
  };
  auto add = [&](Value a, Value b) -> Value { return builder.create<arith::AddIOp>(loc, a, b); };

  int64_t size = 1;
  for (Value value : print.getValues())
    size +=
        isa<MemRefType>(value.getType()) ? cast<MemRefType>(value.getType()).getNumElements() : 1;
  // One op with all inside, whatever is checked.
  Value wanted =
      errors
          ? builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, load(errors, 0), word(0))
                .getResult()
          : builder.create<arith::ConstantIntOp>(loc, 1, 1).getResult();
  auto unless_failed = builder.create<scf::IfOp>(loc, wanted, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(unless_failed.thenBlock());
  Value used = load(log, kUsed);
  Value after = add(used, word(size));
  Value room = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, after,
                                             word(kPrintLogWords - kFirstRecord));
  auto fits = builder.create<scf::IfOp>(loc, room, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(fits.elseBlock());
  builder.create<memref::StoreOp>(loc, add(load(log, kDropped), word(1)), log,
                                  ValueRange{index(kDropped)});

  builder.setInsertionPointToStart(fits.thenBlock());
  Value at = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), used);
  auto store = [&](Value value, Value place) {
    builder.create<memref::StoreOp>(loc, value, log, ValueRange{add(at, place)});
  };
  store(word(print.getId()), index(kFirstRecord));
  int64_t next = kFirstRecord + 1;
  for (auto [value, dtype] : llvm::zip_equal(print.getValues(), print.getDtypes())) {
    StringRef name = cast<StringAttr>(dtype).getValue();
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type) {
      store(toWord(builder, loc, value, name), index(next++));
      continue;
    }
    OpBuilder::InsertionGuard inner(builder);
    SmallVector<Value> ivs;
    Value place = index(0);
    if (type.getNumElements() > 0)
      for (int64_t extent : type.getShape()) {
        Value stop = index(extent), zero = index(0), one = index(1);
        auto loop = builder.create<scf::ForOp>(loc, zero, stop, one);
        builder.setInsertionPointToStart(loop.getBody());
        ivs.push_back(loop.getInductionVar());
        place = add(builder.create<arith::MulIOp>(loc, place, index(extent)), ivs.back());
      }
    if (type.getNumElements() > 0)
      store(toWord(builder, loc, builder.create<memref::LoadOp>(loc, value, ivs), name),
            add(place, index(next)));
    next += type.getNumElements();
  }
  builder.setInsertionPoint(fits.thenYield());
  publish(after);
  return unless_failed;
}

Value FindArgument(Operation *in, StringRef attribute) {
  auto function = in->getParentOfType<func::FuncOp>();
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), attribute))
      return argument;
  return {};
}

} // namespace pyasc::ir
