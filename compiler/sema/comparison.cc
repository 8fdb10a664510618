// Comparison of numbers. Integers beside floats are compared as the numbers that they are, without
// rounding one to the other's type.
#include "compiler/sema/emitter.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace pyasc::sema {

using mlir::AffineExpr;

namespace {

// Whether `a op b` holds for a < b (-1), a == b (0), a > b (1).
bool Holds(CompareOp op, int order) {
  bool results[] = {order == 0, order != 0, order < 0, order <= 0, order > 0, order >= 0};
  return results[static_cast<int>(op)];
}

// The comparison that holds for (b, a) where `op` holds for (a, b).
CompareOp Mirrored(CompareOp op) {
  switch (op) {
  case CompareOp::Lt:
    return CompareOp::Gt;
  case CompareOp::Le:
    return CompareOp::Ge;
  case CompareOp::Gt:
    return CompareOp::Lt;
  case CompareOp::Ge:
    return CompareOp::Le;
  default:
    return op;
  }
}

// How an integer of at most 65 bits stands to a float; nullopt: the float is no number.
std::optional<int> Order(Int i, double f) {
  if (std::isnan(f))
    return std::nullopt;
  if (std::fabs(f) > 1e30)
    return f > 0 ? -1 : 1;
  double whole = std::trunc(f);
  Int other = static_cast<Int>(whole);
  if (i != other)
    return i < other ? -1 : 1;
  return f > whole ? -1 : f < whole ? 1 : 0;
}

// The bits that a value of an integer type takes up beside its sign, and those that a float holds.
int ValueBits(DType t) { return t == DType::Bool ? 1 : IsUnsigned(t) ? Bits(t) : Bits(t) - 1; }
int ExactBits(DType t) {
  switch (t) {
  case DType::Float16:
    return 11;
  case DType::BFloat16:
    return 8;
  case DType::Float32:
    return 24;
  default:
    return 53;
  }
}

// n op f for an integer of type `t` (int64 or uint64) and a float of type `ft`.
mlir::Value CompareExactly(ScalarOps &ops, CompareOp op, mlir::Value n, mlir::Value f, DType t,
                           DType ft) {
  mlir::Value above =
      ops.Compare(CompareOp::Ge, f, ops.Float(ft, std::ldexp(1.0, ValueBits(t))), ft);
  mlir::Value least = ops.Float(ft, IsUnsigned(t) ? 0.0 : -std::ldexp(1.0, ValueBits(t)));
  mlir::Value below = ops.Compare(CompareOp::Lt, f, least, ft);
  mlir::Value inside =
      ops.And(ops.Compare(CompareOp::Ge, f, least, ft), ops.Not(above)); // not for NaN
  mlir::Value whole = ops.Cast(ops.Select(inside, f, ops.Float(ft, 0)), ft, t);
  // The float's whole part decides; where that is n, what the float has beside it.
  mlir::Value equal = ops.Compare(CompareOp::Eq, n, whole, t);
  auto with_rest = [&](CompareOp rest) {
    return ops.And(equal, ops.Compare(rest, ops.Cast(whole, t, ft), f, ft));
  };
  mlir::Value result;
  switch (op) {
  case CompareOp::Eq:
    return ops.And(inside, with_rest(CompareOp::Eq));
  case CompareOp::Ne:
    return ops.Not(ops.And(inside, with_rest(CompareOp::Eq)));
  case CompareOp::Lt:
  case CompareOp::Le:
    result = ops.Or(ops.Compare(CompareOp::Lt, n, whole, t), with_rest(op));
    return ops.Or(above, ops.And(inside, result));
  case CompareOp::Gt:
  case CompareOp::Ge:
    result = ops.Or(ops.Compare(CompareOp::Gt, n, whole, t), with_rest(op));
    return ops.Or(below, ops.And(inside, result));
  }
  return {};
}

} // namespace

