#include "compiler/sema/scalar_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace pyasc::sema {

namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

// The value of an integer constant, if `v` is one.
std::optional<llvm::APInt> ConstantInt(mlir::Value v) {
  llvm::APInt value;
  if (mlir::matchPattern(v, mlir::m_ConstantInt(&value)))
    return value;
  return std::nullopt;
}

} // namespace

mlir::Value ScalarOps::Constant(DType t, const sema::Constant &c) {
  mlir::Type type = ValueType(b.getContext(), t);
  if (auto f = mlir::dyn_cast<mlir::FloatType>(type)) {
    llvm::APFloat value(c.f);
    bool loses = false;
    value.convert(f.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(f, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  auto bits = static_cast<uint64_t>(static_cast<unsigned __int128>(c.i));
  if (width < 64)
    bits &= (uint64_t{1} << width) - 1;
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, llvm::APInt(width, bits)));
}

mlir::Value ScalarOps::Cast(mlir::Value v, DType from, DType to) {
  if (from == to)
    return v;
  mlir::Type type = ValueType(b.getContext(), to);
  if (to == DType::Bool) {
    if (IsFloat(from)) // NaN is true
      return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, v, Float(from, 0));
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, v, Int(from, 0));
  }
  if (IsFloat(from) && IsFloat(to)) {
    if (Bits(from) == 16 && Bits(to) == 16)
      return Cast(Cast(v, from, DType::Float32), DType::Float32, to);
    if (Bits(to) > Bits(from))
      return b.create<arith::ExtFOp>(loc, type, v);
    return b.create<arith::TruncFOp>(loc, type, v);
  }
  if (IsFloat(to)) {
    // Through float32: 16-bit types round once from it, and few targets convert to them directly.
    if (Bits(to) == 16 && from != DType::Bool && Bits(from) > 8)
      return Cast(Cast(v, from, DType::Float32), DType::Float32, to);
    if (IsUnsigned(from))
      return b.create<arith::UIToFPOp>(loc, type, v);
    return b.create<arith::SIToFPOp>(loc, type, v);
  }
  if (IsFloat(from)) {
    if (Bits(from) == 16)
      return Cast(Cast(v, from, DType::Float32), DType::Float32, to);
    // In this compiler's forms these give the nearest integer of the type, and 0 for NaN.
    if (IsUnsigned(to))
      return b.create<arith::FPToUIOp>(loc, type, v);
    return b.create<arith::FPToSIOp>(loc, type, v);
  }
  int from_bits = from == DType::Bool ? 1 : Bits(from);
  if (from_bits == Bits(to))
    return v;
  if (from_bits > Bits(to))
    return b.create<arith::TruncIOp>(loc, type, v);
  if (IsUnsigned(from))
    return b.create<arith::ExtUIOp>(loc, type, v);
  return b.create<arith::ExtSIOp>(loc, type, v);
}

mlir::Value ScalarOps::ToMemory(mlir::Value v, DType t) {
  if (t != DType::Bool)
    return v;
  return b.create<arith::ExtUIOp>(loc, b.getI8Type(), v);
}

mlir::Value ScalarOps::FromMemory(mlir::Value v, DType t) {
  if (t != DType::Bool)
    return v;
  mlir::Value zero = b.create<arith::ConstantOp>(loc, b.getI8IntegerAttr(0));
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, v, zero);
}

mlir::Value ScalarOps::Select(mlir::Value c, mlir::Value x, mlir::Value y) {
  return b.create<arith::SelectOp>(loc, c, x, y);
}
mlir::Value ScalarOps::And(mlir::Value x, mlir::Value y) {
  return b.create<arith::AndIOp>(loc, x, y);
}
mlir::Value ScalarOps::Or(mlir::Value x, mlir::Value y) {
  return b.create<arith::OrIOp>(loc, x, y);
}
mlir::Value ScalarOps::Not(mlir::Value x) {
  return b.create<arith::XOrIOp>(loc, x, Int(DType::Bool, 1));
}
mlir::Value ScalarOps::IsNan(mlir::Value x) {
  return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
}

