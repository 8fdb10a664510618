// Arithmetic, comparison and casts of numbers: promotion, folding, affine forms, then ops.
#include "compiler/sema/emitter.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace pyasc::sema {

namespace arith = mlir::arith;
using mlir::AffineExpr;

namespace {

std::string_view Spelling(BinaryOp op) {
  constexpr std::string_view kNames[] = {"+",  "-",  "*", "/", "//", "%",   "**",
                                         "<<", ">>", "&", "|", "^",  "min", "max"};
  return kNames[static_cast<int>(op)];
}

bool IsBitwise(BinaryOp op) {
  return op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor || op == BinaryOp::Shl ||
         op == BinaryOp::Shr;
}

double FloorMod(double x, double y) {
  double m = std::fmod(x, y);
  if (m != 0 && (m < 0) != (y < 0))
    m += y;
  else if (m == 0)
    m = std::copysign(0.0, y);
  return m;
}

double FloorDivide(double x, double y) {
  if (y == 0)
    return x / y;
  double m = std::fmod(x, y), d = (x - m) / y;
  if (m != 0 && (m < 0) != (y < 0))
    d -= 1;
  if (d == 0)
    return std::copysign(0.0, x / y);
  double f = std::floor(d);
  return d - f > 0.5 ? f + 1 : f;
}

// A constant as an operand of type `t`. Literals among themselves are Python's doubles.
double ConstantIn(const Value &x, DType t, bool all_weak) {
  return all_weak ? x.ConstantAsDouble() : RoundTo(x.ConstantAsDouble(), t);
}

} // namespace

std::optional<DType> Emitter::CommonType(const SourceRange &range, const Value &x, const Value &y) {
  if (x.weak && y.weak) {
    if (IsFloat(x.dtype) || IsFloat(y.dtype))
      return DType::Float32;
    return Bits(x.dtype) >= Bits(y.dtype) ? x.dtype : y.dtype;
  }
  if (x.weak || y.weak) {
    const Value &weak = x.weak ? x : y, &strong = x.weak ? y : x;
    if (IsFloat(weak.dtype))
      return IsFloat(strong.dtype) ? strong.dtype : DType::Float32;
    if (strong.dtype == DType::Bool)
      return weak.dtype;
    if (!IsFloat(strong.dtype) && weak.constant &&
        (weak.constant->i < MinInt(strong.dtype) || weak.constant->i > MaxInt(strong.dtype))) {
      if (index_mode_ || (strong.dtype == DType::Int32 && !strong.IsTensor() && strong.constant))
        return DType::Int64;
      Error("literal-overflow", range,
            "the literal " + ToString(weak.constant->i) + " does not fit into " +
                std::string(Name(strong.dtype)) + "; cast the other operand to a wider type");
      return std::nullopt;
    }
    return strong.dtype;
  }
  auto both = Promote(x.dtype, y.dtype);
  if (!both)
    Error("no-common-type", range,
          std::string(Name(x.dtype)) + " and " + std::string(Name(y.dtype)) +
              " have no common integer type; cast one, as in asc.int64(x)");
  return both;
}

Value Emitter::InIndex(const SourceRange &range, const Value &x) {
  bool is_narrow = x.IsScalar() && IsInteger(x.dtype) && !x.weak && x.dtype != DType::Int64 &&
                   x.dtype != DType::UInt64;
  return is_narrow ? Cast(range, x, DType::Int64) : x;
}

