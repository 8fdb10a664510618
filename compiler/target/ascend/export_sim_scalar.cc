// Scalar computations of a simulator program: arith and math ops.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/target/ascend/export_sim_function.h"

using namespace mlir;

namespace pyasc::npu {
namespace {

using Op = sim_isa::ScalarOp;
using Fn = sim_isa::Function;

bool isFloat(Type type) { return isa<FloatType>(type); }
bool isBool(Type type) { return type.isInteger(1); }
int bitsOf(Type type) { return 8 * sim_isa::TypeBytes(*simType(type)); }

// Ops that come in four widths; the 8-bit member.
std::optional<Op> wideOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Op>>(op)
      .Case<arith::AddIOp>([](auto) { return Op::kAdd8; })
      .Case<arith::SubIOp>([](auto) { return Op::kSub8; })
      .Case<arith::MulIOp>([](auto) { return Op::kMul8; })
      .Case<arith::DivSIOp>([](auto) { return Op::kDivS8; })
      .Case<arith::DivUIOp>([](auto) { return Op::kDivU8; })
      .Case<arith::RemSIOp>([](auto) { return Op::kRemS8; })
      .Case<arith::RemUIOp>([](auto) { return Op::kRemU8; })
      .Case<arith::FloorDivSIOp>([](auto) { return Op::kFloorDivS8; })
      .Case<arith::CeilDivSIOp>([](auto) { return Op::kCeilDivS8; })
      .Case<arith::CeilDivUIOp>([](auto) { return Op::kCeilDivU8; })
      .Case<arith::ShLIOp>([](auto) { return Op::kShl8; })
      .Case<arith::ShRSIOp>([](auto) { return Op::kShrS8; })
      .Case<arith::ShRUIOp>([](auto) { return Op::kShrU8; })
      .Case<math::CountLeadingZerosOp>([](auto) { return Op::kClz8; })
      .Case<math::CountTrailingZerosOp>([](auto) { return Op::kCtz8; })
      .Case<math::CtPopOp>([](auto) { return Op::kPopcount8; })
      .Default([](Operation *) { return std::nullopt; });
}

// Ops that work on sign-extended registers whatever the width.
std::optional<Op> plainOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Op>>(op)
      .Case<arith::AndIOp>([](auto) { return Op::kAnd; })
      .Case<arith::OrIOp>([](auto) { return Op::kOr; })
      .Case<arith::XOrIOp>([](auto) { return Op::kXor; })
      .Case<arith::MinSIOp>([](auto) { return Op::kMinS; })
      .Case<arith::MaxSIOp>([](auto) { return Op::kMaxS; })
      .Case<arith::MinUIOp>([](auto) { return Op::kMinU; })
      .Case<arith::MaxUIOp>([](auto) { return Op::kMaxU; })
      .Default([](Operation *) { return std::nullopt; });
}