mlir::Value ScalarOps::Compare(CompareOp op, mlir::Value x, mlir::Value y, DType t) {
  if (IsFloat(t)) {
    constexpr arith::CmpFPredicate kFloat[] = {
        arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
        arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return b.create<arith::CmpFOp>(loc, kFloat[static_cast<int>(op)], x, y);
  }
  constexpr arith::CmpIPredicate kSigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                              arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                              arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  constexpr arith::CmpIPredicate kUnsigned[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::ult,
      arith::CmpIPredicate::ule, arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  const auto &table = IsUnsigned(t) ? kUnsigned : kSigned;
  return b.create<arith::CmpIOp>(loc, table[static_cast<int>(op)], x, y);
}

mlir::Value ScalarOps::Negate(mlir::Value x, DType t) {
  if (IsFloat(t))
    return b.create<arith::NegFOp>(loc, x);
  return b.create<arith::SubIOp>(loc, Int(t, 0), x);
}

mlir::Value ScalarOps::Invert(mlir::Value x, DType t) {
  return b.create<arith::XOrIOp>(loc, x, Int(t, t == DType::Bool ? 1 : -1));
}

mlir::Value ScalarOps::Abs(mlir::Value x, DType t) {
  if (t == DType::BFloat16) // few targets have it there; the way through float32 is exact
    return Cast(Abs(Cast(x, t, DType::Float32), DType::Float32), DType::Float32, t);
  if (IsFloat(t))
    return b.create<math::AbsFOp>(loc, x);
  if (IsUnsigned(t))
    return x;
  mlir::Value negative = Compare(CompareOp::Lt, x, Int(t, 0), t);
  return Select(negative, Negate(x, t), x);
}

mlir::Value ScalarOps::Binary(BinaryOp op, mlir::Value x, mlir::Value y, DType t) {
  bool f = IsFloat(t);
  switch (op) {
  case BinaryOp::Add:
    if (t == DType::Bool)
      return Or(x, y);
    return f ? b.create<arith::AddFOp>(loc, x, y).getResult()
             : b.create<arith::AddIOp>(loc, x, y).getResult();
  case BinaryOp::Sub:
    return f ? b.create<arith::SubFOp>(loc, x, y).getResult()
             : b.create<arith::SubIOp>(loc, x, y).getResult();
  case BinaryOp::Mul:
    if (t == DType::Bool)
      return And(x, y);
    return f ? b.create<arith::MulFOp>(loc, x, y).getResult()
             : b.create<arith::MulIOp>(loc, x, y).getResult();
  case BinaryOp::TrueDiv:
    return b.create<arith::DivFOp>(loc, x, y);
  case BinaryOp::FloorDiv:
    return f ? FloatFloorDivMod(true, x, y, t) : IntFloorDivMod(true, x, y, t);
  case BinaryOp::Mod:
    return f ? FloatFloorDivMod(false, x, y, t) : IntFloorDivMod(false, x, y, t);
  case BinaryOp::Pow:
    if (!f)
      return IntPow(x, y, t);
    if (Bits(t) == 16) {
      mlir::Value wide =
          Binary(op, Cast(x, t, DType::Float32), Cast(y, t, DType::Float32), DType::Float32);
      return Cast(wide, DType::Float32, t);
    }
    return b.create<math::PowFOp>(loc, x, y);
  case BinaryOp::Shl:
  case BinaryOp::Shr: {
    auto known = ConstantInt(y);
    bool in_range = known && known->ult(Bits(t));
    // A shift by a negative number has no meaning in Python; it counts as past the width here.
    mlir::Value ok, amount = y;
    if (!in_range) {
      mlir::Value width = Int(t, Bits(t));
      ok = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, y, width);
      amount = Select(ok, y, Int(t, 0));
    }
    mlir::Value shifted;
    mlir::Value past = Int(t, 0);
    if (op == BinaryOp::Shl) {
      shifted = b.create<arith::ShLIOp>(loc, x, amount);
    } else if (IsUnsigned(t)) {
      shifted = b.create<arith::ShRUIOp>(loc, x, amount);
    } else {
      shifted = b.create<arith::ShRSIOp>(loc, x, amount);
      if (!in_range)
        past = b.create<arith::ShRSIOp>(loc, x, Int(t, Bits(t) - 1));
    }
    return in_range ? shifted : Select(ok, shifted, past);
  }
  case BinaryOp::And:
    return And(x, y);
  case BinaryOp::Or:
    return Or(x, y);
  case BinaryOp::Xor:
    return b.create<arith::XOrIOp>(loc, x, y);
  case BinaryOp::Min:
  case BinaryOp::Max: {
    bool min = op == BinaryOp::Min;
    if (t == DType::Bool)
      return min ? And(x, y) : Or(x, y);
    if (f) // NaN if there is one
      return min ? b.create<arith::MinimumFOp>(loc, x, y).getResult()
                 : b.create<arith::MaximumFOp>(loc, x, y).getResult();
    if (IsUnsigned(t))
      return min ? b.create<arith::MinUIOp>(loc, x, y).getResult()
                 : b.create<arith::MaxUIOp>(loc, x, y).getResult();
    return min ? b.create<arith::MinSIOp>(loc, x, y).getResult()
               : b.create<arith::MaxSIOp>(loc, x, y).getResult();
  }
  }
  return {};
}

mlir::Value ScalarOps::IntFloorDivMod(bool want_div, mlir::Value x, mlir::Value y, DType t) {
  auto known = ConstantInt(y);
  mlir::Value zero = Int(t, 0);
  bool is_unsigned = IsUnsigned(t);
  if (known && known->isZero())
    return zero;
  // Zero traps, and so does the smallest number by -1: divide by 1 there, and put things right.
  mlir::Value is_zero, is_minus_one, safe = y;
  bool guard_zero = !known;
  bool guard_minus_one = !is_unsigned && (!known || known->isAllOnes());
  if (guard_zero) {
    is_zero = Compare(CompareOp::Eq, y, zero, t);
    safe = Select(is_zero, Int(t, 1), safe);
  }
  if (guard_minus_one) {
    is_minus_one = Compare(CompareOp::Eq, y, Int(t, -1), t);
    safe = Select(is_minus_one, Int(t, 1), safe);
  }
  mlir::Value result;
  if (is_unsigned) {
    result = want_div ? b.create<arith::DivUIOp>(loc, x, safe).getResult()
                      : b.create<arith::RemUIOp>(loc, x, safe).getResult();
  } else {
    mlir::Value rem = b.create<arith::RemSIOp>(loc, x, safe);
    mlir::Value opposite = Compare(CompareOp::Lt, b.create<arith::XOrIOp>(loc, rem, safe), zero, t);
    mlir::Value adjust = And(Compare(CompareOp::Ne, rem, zero, t), opposite);
    if (want_div) {
      mlir::Value quotient = b.create<arith::DivSIOp>(loc, x, safe);
      result = Select(adjust, b.create<arith::SubIOp>(loc, quotient, Int(t, 1)), quotient);
    } else {
      result = Select(adjust, b.create<arith::AddIOp>(loc, rem, safe), rem);
    }
  }
  // The remainder by 1 is 0 already, which is right for 0 and -1 alike.
  if (want_div && guard_minus_one)
    result = Select(is_minus_one, Negate(x, t), result);
  if (want_div && guard_zero)
    result = Select(is_zero, zero, result);
  return result;
}

mlir::Value ScalarOps::FloatFloorDivMod(bool want_div, mlir::Value x, mlir::Value y, DType t) {
  if (Bits(t) == 16) {
    mlir::Value wide = FloatFloorDivMod(want_div, Cast(x, t, DType::Float32),
                                        Cast(y, t, DType::Float32), DType::Float32);
    return Cast(wide, DType::Float32, t);
  }
  // CPython's float_divmod, which NumPy shares.
  mlir::Value zero = Float(t, 0);
  mlir::Value mod = b.create<arith::RemFOp>(loc, x, y);
  mlir::Value mod_nonzero = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, mod, zero);
  mlir::Value signs_differ = b.create<arith::XOrIOp>(loc, Compare(CompareOp::Lt, y, zero, t),
                                                     Compare(CompareOp::Lt, mod, zero, t));
  mlir::Value adjust = And(mod_nonzero, signs_differ);
  if (!want_div) {
    mlir::Value adjusted = Select(adjust, b.create<arith::AddFOp>(loc, mod, y), mod);
    mlir::Value signed_zero = b.create<math::CopySignOp>(loc, zero, y);
    return Select(mod_nonzero, adjusted, signed_zero);
  }
  mlir::Value div = b.create<arith::DivFOp>(loc, b.create<arith::SubFOp>(loc, x, mod), y);
  div = Select(adjust, b.create<arith::SubFOp>(loc, div, Float(t, 1)), div);
  mlir::Value floor = b.create<math::FloorOp>(loc, div);
  mlir::Value over =
      Compare(CompareOp::Gt, b.create<arith::SubFOp>(loc, div, floor), Float(t, 0.5), t);
  floor = Select(over, b.create<arith::AddFOp>(loc, floor, Float(t, 1)), floor);
  mlir::Value quotient = b.create<arith::DivFOp>(loc, x, y);
  mlir::Value div_nonzero = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, div, zero);
  mlir::Value result = Select(div_nonzero, floor, b.create<math::CopySignOp>(loc, zero, quotient));
  return Select(Compare(CompareOp::Eq, y, zero, t), quotient, result);
}

mlir::Value ScalarOps::IntPow(mlir::Value x, mlir::Value y, DType t) {
  if (auto known = ConstantInt(y); known && known->ule(16)) {
    // Square and multiply, exact under wrapping.
    uint64_t n = known->getZExtValue();
    mlir::Value result, square = x;
    for (; n; n >>= 1) {
      if (n & 1)
        result = result ? b.create<arith::MulIOp>(loc, result, square).getResult() : square;
      if (n > 1)
        square = b.create<arith::MulIOp>(loc, square, square);
    }
    return result ? result : Int(t, 1);
  }
  // One multiplication for each of the exponent's bits, without branches.
  mlir::Value result = Int(t, 1), square = x;
  for (int bit = 0; bit < Bits(t); ++bit) {
    mlir::Value shifted = b.create<arith::ShRUIOp>(loc, y, Int(t, bit));
    mlir::Value odd = b.create<arith::TruncIOp>(loc, b.getI1Type(), shifted);
    result = Select(odd, b.create<arith::MulIOp>(loc, result, square), result);
    square = b.create<arith::MulIOp>(loc, square, square);
  }
  return result;
}

} // namespace pyasc::sema