Value Emitter::Binary(const SourceRange &range, BinaryOp op, Value x, Value y) {
  if (x.IsInvalid() || y.IsInvalid())
    return Value::Invalid();
  // Tuples, as shapes: concatenation and repetition.
  if (x.IsTuple() && y.IsTuple() && op == BinaryOp::Add) {
    if (x.weight + y.weight > kMaxItems)
      return TupleTooLarge(range, x.weight + y.weight);
    std::vector<Value> items = *x.items;
    items.insert(items.end(), y.items->begin(), y.items->end());
    return Value::TupleOf(std::move(items), x.is_list);
  }
  if (op == BinaryOp::Mul && (x.IsTuple() || y.IsTuple())) {
    const Value &tuple = x.IsTuple() ? x : y, &times = x.IsTuple() ? y : x;
    const auto most = static_cast<Int>(kMaxItems);
    if (times.IsConstantInt() && times.constant->i > 0 &&
        times.constant->i * static_cast<Int>(tuple.items->size()) > most)
      return TupleTooLarge(range, static_cast<size_t>(std::min(
                                      times.constant->i, static_cast<Int>(MaxInt(DType::Int32)))) *
                                      tuple.items->size());
    if (times.IsConstantInt()) {
      std::vector<Value> items;
      for (Int i = 0; i < times.constant->i; ++i)
        items.insert(items.end(), tuple.items->begin(), tuple.items->end());
      return Value::TupleOf(std::move(items), tuple.is_list);
    }
  }
  if (x.kind == Value::Kind::String && y.kind == Value::Kind::String && op == BinaryOp::Add)
    return CheckedText(range, x.text + y.text);
  if (!x.IsNumber() || !y.IsNumber()) {
    const Value &bad = x.IsNumber() ? y : x;
    return Error("type-mismatch", range,
                 "'" + std::string(Spelling(op)) +
                     "' needs numbers or tensors, and one operand is " + Describe(bad));
  }
  if (index_mode_) {
    x = InIndex(range, x);
    y = InIndex(range, y);
  }
  auto type = CommonType(range, x, y);
  if (!type)
    return Value::Invalid();
  bool weak = x.weak && y.weak;
  DType t = *type;
  bool tensors = x.IsTensor() || y.IsTensor();
  if (t == DType::Bool && !IsBitwise(op) && op != BinaryOp::Min && op != BinaryOp::Max) {
    if (tensors && (op == BinaryOp::Add || op == BinaryOp::Mul)) {
      // NumPy: logical or, logical and
    } else if (tensors && op == BinaryOp::Sub) {
      return Error("bool-arithmetic", range,
                   "bool tensors cannot be subtracted; use ^, or cast to an integer type");
    } else {
      t = DType::Int32;
    }
  }
  if (IsBitwise(op) && IsFloat(t))
    return Error("type-mismatch", range,
                 "'" + std::string(Spelling(op)) + "' needs integers, not " +
                     std::string(Name(IsFloat(x.dtype) ? x.dtype : y.dtype)));
  if ((op == BinaryOp::Shl || op == BinaryOp::Shr) && t == DType::Bool)
    t = DType::Int32;
  if (op == BinaryOp::TrueDiv && !IsFloat(t))
    t = DType::Float32;
  if (op == BinaryOp::Pow && !IsFloat(t) && y.IsConstant() && y.constant->i < 0)
    t = DType::Float32;
  if (!CheckDType(range, t))
    return Value::Invalid();
  if (x.IsConstant() && y.IsConstant()) {
    Value v = FoldBinary(range, op, x, y, t, weak);
    v.derived = x.derived || y.derived;
    return v;
  }
  if (t == DType::Int64 && !tensors) {
    if (Value v = AffineBinary(op, x, y); !v.IsInvalid()) {
      v.derived = v.IsConstant();
      return v;
    }
  }
  if ((op == BinaryOp::FloorDiv || op == BinaryOp::Mod) && !IsFloat(t)) {
    if (y.IsConstant() && y.constant->i == 0)
      return Error("division-by-zero", range, "integer division or modulo by zero");
    if (!y.IsConstant() && y.IsScalar() && !(y.range.low && *y.range.low > 0) &&
        !(y.range.high && *y.range.high < 0)) {
      mlir::Value divisor = SsaAs(y, t);
      ScalarOps ops = Ops(range);
      Check("division-by-zero", range, ops.Compare(CompareOp::Ne, divisor, ops.Int(t, 0), t),
            nullptr, nullptr, "integer division or modulo by zero");
    }
  }
  if ((op == BinaryOp::Shl || op == BinaryOp::Shr) && y.IsConstant() && y.constant->i < 0)
    return Error("negative-shift", range, "negative shift count");
  if ((op == BinaryOp::Shl || op == BinaryOp::Shr) && y.IsScalar() && !y.IsConstant() &&
      y.dtype != DType::Bool && !IsUnsigned(y.dtype) && checks_) {
    Value ok = CompareValues(range, CompareOp::Ge, y, Value::WeakInt(0));
    if (ok.IsInvalid())
      return ok;
    if (ok.IsConstant() ? ok.constant->i == 0 : ok.proved != true)
      Check("negative-shift", range, Ssa(ok), nullptr, nullptr, "negative shift count");
  }
  if (op == BinaryOp::Pow && !IsFloat(t) && !IsUnsigned(y.dtype) && !y.IsConstant() && checks_) {
    Value ok = CompareValues(range, CompareOp::Ge, y, Value::WeakInt(0));
    if (ok.IsTensor()) {
      Value all = Value::OfKind(Value::Kind::Library);
      all.library = FindLibraryEntry("all", kAsc);
      ok = CallValue(range, all, {ok}, {range}, {}, {});
    }
    if (ok.IsInvalid())
      return ok;
    if (!ok.IsConstant() && ok.proved != true)
      Check("negative-power", range, Ssa(ok), nullptr, nullptr,
            "an integer to a negative power; cast one to a float");
  }
  if (op == BinaryOp::Pow && IsFloat(t) && y.IsConstant()) {
    // Small powers by multiplication, as NumPy's fast paths.
    double n = y.ConstantAsDouble();
    if (n == 2 || n == 1 || n == 3 || n == 0.5)
      return Elementwise(range, {x}, t, t, [n, t](ScalarOps &ops, mlir::ValueRange v) {
        if (n == 1)
          return v[0];
        DType wide = Is16BitFloat(t) ? DType::Float32 : t;
        mlir::Value w = ops.Cast(v[0], t, wide);
        mlir::Value r;
        if (n == 0.5) {
          r = ops.b.create<mlir::math::SqrtOp>(ops.loc, w);
        } else {
          r = ops.Binary(BinaryOp::Mul, w, w, wide);
          if (n == 3)
            r = ops.Binary(BinaryOp::Mul, r, w, wide);
        }
        return ops.Cast(r, wide, t);
      });
  }
  Value result = Elementwise(range, {x, y}, t, t, [op, t](ScalarOps &ops, mlir::ValueRange v) {
    return ops.Binary(op, v[0], v[1], t);
  });
  if (result.IsScalar() && !IsFloat(t))
    result.range = BinaryRange(op, x.range, y.range, t);
  return result;
}

