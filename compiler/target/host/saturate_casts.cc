// Float to integer conversions of our forms saturate and take NaN to 0; those of LLVM have no value
// out of range. In: a function with arith.fptosi and fptoui. Out: each converts a float in range,
// and selects give the ends of the type elsewhere. Also float64 to bfloat16, in two steps.

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include "compiler/target/host/host.h"

using namespace mlir;

namespace pyasc::compiler::host {
namespace {

void saturate(Operation *op) {
  bool is_signed = isa<arith::FPToSIOp>(op);
  Value in = op->getOperand(0), result = op->getResult(0);
  unsigned width = result.getType().getIntOrFloatBitWidth();
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto number = [&](double v) -> Value {
    return builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(in.getType(), v));
  };
  auto integer = [&](const APInt &v) -> Value {
    return builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(result.getType(), v));
  };
  // Powers of two, which every float type wider than the integer's exponent holds exactly.
  Value end = number(std::ldexp(1.0, static_cast<int>(is_signed ? width - 1 : width)));
  Value begin = number(is_signed ? -std::ldexp(1.0, static_cast<int>(width - 1)) : 0.0);
  Value above = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, in, end);
  Value below = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, in, begin);
  Value atLeast = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, in, begin);
  Value atMost = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, in, end);
  Value inside = builder.create<arith::AndIOp>(loc, atLeast, atMost);
  Value safe = builder.create<arith::SelectOp>(loc, inside, in, number(0));
  Value most = integer(is_signed ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width));
  Value least = integer(is_signed ? APInt::getSignedMinValue(width) : APInt::getMinValue(width));
  builder.setInsertionPointAfter(op);
  Value low = builder.create<arith::SelectOp>(loc, below, least, result);
  auto whole = builder.create<arith::SelectOp>(loc, above, most, low);
  op->setOperand(0, safe);
  result.replaceAllUsesExcept(whole, low.getDefiningOp());
}

// float64 to bfloat16, for which compilers' libraries may have no function: through the float32
// whose last bit is odd wherever something was cut off, which no second rounding takes for a tie.
void roundOnce(arith::TruncFOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type f32 = b.getF32Type(), i32 = b.getI32Type(), f64 = b.getF64Type();
  Value x = op.getIn();
  Value near = b.create<arith::TruncFOp>(loc, f32, x);
  Value back = b.create<arith::ExtFOp>(loc, f64, near);
  auto less = [&](Value a, Value c) -> Value {
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, a, c);
  };
  auto number = [&](double v) -> Value {
    return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(v));
  };
  auto bitsOf = [&](int32_t v) -> Value {
    return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(v));
  };
  Value cut = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, x); // not for NaN
  Value infinity = number(HUGE_VAL);
  cut = b.create<arith::AndIOp>(loc, cut, less(back, infinity));
  cut = b.create<arith::AndIOp>(loc, cut, less(number(-HUGE_VAL), back));
  // Whether the float32 is farther from zero.
  Value positive = less(number(0), x);
  Value farther = b.create<arith::SelectOp>(loc, positive, less(x, back), less(back, x));
  Value bits = b.create<arith::BitcastOp>(loc, i32, near);
  Value nearer = b.create<arith::SubIOp>(loc, bits, bitsOf(1));
  Value odd =
      b.create<arith::OrIOp>(loc, b.create<arith::SelectOp>(loc, farther, nearer, bits), bitsOf(1));
  Value whole = b.create<arith::SelectOp>(loc, cut, odd, bits);
  Value once = b.create<arith::BitcastOp>(loc, f32, whole);
  op.getInMutable().assign(once);
}

struct SaturateCasts : PassWrapper<SaturateCasts, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SaturateCasts)
  StringRef getArgument() const final { return "host-saturate-casts"; }
  StringRef getDescription() const final { return "Saturate float to integer conversions"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> casts;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::FPToSIOp, arith::FPToUIOp>(op) &&
          !isa<VectorType>(op->getOperand(0).getType()))
        casts.push_back(op);
      if (auto cast = dyn_cast<arith::TruncFOp>(op);
          cast && cast.getIn().getType().isF64() && cast.getType().isBF16())
        casts.push_back(op);
    });
    for (Operation *op : casts) {
      if (auto cast = dyn_cast<arith::TruncFOp>(op))
        roundOnce(cast);
      else
        saturate(op);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createSaturateCastsPass() { return std::make_unique<SaturateCasts>(); }

} // namespace pyasc::compiler::host