// The f32 and f64 members.
struct FloatOps {
  Op f32, f64;
};
std::optional<FloatOps> floatOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<FloatOps>>(op)
      .Case<arith::AddFOp>([](auto) { return FloatOps{Op::kAddF32, Op::kAddF64}; })
      .Case<arith::SubFOp>([](auto) { return FloatOps{Op::kSubF32, Op::kSubF64}; })
      .Case<arith::MulFOp>([](auto) { return FloatOps{Op::kMulF32, Op::kMulF64}; })
      .Case<arith::DivFOp>([](auto) { return FloatOps{Op::kDivF32, Op::kDivF64}; })
      .Case<arith::RemFOp>([](auto) { return FloatOps{Op::kRemF32, Op::kRemF64}; })
      .Case<arith::MinimumFOp>([](auto) { return FloatOps{Op::kMinF32, Op::kMinF64}; })
      .Case<arith::MaximumFOp>([](auto) { return FloatOps{Op::kMaxF32, Op::kMaxF64}; })
      .Case<arith::MinNumFOp>([](auto) { return FloatOps{Op::kMinNumF32, Op::kMinNumF64}; })
      .Case<arith::MaxNumFOp>([](auto) { return FloatOps{Op::kMaxNumF32, Op::kMaxNumF64}; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Fn> functionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Fn>>(op)
      .Case<arith::NegFOp>([](auto) { return Fn::kNeg; })
      .Case<math::AbsFOp>([](auto) { return Fn::kAbs; })
      .Case<math::SqrtOp>([](auto) { return Fn::kSqrt; })
      .Case<math::RsqrtOp>([](auto) { return Fn::kRsqrt; })
      .Case<math::ExpOp>([](auto) { return Fn::kExp; })
      .Case<math::Exp2Op>([](auto) { return Fn::kExp2; })
      .Case<math::ExpM1Op>([](auto) { return Fn::kExpm1; })
      .Case<math::LogOp>([](auto) { return Fn::kLog; })
      .Case<math::Log2Op>([](auto) { return Fn::kLog2; })
      .Case<math::Log10Op>([](auto) { return Fn::kLog10; })
      .Case<math::Log1pOp>([](auto) { return Fn::kLog1p; })
      .Case<math::SinOp>([](auto) { return Fn::kSin; })
      .Case<math::CosOp>([](auto) { return Fn::kCos; })
      .Case<math::TanOp>([](auto) { return Fn::kTan; })
      .Case<math::SinhOp>([](auto) { return Fn::kSinh; })
      .Case<math::CoshOp>([](auto) { return Fn::kCosh; })
      .Case<math::TanhOp>([](auto) { return Fn::kTanh; })
      .Case<math::AsinOp>([](auto) { return Fn::kAsin; })
      .Case<math::AcosOp>([](auto) { return Fn::kAcos; })
      .Case<math::AtanOp>([](auto) { return Fn::kAtan; })
      .Case<math::AsinhOp>([](auto) { return Fn::kAsinh; })
      .Case<math::AcoshOp>([](auto) { return Fn::kAcosh; })
      .Case<math::AtanhOp>([](auto) { return Fn::kAtanh; })
      .Case<math::ErfOp>([](auto) { return Fn::kErf; })
      .Case<math::CbrtOp>([](auto) { return Fn::kCbrt; })
      .Case<math::FloorOp>([](auto) { return Fn::kFloor; })
      .Case<math::CeilOp>([](auto) { return Fn::kCeil; })
      .Case<math::TruncOp>([](auto) { return Fn::kTrunc; })
      .Case<math::RoundOp>([](auto) { return Fn::kRound; })
      .Case<math::RoundEvenOp>([](auto) { return Fn::kRoundEven; })
      .Case<math::PowFOp>([](auto) { return Fn::kPow; })
      .Case<math::Atan2Op>([](auto) { return Fn::kAtan2; })
      .Case<math::CopySignOp>([](auto) { return Fn::kCopySign; })
      .Case<math::FPowIOp>([](auto) { return Fn::kPowI; })
      .Default([](Operation *) { return std::nullopt; });
}

Op widening(Type type) { return isa<Float16Type>(type) ? Op::kF16ToF32 : Op::kBf16ToF32; }

} // namespace

int SimFunctionExporter::wide(Value value) {
  Type type = value.getType();
  if (isa<Float32Type, Float64Type>(type))
    return reg(value);
  return builder.Compute(widening(type), reg(value));
}

void SimFunctionExporter::defineFloat(Value result, int reg) {
  Type type = result.getType();
  if (isa<Float16Type>(type))
    reg = builder.Compute(Op::kF32ToF16, reg);
  else if (isa<BFloat16Type>(type))
    reg = builder.Compute(Op::kF32ToBf16, reg);
  define(result, reg);
}

SimFunctionExporter::Outcome SimFunctionExporter::exportScalar(Operation *op) {
  if (isa<arith::ConstantOp>(op)) {
    // Constants are taken where they are used; others than numbers have no form.
    if (isa<IntegerAttr, FloatAttr>(cast<arith::ConstantOp>(op).getValue()))
      return Outcome::kDone;
    refuse(op, "the constant is no number");
    return Outcome::kRefused;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (isa<MemRefType>(select.getType())) {
      refuse(op, "it selects memories");
      return Outcome::kRefused;
    }
    define(select.getResult(),
           builder.Compute(Op::kSelect, reg(select.getCondition()), reg(select.getTrueValue()),
                           reg(select.getFalseValue())));
    return Outcome::kDone;
  }
  for (auto part : {&SimFunctionExporter::exportInteger, &SimFunctionExporter::exportFloat,
                    &SimFunctionExporter::exportConversion, &SimFunctionExporter::exportMath})
    if (Outcome outcome = (this->*part)(op); outcome != Outcome::kUnknown)
      return outcome;
  return Outcome::kUnknown;
}