Value Emitter::FoldBinary(const SourceRange &range, BinaryOp op, const Value &x, const Value &y,
                          DType t, bool weak) {
  if (IsFloat(t)) {
    double a = ConstantIn(x, t, weak), b = ConstantIn(y, t, weak), r = 0;
    switch (op) {
    case BinaryOp::Add:
      r = a + b;
      break;
    case BinaryOp::Sub:
      r = a - b;
      break;
    case BinaryOp::Mul:
      r = a * b;
      break;
    case BinaryOp::TrueDiv:
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod:
      if (b == 0 && weak)
        return Error("division-by-zero", range, "division by zero");
      r = op == BinaryOp::TrueDiv ? a / b
          : op == BinaryOp::Mod   ? FloorMod(a, b)
                                  : FloorDivide(a, b);
      break;
    case BinaryOp::Pow:
      if (a == 0 && b < 0 && weak)
        return Error("division-by-zero", range, "zero to a negative power");
      r = std::pow(a, b);
      break;
    case BinaryOp::Min:
    case BinaryOp::Max:
      r = std::isnan(a) || std::isnan(b) ? std::nan("")
          : op == BinaryOp::Min          ? std::min(a, b)
                                         : std::max(a, b);
      // Python's min and max give back one of their operands: an int stays one.
      if (weak && !IsFloat((r == a ? x : y).dtype))
        return r == a ? x : y;
      break;
    default:
      return Value::Invalid();
    }
    return Value::FloatConstant(weak ? r : RoundTo(r, t), weak ? DType::Float32 : t, weak);
  }
  Int a = x.constant->i, b = y.constant->i, r = 0;
  switch (op) {
  case BinaryOp::Add:
    r = t == DType::Bool ? (a || b) : a + b;
    break;
  case BinaryOp::Sub:
    r = a - b;
    break;
  case BinaryOp::Mul:
    r = a * b;
    break;
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    if (b == 0)
      return Error("division-by-zero", range, "integer division or modulo by zero");
    Int q = a / b;
    if (q * b != a && (a < 0) != (b < 0))
      --q;
    r = op == BinaryOp::FloorDiv ? q : a - q * b;
    break;
  }
  case BinaryOp::Pow: {
    bool over = weak && b > 64 && (a > 1 || a < -1);
    for (Int i = 0, now = 1; i < b && weak && !over && b <= 64; ++i)
      over = (now *= a) > (Int{1} << 64) || now < -(Int{1} << 64);
    if (over)
      return Error("integer-too-large", range, "the power does not fit into 64 bits");
    unsigned __int128 acc = 1, base = static_cast<unsigned __int128>(a);
    for (Int n = b; n > 0; n >>= 1, base *= base)
      if (n & 1)
        acc *= base;
    r = static_cast<Int>(acc);
    break;
  }
  case BinaryOp::Shl:
    if (b < 0)
      return Error("negative-shift", range, "negative shift count");
    if (weak && (b >= 64 || (a << b) >> b != a))
      return Error("integer-too-large", range, "the shifted value does not fit into 64 bits");
    r = b >= Bits(t) && !weak ? 0 : a << std::min<Int>(b, 64);
    break;
  case BinaryOp::Shr:
    if (b < 0)
      return Error("negative-shift", range, "negative shift count");
    r = a >> std::min<Int>(b, 126);
    break;
  case BinaryOp::And:
    r = a & b;
    break;
  case BinaryOp::Or:
    r = a | b;
    break;
  case BinaryOp::Xor:
    r = a ^ b;
    break;
  case BinaryOp::Min:
    r = std::min(a, b);
    break;
  case BinaryOp::Max:
    r = std::max(a, b);
    break;
  case BinaryOp::TrueDiv:
    return Value::Invalid();
  }
  if (!weak)
    return Value::IntConstant(Wrap(r, t), t, false);
  if (r > MaxInt(DType::UInt64) || r < MinInt(DType::Int64))
    return Error("integer-too-large", range,
                 "the constant " + ToString(r) + " does not fit into 64 bits");
  return Value::WeakInt(r);
}