Value Emitter::CompareConstants(const SourceRange &range, CompareOp op, const Value &x,
                                const Value &y) {
  std::optional<int> order;
  if (IsFloat(x.dtype) && IsFloat(y.dtype)) {
    auto type = CommonType(range, x, y);
    if (!type)
      return Value::Invalid();
    double a = x.constant->f, b = y.constant->f;
    if (!x.weak || !y.weak) {
      a = RoundTo(a, *type);
      b = RoundTo(b, *type);
    }
    if (!std::isnan(a) && !std::isnan(b))
      order = a < b ? -1 : a > b;
  } else if (IsFloat(x.dtype)) {
    order = Order(y.constant->i, x.constant->f);
    op = Mirrored(op);
  } else if (IsFloat(y.dtype)) {
    order = Order(x.constant->i, y.constant->f);
  } else {
    order = x.constant->i < y.constant->i ? -1 : x.constant->i > y.constant->i;
  }
  return Value::Truth(order ? Holds(op, *order) : op == CompareOp::Ne, x.derived || y.derived);
}

// A comparison of two numbers, one a tensor perhaps, that has the same answer everywhere.
Value Emitter::Decided(const SourceRange &range, const Value &x, const Value &y, bool answer) {
  // Of a type alone, which is not known where types are found.
  if (!x.IsTensor() && !y.IsTensor())
    return no_emit_ ? Value::Invalid()
                    : Value::Scalar(DType::Bool, Ssa(Value::BoolConstant(answer)));
  auto shape = Broadcast(range, {x, y});
  if (!shape || no_emit_)
    return Value::Invalid();
  Value out = NewTensor(range, DType::Bool, *shape);
  if (!out.IsInvalid())
    Fill(range, out, {.i = answer});
  return out;
}

// n op f for an integer or bool n and a float f.
Value Emitter::CompareMixed(const SourceRange &range, CompareOp op, const Value &n,
                            const Value &f) {
  if (f.IsConstant()) {
    // As a comparison of integers.
    double c = f.constant->f;
    if (std::isnan(c))
      return Decided(range, n, f, op == CompareOp::Ne);
    if (std::fabs(c) > 1e30)
      return Decided(range, n, f, Holds(op, c > 0 ? -1 : 1));
    auto bound = [](double v) { return Value::WeakInt(static_cast<Int>(v)); };
    switch (op) {
    case CompareOp::Lt:
    case CompareOp::Ge:
      return CompareValues(range, op, n, bound(std::ceil(c)));
    case CompareOp::Le:
    case CompareOp::Gt:
      return CompareValues(range, op, n, bound(std::floor(c)));
    default:
      if (c != std::floor(c))
        return Decided(range, n, f, op == CompareOp::Ne);
      return CompareValues(range, op, n, bound(c));
    }
  }
  auto type = CommonType(range, n, f);
  if (!type)
    return Value::Invalid();
  DType t = *type;
  bool exact = ValueBits(n.dtype) <= ExactBits(t);
  // A literal beside a tensor takes the tensor's type.
  if (n.IsConstant() && !exact)
    exact = (n.weak && f.IsTensor()) || Order(n.constant->i, RoundTo(n.ConstantAsDouble(), t)) == 0;
  if (exact)
    return Elementwise(range, {n, f}, t, DType::Bool, [op, t](ScalarOps &ops, mlir::ValueRange v) {
      return ops.Compare(op, v[0], v[1], t);
    });
  DType wide = n.dtype == DType::UInt64 ? DType::UInt64 : DType::Int64;
  DType ft = Is16BitFloat(f.dtype) ? DType::Float32 : f.dtype;
  return ElementwiseTyped(range, {n, f}, {wide, ft}, DType::Bool,
                          [=](ScalarOps &ops, mlir::ValueRange v) {
                            return CompareExactly(ops, op, v[0], v[1], wide, ft);
                          });
}