SimFunctionExporter::Outcome SimFunctionExporter::exportInteger(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    int a = reg(compare.getLhs()), b = reg(compare.getRhs());
    const P predicate = compare.getPredicate();
    const bool is_signed =
        predicate == P::slt || predicate == P::sle || predicate == P::sgt || predicate == P::sge;
    if (is_signed && isBool(compare.getLhs().getType())) { // true is -1 then
      a = builder.Compute(Op::kSextBool, a);
      b = builder.Compute(Op::kSextBool, b);
    }
    auto with = [&](Op cmp, bool swap) {
      define(compare.getResult(), builder.Compute(cmp, swap ? b : a, swap ? a : b));
      return Outcome::kDone;
    };
    switch (predicate) {
    case P::eq:
      return with(Op::kCmpEq, false);
    case P::ne:
      return with(Op::kCmpNe, false);
    case P::slt:
      return with(Op::kCmpLtS, false);
    case P::sle:
      return with(Op::kCmpLeS, false);
    case P::sgt:
      return with(Op::kCmpLtS, true);
    case P::sge:
      return with(Op::kCmpLeS, true);
    case P::ult:
      return with(Op::kCmpLtU, false);
    case P::ule:
      return with(Op::kCmpLeU, false);
    case P::ugt:
      return with(Op::kCmpLtU, true);
    case P::uge:
      return with(Op::kCmpLeU, true);
    }
  }
  if (std::optional<Op> wide = wideOp(op)) {
    Type type = op->getResult(0).getType();
    if (isBool(type)) {
      refuse(op, "it has no meaning for i1 here");
      return Outcome::kRefused;
    }
    const int b = op->getNumOperands() > 1 ? reg(op->getOperand(1)) : 0;
    define(op->getResult(0),
           builder.Compute(sim_isa::OfWidth(*wide, bitsOf(type)), reg(op->getOperand(0)), b));
    return Outcome::kDone;
  }
  if (std::optional<Op> plain = plainOp(op)) {
    Op code = *plain;
    // On i1, whose true counts as -1, the signed minimum is the disjunction.
    if (isBool(op->getResult(0).getType()) && (code == Op::kMinS || code == Op::kMaxS))
      code = code == Op::kMinS ? Op::kOr : Op::kAnd;
    define(op->getResult(0), builder.Compute(code, reg(op->getOperand(0)), reg(op->getOperand(1))));
    return Outcome::kDone;
  }
  if (auto absolute = dyn_cast<math::AbsIOp>(op)) {
    const int x = reg(absolute.getOperand());
    const int negated = builder.Compute(sim_isa::OfWidth(Op::kSub8, bitsOf(absolute.getType())),
                                        builder.ConstantRegister(0), x);
    // The least value is its own negation: take it as it is.
    define(absolute.getResult(), builder.Compute(Op::kMaxS, x, negated));
    return Outcome::kDone;
  }
  return Outcome::kUnknown;
}

SimFunctionExporter::Outcome SimFunctionExporter::exportFloat(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    using P = arith::CmpFPredicate;
    using S = sim_isa::Predicate;
    S predicate = S::kFalse;
    switch (compare.getPredicate()) {
    case P::AlwaysFalse:
      predicate = S::kFalse;
      break;
    case P::OEQ:
      predicate = S::kOeq;
      break;
    case P::OGT:
      predicate = S::kOgt;
      break;
    case P::OGE:
      predicate = S::kOge;
      break;
    case P::OLT:
      predicate = S::kOlt;
      break;
    case P::OLE:
      predicate = S::kOle;
      break;
    case P::ONE:
      predicate = S::kOne;
      break;
    case P::ORD:
      predicate = S::kOrd;
      break;
    case P::UEQ:
      predicate = S::kUeq;
      break;
    case P::UGT:
      predicate = S::kUgt;
      break;
    case P::UGE:
      predicate = S::kUge;
      break;
    case P::ULT:
      predicate = S::kUlt;
      break;
    case P::ULE:
      predicate = S::kUle;
      break;
    case P::UNE:
      predicate = S::kUne;
      break;
    case P::UNO:
      predicate = S::kUno;
      break;
    case P::AlwaysTrue:
      predicate = S::kTrue;
      break;
    }
    const Op code = isa<Float64Type>(compare.getLhs().getType()) ? Op::kCmpF64 : Op::kCmpF32;
    define(compare.getResult(),
           builder.Compute(code, wide(compare.getLhs()), wide(compare.getRhs()),
                           static_cast<int64_t>(predicate)));
    return Outcome::kDone;
  }
  if (std::optional<FloatOps> ops = floatOp(op)) {
    const bool f64 = isa<Float64Type>(op->getResult(0).getType());
    defineFloat(op->getResult(0),
                builder.Compute(f64 ? ops->f64 : ops->f32, wide(op->getOperand(0)),
                                wide(op->getOperand(1))));
    return Outcome::kDone;
  }
  return Outcome::kUnknown;
}