// The affine form of `x op y`, or an invalid value when there is none.
Value Emitter::AffineBinary(BinaryOp op, const Value &x, const Value &y) {
  AffineExpr a = AffineOf(x), b = AffineOf(y);
  auto constant = [](AffineExpr e) {
    return e ? mlir::dyn_cast<mlir::AffineConstantExpr>(e) : mlir::AffineConstantExpr();
  };
  // A large index is computed by code.
  if (a && b && !IsSmallAffine(a, b))
    return Value::Invalid();
  if (a && b) {
    switch (op) {
    case BinaryOp::Add:
      return FromAffine(a + b);
    case BinaryOp::Sub:
      return FromAffine(a - b);
    case BinaryOp::Mul:
      if (constant(a) || constant(b))
        return FromAffine(a * b);
      return Value::Invalid();
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod:
      if (auto c = constant(b); c && c.getValue() > 0) {
        if (HasMisjudgedMod(a))
          return Value::Invalid();
        // A dividend that is known to become negative is computed by code too.
        Interval range = RangeOf(a);
        if (op == BinaryOp::Mod && range.low && *range.low < 0)
          return Value::Invalid();
        return FromAffine(op == BinaryOp::Mod ? a % b : a.floorDiv(b));
      }
      return Value::Invalid();
    case BinaryOp::Min:
      return FromAffineList({a, b}, ListKind::Min);
    case BinaryOp::Max:
      return FromAffineList({a, b}, ListKind::Max);
    default:
      return Value::Invalid();
    }
  }
  // min(...) and max(...) take constants and further bounds in.
  bool list_x = x.affine.size() > 1, list_y = y.affine.size() > 1;
  if (!(list_x || list_y) || !(list_x || a) || !(list_y || b))
    return Value::Invalid();
  if (op == BinaryOp::Min || op == BinaryOp::Max) {
    ListKind kind = op == BinaryOp::Min ? ListKind::Min : ListKind::Max;
    if (x.affine.size() + y.affine.size() > kMaxAffineBounds)
      return Value::Invalid(); // each bound is compared with all others
    if ((list_x && x.list != kind) || (list_y && y.list != kind))
      return Value::Invalid();
    std::vector<AffineExpr> all = list_x ? x.affine : std::vector<AffineExpr>{a};
    for (AffineExpr e : list_y ? y.affine : std::vector<AffineExpr>{b})
      all.push_back(e);
    return FromAffineList(all, kind);
  }
  if (list_x && list_y)
    return Value::Invalid();
  const Value &list = list_x ? x : y;
  AffineExpr other = list_x ? b : a;
  std::vector<AffineExpr> out;
  ListKind kind = list.list;
  for (AffineExpr e : list.affine) {
    if (op == BinaryOp::Add) {
      out.push_back(e + other);
    } else if (op == BinaryOp::Sub) {
      out.push_back(list_x ? e - other : other - e);
    } else if (op == BinaryOp::Mul && constant(other) && constant(other).getValue() > 0) {
      out.push_back(e * other);
    } else {
      return Value::Invalid();
    }
  }
  if (op == BinaryOp::Sub && list_y)
    kind = kind == ListKind::Min ? ListKind::Max : ListKind::Min;
  return FromAffineList(out, kind);
}