Value Emitter::CompareValues(const SourceRange &range, CompareOp op, const Value &x,
                             const Value &y) {
  if (x.IsInvalid() || y.IsInvalid())
    return Value::Invalid();
  if (x.kind == Value::Kind::DType && y.kind == Value::Kind::DType &&
      (op == CompareOp::Eq || op == CompareOp::Ne))
    return Value::BoolConstant((x.dtype == y.dtype) == (op == CompareOp::Eq));
  if (x.kind == Value::Kind::String && y.kind == Value::Kind::String) {
    // asc.__version__ and what it is compared with: by their numbers.
    auto parts = [](const std::string &text) {
      std::vector<long> numbers;
      const char *p = text.c_str();
      while (*p) {
        char *end = nullptr;
        numbers.push_back(std::strtol(p, &end, 10));
        if (end == p)
          return std::vector<long>{};
        p = *end == '.' ? end + 1 : end;
        if (*end && *end != '.')
          return std::vector<long>{};
      }
      return numbers;
    };
    auto a = parts(x.text), b = parts(y.text);
    int order;
    if (!a.empty() && !b.empty()) {
      size_t n = std::max(a.size(), b.size());
      a.resize(n);
      b.resize(n);
      order = a < b ? -1 : a > b;
    } else {
      order = x.text.compare(y.text);
    }
    bool results[] = {order == 0, order != 0, order < 0, order <= 0, order > 0, order >= 0};
    return Value::BoolConstant(results[static_cast<int>(op)]);
  }
  if (x.IsTuple() && y.IsTuple() && (op == CompareOp::Eq || op == CompareOp::Ne)) {
    Value all = Value::BoolConstant(x.items->size() == y.items->size());
    for (size_t i = 0; all.constant && all.constant->i && i < x.items->size(); ++i) {
      Value same = CompareValues(range, CompareOp::Eq, (*x.items)[i], (*y.items)[i]);
      if (same.IsInvalid())
        return same;
      all = Binary(range, BinaryOp::And, all, same);
    }
    return op == CompareOp::Eq ? all : LogicalNot(range, all);
  }
  if ((x.IsNone() || y.IsNone()) && (op == CompareOp::Eq || op == CompareOp::Ne))
    return Value::BoolConstant((x.IsNone() && y.IsNone()) == (op == CompareOp::Eq));
  if (!x.IsNumber() || !y.IsNumber())
    return Error("type-mismatch", range, "cannot compare " + Describe(x) + " with " + Describe(y));
  if (x.IsConstant() && y.IsConstant())
    return CompareConstants(range, op, x, y);
  if (IsFloat(x.dtype) != IsFloat(y.dtype))
    return IsFloat(x.dtype) ? CompareMixed(range, Mirrored(op), y, x)
                            : CompareMixed(range, op, x, y);
  // A literal outside the other's range decides the comparison; NumPy 2 says the same.
  if (x.weak != y.weak && IsInteger(x.dtype) && IsInteger(y.dtype)) {
    const Value &weak = x.weak ? x : y, &strong = x.weak ? y : x;
    if (weak.constant && weak.constant->i > MaxInt(strong.dtype))
      return Decided(range, x, y, Holds(op, x.weak ? 1 : -1));
    if (weak.constant && weak.constant->i < MinInt(strong.dtype))
      return Decided(range, x, y, Holds(op, x.weak ? -1 : 1));
  }
  auto type = CommonType(range, x, y);
  if (!type)
    return Value::Invalid();
  DType t = *type;
  if (x.IsScalar() && y.IsScalar() && t == DType::Int64) {
    AffineExpr a = AffineOf(x), b = AffineOf(y);
    if (a && b) {
      Value v = Value::OfKind(Value::Kind::Scalar);
      v.dtype = DType::Bool;
      auto decide = [&](bool b) {
        v.proved = b;
        return v;
      };
      AffineExpr ge; // the comparison as ge >= 0
      switch (op) {
      case CompareOp::Lt:
        ge = b - a - 1;
        break;
      case CompareOp::Le:
        ge = b - a;
        break;
      case CompareOp::Gt:
        ge = a - b - 1;
        break;
      case CompareOp::Ge:
        ge = a - b;
        break;
      case CompareOp::Eq:
      case CompareOp::Ne: {
        AffineExpr d = mlir::simplifyAffineExpr(a - b, dims_.size(), 0);
        if (op == CompareOp::Eq)
          v.conditions = {{d, true}};
        if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(d))
          return decide((c.getValue() == 0) == (op == CompareOp::Eq));
        if (op == CompareOp::Eq)
          return v;
        Value equal = v;
        equal.conditions = {{d, true}};
        v.conditions = Failures(equal);
        if (v.conditions.empty())
          break;
        return v;
      }
      }
      if (ge) {
        ge = mlir::simplifyAffineExpr(ge, dims_.size(), 0);
        v.conditions = {{ge, false}};
        Interval r = RangeOf(ge);
        if (r.low && *r.low >= 0)
          return decide(true);
        if (r.high && *r.high < 0)
          return decide(false);
        return v;
      }
    }
  }
  return Elementwise(range, {x, y}, t, DType::Bool, [op, t](ScalarOps &ops, mlir::ValueRange v) {
    return ops.Compare(op, v[0], v[1], t);
  });
}

} // namespace pyasc::sema