SimFunctionExporter::Outcome SimFunctionExporter::exportConversion(Operation *op) {
  if (!isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
           arith::IndexCastUIOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
           arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp>(op))
    return Outcome::kUnknown;
  Value from = op->getOperand(0), result = op->getResult(0);
  Type to = result.getType();
  const int bits = bitsOf(from.getType());
  auto zero_extended = [&] {
    const Op code = bits == 8 ? Op::kZext8 : bits == 16 ? Op::kZext16 : Op::kZext32;
    return bits == 64 || isBool(from.getType()) ? reg(from) : builder.Compute(code, reg(from));
  };
  // An integer cut to the result's width, sign-extended again.
  auto cut = [&](int source) {
    if (isBool(to))
      return builder.Compute(Op::kBool, source);
    const int width = bitsOf(to);
    const Op code = width == 8 ? Op::kSext8 : width == 16 ? Op::kSext16 : Op::kSext32;
    return width == 64 ? source : builder.Compute(code, source);
  };
  return llvm::TypeSwitch<Operation *, Outcome>(op)
      .Case<arith::ExtSIOp>([&](auto) {
        define(result,
               isBool(from.getType()) ? cut(builder.Compute(Op::kSextBool, reg(from))) : reg(from));
        return Outcome::kDone;
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        define(result, cut(zero_extended()));
        return Outcome::kDone;
      })
      .Case<arith::TruncIOp>([&](auto) {
        define(result, cut(reg(from)));
        return Outcome::kDone;
      })
      .Case<arith::IndexCastOp>([&](auto) {
        define(result,
               isBool(from.getType()) ? builder.Compute(Op::kSextBool, reg(from)) : cut(reg(from)));
        return Outcome::kDone;
      })
      .Case<arith::ExtFOp>([&](auto) {
        int value = wide(from);
        if (isa<Float64Type>(to))
          value = builder.Compute(Op::kF32ToF64, value);
        define(result, value);
        return Outcome::kDone;
      })
      .Case<arith::TruncFOp>([&](auto) {
        if (!isa<Float64Type>(from.getType())) {
          defineFloat(result, wide(from));
          return Outcome::kDone;
        }
        define(result, builder.Compute(isa<Float16Type>(to)    ? Op::kF64ToF16
                                       : isa<BFloat16Type>(to) ? Op::kF64ToBf16
                                                               : Op::kF64ToF32,
                                       reg(from)));
        return Outcome::kDone;
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto o) {
        const bool is_signed = isa<arith::SIToFPOp>(o.getOperation());
        const int value = !is_signed               ? zero_extended()
                          : isBool(from.getType()) ? builder.Compute(Op::kSextBool, reg(from))
                                                   : reg(from);
        if (isa<Float32Type>(to)) {
          define(result, builder.Compute(is_signed ? Op::kIntToF32 : Op::kUintToF32, value));
          return Outcome::kDone;
        }
        // Through f64, so that 16-bit types round once.
        const int wide = builder.Compute(is_signed ? Op::kIntToF64 : Op::kUintToF64, value);
        define(result,
               isa<Float64Type>(to)
                   ? wide
                   : builder.Compute(isa<Float16Type>(to) ? Op::kF64ToF16 : Op::kF64ToBf16, wide));
        return Outcome::kDone;
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto o) {
        if (isBool(to)) {
          refuse(op, "a float has no conversion to i1");
          return Outcome::kRefused;
        }
        const bool is_signed = isa<arith::FPToSIOp>(o.getOperation());
        const bool f64 = isa<Float64Type>(from.getType());
        const Op code =
            is_signed ? (f64 ? Op::kF64ToS8 : Op::kF32ToS8) : (f64 ? Op::kF64ToU8 : Op::kF32ToU8);
        define(result, builder.Compute(sim_isa::OfWidth(code, bitsOf(to)), wide(from)));
        return Outcome::kDone;
      })
      .Case<arith::BitcastOp>([&](auto) {
        // A float's upper bits are no one's, an integer's are its sign's.
        define(result, isFloat(to) ? reg(from) : cut(reg(from)));
        return Outcome::kDone;
      })
      .Default([](Operation *) { return Outcome::kUnknown; });
}

SimFunctionExporter::Outcome SimFunctionExporter::exportMath(Operation *op) {
  if (auto fma = dyn_cast<math::FmaOp>(op)) {
    const bool f64 = isa<Float64Type>(fma.getType());
    defineFloat(fma.getResult(), builder.Compute(f64 ? Op::kFmaF64 : Op::kFmaF32, wide(fma.getA()),
                                                 wide(fma.getB()), wide(fma.getC())));
    return Outcome::kDone;
  }
  std::optional<Fn> function = functionOf(op);
  if (!function)
    return Outcome::kUnknown;
  const bool f64 = isa<Float64Type>(op->getResult(0).getType());
  const auto imm = static_cast<int64_t>(*function);
  int value = 0;
  if (op->getNumOperands() == 1) {
    value = builder.Compute(f64 ? Op::kFunF64 : Op::kFunF32, wide(op->getOperand(0)), 0, imm);
  } else {
    Value second = op->getOperand(1);
    value = builder.Compute(f64 ? Op::kFun2F64 : Op::kFun2F32, wide(op->getOperand(0)),
                            isFloat(second.getType()) ? wide(second) : reg(second), imm);
  }
  defineFloat(op->getResult(0), value);
  return Outcome::kDone;
}

} // namespace pyasc::npu