Value Emitter::Unary(const SourceRange &range, syntax::UnaryOperator op, const Value &x) {
  if (op == syntax::UnaryOperator::Not)
    return LogicalNot(range, x);
  if (!x.IsNumber())
    return Error("type-mismatch", range,
                 "the operand must be a number or tensor, and is " + Describe(x));
  DType t = x.dtype;
  if (t == DType::Bool && op != syntax::UnaryOperator::Invert) {
    if (x.IsTensor() && op == syntax::UnaryOperator::USub)
      return Error("bool-arithmetic", range, "bool tensors cannot be negated; use ~");
    t = x.IsTensor() ? t : DType::Int32;
  }
  switch (op) {
  case syntax::UnaryOperator::UAdd:
    if (x.IsTensor())
      return Materialize(range, x);
    return t == x.dtype ? x : Cast(range, x, t);
  case syntax::UnaryOperator::USub:
    if (x.IsConstant()) {
      Value v = IsFloat(t) ? Value::FloatConstant(-x.constant->f, t, x.weak)
                : x.weak   ? Value::WeakInt(-x.constant->i)
                           : Value::IntConstant(Wrap(-x.constant->i, t), t, false);
      v.derived = x.derived;
      return v;
    }
    if (t == DType::Int64 && !x.affine.empty())
      return AffineBinary(BinaryOp::Sub, Value::IntConstant(0, DType::Int64, false), x);
    return Elementwise(range, {x}, t, t,
                       [t](ScalarOps &ops, mlir::ValueRange v) { return ops.Negate(v[0], t); });
  case syntax::UnaryOperator::Invert:
    if (IsFloat(t))
      return Error("type-mismatch", range,
                   "'~' needs integers or bools, not " + std::string(Name(t)));
    if (t == DType::Bool && x.IsScalar())
      return Error("bool-arithmetic", range,
                   "'~' of a bool is an integer in Python (~True is -2) and a bool in NumPy; write "
                   "'not', or cast it to an integer type");
    if (x.IsConstant()) {
      Value v = x.weak ? Value::WeakInt(~x.constant->i)
                       : Value::IntConstant(Wrap(~x.constant->i, t), t, false);
      v.derived = x.derived;
      return v;
    }
    return Elementwise(range, {x}, t, t,
                       [t](ScalarOps &ops, mlir::ValueRange v) { return ops.Invert(v[0], t); });
  case syntax::UnaryOperator::Not:
    break;
  }
  return Value::Invalid();
}

Value Emitter::Truth(const SourceRange &range, const Value &x) {
  if (x.IsInvalid())
    return x;
  if (x.IsNone())
    return Value::BoolConstant(false);
  if (x.IsTuple())
    return Value::BoolConstant(!x.items->empty());
  if (x.kind == Value::Kind::String)
    return Value::BoolConstant(!x.text.empty());
  if (x.IsTensor())
    return Error("ambiguous-truth", range,
                 "the truth of a tensor is ambiguous; use asc.any, asc.all or asc.where");
  if (!x.IsScalar())
    return Error("type-mismatch", range, "a condition must be a number, not " + Describe(x));
  if (x.IsConstant())
    return Value::Truth(IsFloat(x.dtype) ? x.constant->f != 0 : x.constant->i != 0, x.derived);
  if (x.dtype == DType::Bool)
    return x;
  return CompareValues(range, CompareOp::Ne, x,
                       IsFloat(x.dtype) ? Value::FloatConstant(0, x.dtype, false)
                                        : Value::IntConstant(0, x.dtype, false));
}

std::vector<AffineCondition> Emitter::Failures(const Value &truth) {
  if (!truth.failures.empty() || truth.conditions.size() != 1)
    return truth.failures;
  AffineExpr e = truth.conditions[0].expr;
  if (!truth.conditions[0].is_equality || Prove(-e))
    return {{-e - 1, false}};
  // x != y is no conjunction, except at a bound: i != 0 with i >= 0 is i > 0.
  if (Prove(e))
    return {{e - 1, false}};
  return {};
}

Value Emitter::LogicalNot(const SourceRange &range, const Value &x) {
  Value t = Truth(range, x);
  if (t.IsInvalid())
    return t;
  if (t.IsConstant())
    return Value::BoolConstant(!t.constant->i);
  Value v;
  if (std::vector<AffineCondition> failures = Failures(t); !failures.empty()) {
    v = Value::OfKind(Value::Kind::Scalar);
    v.dtype = DType::Bool;
    v.conditions = std::move(failures);
  } else {
    v = Value::Scalar(DType::Bool, Ops(range).Not(Ssa(t)));
  }
  v.failures = t.conditions;
  if (t.proved)
    v.proved = !*t.proved;
  return v;
}

Value Emitter::Select(const SourceRange &range, const Value &condition, const Value &x,
                      const Value &y) {
  auto type = CommonType(range, x, y);
  if (!type)
    return Value::Invalid();
  if (condition.IsConstant())
    return Cast(range, condition.constant->i ? x : y, *type);
  if (*type == DType::Int64 && condition.IsScalar() && x.IsScalar() && y.IsScalar()) {
    // Keep index arithmetic on index values.
    mlir::Location loc = Loc(range);
    Index a = ToIndex(x), b = ToIndex(y);
    Value v = Value::Scalar(DType::Int64,
                            Ops(range).Select(Ssa(condition), IndexSsa(a, loc), IndexSsa(b, loc)));
    if (a.range.low && b.range.low)
      v.range.low = std::min(*a.range.low, *b.range.low);
    if (a.range.high && b.range.high)
      v.range.high = std::max(*a.range.high, *b.range.high);
    return v;
  }
  return ElementwiseTyped(
      range, {condition, x, y}, {DType::Bool, *type, *type}, *type,
      [](ScalarOps &ops, mlir::ValueRange v) { return ops.Select(v[0], v[1], v[2]); });
}

Value Emitter::Cast(const SourceRange &range, const Value &x, DType t) {
  if (x.IsInvalid() || !CheckDType(range, t))
    return Value::Invalid();
  if (x.IsScalar()) {
    Value v = x;
    v.weak = false;
    if (x.dtype == t)
      return v;
    v.dtype = t;
    if (x.constant) {
      auto constant = [&](Value c) {
        c.derived = x.derived;
        return c;
      };
      if (IsFloat(t))
        return constant(Value::FloatConstant(RoundTo(x.ConstantAsDouble(), t), t, false));
      if (IsFloat(x.dtype)) {
        double f = x.constant->f;
        if (t == DType::Bool)
          return constant(Value::BoolConstant(f != 0));
        bool inside = std::fabs(f) < 1e30 && static_cast<Int>(f) >= MinInt(t) &&
                      static_cast<Int>(f) <= MaxInt(t);
        if (!inside && x.weak)
          return Error("cast-overflow", range,
                       "the constant does not fit into " + std::string(Name(t)));
        // A variable's value saturates whether it is known or not.
        Int i = inside ? static_cast<Int>(f) : std::isnan(f) ? 0 : f > 0 ? MaxInt(t) : MinInt(t);
        return constant(Value::IntConstant(i, t, false));
      }
      return constant(Value::IntConstant(Wrap(x.constant->i, t), t, false));
    }
    // A narrower integer keeps its affine form and range when it becomes an int64.
    if (t == DType::Int64 && IsInteger(x.dtype) && x.dtype != DType::UInt64) {
      if (!x.affine.empty()) {
        if (v.ssa && !v.ssa.getType().isIndex())
          v.ssa = {}; // made again of the affine form, in 64 bits
        return v;
      }
      Value wide = Value::Scalar(t, Ops(range).Cast(Ssa(x), x.dtype, t));
      wide.range = x.range;
      return wide;
    }
    return Value::Scalar(t, Ops(range).Cast(Ssa(x), x.dtype, t));
  }
  if (!x.IsTensor())
    return Error("type-mismatch", range,
                 "cannot cast " + Describe(x) + " to " + std::string(Name(t)));
  DType from = x.dtype;
  return ElementwiseTyped(range, {x}, {from}, t, [from, t](ScalarOps &ops, mlir::ValueRange v) {
    return ops.Cast(v[0], from, t);
  });
}

std::optional<Value> Emitter::CastForStore(const SourceRange &range, const Value &x, DType t,
                                           std::string_view into) {
  if (x.IsInvalid())
    return std::nullopt;
  if (!x.IsNumber()) {
    Error("type-mismatch", range,
          "cannot store " + Describe(x) + " into " + std::string(into) + " of " +
              std::string(Name(t)));
    return std::nullopt;
  }
  if (IsFloat(x.dtype) && !IsFloat(t)) {
    std::string cast = "asc." + std::string(Name(t));
    std::string text = range == castable_ ? std::string(diags_.Text(range)) : "";
    ErrorWithFix("float-to-int", range,
                 "storing " + Describe(x) + " into " + std::string(into) + " of " +
                     std::string(Name(t)) + " would drop its fraction; cast it: " + cast + "(...)",
                 range, text.empty() ? "" : cast + "(" + text + ")");
    return std::nullopt;
  }
  if (x.weak && x.IsConstantInt() && !IsFloat(t) && t != DType::Bool &&
      (x.constant->i < MinInt(t) || x.constant->i > MaxInt(t))) {
    Error("literal-overflow", range,
          "the literal " + ToString(x.constant->i) + " does not fit into " + std::string(Name(t)));
    return std::nullopt;
  }
  if (x.IsTensor())
    return x; // converted as it is copied
  Value v = Cast(range, x, t);
  return v.IsInvalid() ? std::nullopt : std::optional<Value>(v);
}

mlir::Value Emitter::Ssa(const Value &v) {
  mlir::Location loc = Here();
  if (v.constant)
    return ScalarOps(b_, loc).Constant(v.dtype, *v.constant);
  if (v.proved)
    return ScalarOps(b_, loc).Constant(v.dtype, {.i = *v.proved});
  if (v.ssa && !v.ssa.getType().isIndex())
    return v.ssa;
  if (!v.conditions.empty())
    return MaterializeConditions(v.conditions, loc);
  if (v.ssa)
    return b_.create<arith::IndexCastOp>(loc, ValueType(&context_, v.dtype), v.ssa);
  Index index = ToIndex(v);
  return b_.create<arith::IndexCastOp>(loc, ValueType(&context_, v.dtype), IndexSsa(index, loc));
}

mlir::Value Emitter::SsaAs(const Value &v, DType t) {
  if (v.constant) {
    Value c = v;
    if (IsFloat(t))
      return ScalarOps(b_, Here()).Constant(t, {.f = v.ConstantAsDouble()});
    if (!IsFloat(v.dtype))
      return ScalarOps(b_, Here()).Constant(t, {.i = Wrap(v.constant->i, t)});
  }
  return ScalarOps(b_, Here()).Cast(Ssa(v), v.dtype, t);
}

} // namespace pyasc::sema
