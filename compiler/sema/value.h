// What an expression of a kernel evaluates to while the kernel is compiled: a number (known, affine
// in loop variables, or an SSA value), a tensor (a view of a memref), or something that exists at
// compile time only.
#ifndef PYASC_COMPILER_SEMA_VALUE_H
#define PYASC_COMPILER_SEMA_VALUE_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/dtype.h"
#include "compiler/syntax/ast.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pyasc::sema {

using Int = __int128;
struct LibraryEntry;

// Inclusive bounds of an integer; absent: unknown.
struct Interval {
  std::optional<Int> low, high;
};

// A number known at compile time. Which of the fields holds is the dtype's kind.
struct Constant {
  Int i = 0; // bool: 0 or 1
  double f = 0;
};

// An index: `expr` over the emitter's dims when affine, otherwise `value` (of type index).
struct Index {
  mlir::AffineExpr expr;
  mlir::Value value;
  Interval range;
};

// The value of an index that is known at compile time.
std::optional<int64_t> KnownIndex(const Index &index);

// One axis of a view: element k of it is element `offset + k * step` of axis `root` of the memref.
// root < 0: an axis that the memref lacks (None in a subscript, broadcasting); it does not move.
struct TensorDim {
  int64_t size = 0;
  int root = -1;
  Index offset;
  int64_t step = 1;
};

// A new axis of size 1.
inline TensorDim UnitDim() {
  TensorDim d;
  d.size = 1;
  return d;
}

// A view of a memref that has identity layout. Axes of the memref that no dim names are fixed.
struct Tensor {
  mlir::Value root;
  // What holds the bytes: `root`, or what it was reshaped from. Equal storages alias.
  mlir::Value storage;
  std::vector<TensorDim> dims;
  std::vector<std::pair<int, Index>> fixed;
  // A result that nothing else can name yet.
  bool fresh = false;
  // The memory is float32 though the dtype has 16 bits: a shadow that sums accumulate in.
  bool wide = false;

  std::vector<int64_t> Shape() const {
    std::vector<int64_t> shape;
    for (const TensorDim &d : dims)
      shape.push_back(d.size);
    return shape;
  }
  int64_t Count() const {
    int64_t n = 1;
    for (const TensorDim &d : dims)
      n *= d.size;
    return n;
  }
};

// Whether the view is all of its memref, axes in order.
bool IsWhole(const Tensor &t);

// The memref that `memory`, perhaps a view of a view, is part of: an allocation or an argument.
mlir::Value HolderOf(mlir::Value memory);

// Calls `written` with the holder of everything that `op` and the ops inside it write, in order.
void ForEachWrite(mlir::Operation *op, llvm::function_ref<void(mlir::Value holder)> written);

// A condition that holds exactly where `expr >= 0` (or `expr == 0`).
struct AffineCondition {
  mlir::AffineExpr expr;
  bool is_equality = false;
};

enum class ListKind : uint8_t { Single, Min, Max };

struct Value {
  enum class Kind : uint8_t {
    Invalid, // an error was reported; everything made from it is silent
    None,
    Scalar,
    Tensor,
    Tuple, // also lists
    DType,
    String,
    Function, // a helper or kernel of the program
    Library,  // an operation of the asc, math or builtins table
    Module,   // asc, math, numpy, or another file
    Method,   // a bound operation: x.sum
    Ellipsis,
    Slice,
    Range, // what a for loop can run over
  };

  Kind kind = Kind::Invalid;

  // Scalar and Tensor (and DType): the type. Weak numbers take the type of what they meet.
  DType dtype = DType::Float32;
  bool weak = false;
  std::optional<Constant> constant;
  // A constant that came of what is none, as `q - q`: no type may hang on it either (`proved`).
  bool derived = false;
  // Integers: one expression, or the minimum or maximum of several, over the emitter's dims.
  std::vector<mlir::AffineExpr> affine;
  ListKind list = ListKind::Single;
  // Bools: a conjunction of affine conditions that says the same.
  std::vector<AffineCondition> conditions;
  // Bools: what it surely is, by what is known of loop variables and parameters. It is no constant
  // for that: its text does not say it, and no type may hang on what can be proved.
  std::optional<bool> proved;
  // Bools made by `or` and `not`: a conjunction that says the opposite.
  std::vector<AffineCondition> failures;
  mlir::Value ssa; // ValueType(dtype), or index for an int64
  Interval range;

  Tensor tensor;

  std::shared_ptr<std::vector<Value>>
      items; // Tuple; Slice and Range: their three; Method: the self
  bool is_list = false;
  size_t weight = 1; // Tuple: the values in it and in the tuples in it
  std::string text;  // String; Module and Range: which
  const syntax::FunctionDef *function = nullptr;
  const LibraryEntry *library = nullptr;
  std::vector<std::pair<std::string, int64_t>> options; // Range: unroll

  bool IsInvalid() const { return kind == Kind::Invalid; }
  bool IsScalar() const { return kind == Kind::Scalar; }
  bool IsTensor() const { return kind == Kind::Tensor; }
  bool IsTuple() const { return kind == Kind::Tuple; }
  bool IsNone() const { return kind == Kind::None; }
  bool IsNumber() const { return IsScalar() || IsTensor(); }
  bool IsIntegral() const { return IsScalar() && !IsFloat(dtype); }
  bool IsConstant() const { return IsScalar() && constant.has_value(); }
  bool IsConstantInt() const { return IsConstant() && !IsFloat(dtype); }
  double ConstantAsDouble() const {
    return IsFloat(dtype) ? constant->f : static_cast<double>(constant->i);
  }

  static Value Invalid() { return Value(); }
  static Value NoneValue() { return OfKind(Kind::None); }
  static Value OfKind(Kind k) {
    Value v;
    v.kind = k;
    return v;
  }
  static Value Scalar(DType t, mlir::Value ssa) {
    Value v = OfKind(Kind::Scalar);
    v.dtype = t;
    v.ssa = ssa;
    return v;
  }
  static Value IntConstant(Int i, DType t, bool weak) {
    Value v = OfKind(Kind::Scalar);
    v.dtype = t;
    v.weak = weak;
    v.constant = Constant{.i = i};
    v.range = {i, i};
    return v;
  }
  // A literal: typed int32 where it fits, else int64 (or uint64), once a variable holds it.
  static Value WeakInt(Int i) {
    DType t = i >= MinInt(DType::Int32) && i <= MaxInt(DType::Int32) ? DType::Int32
              : i > MaxInt(DType::Int64)                             ? DType::UInt64
                                                                     : DType::Int64;
    return IntConstant(i, t, /*weak=*/true);
  }
  static Value FloatConstant(double f, DType t, bool weak) {
    Value v = OfKind(Kind::Scalar);
    v.dtype = t;
    v.weak = weak;
    v.constant = Constant{.f = f};
    return v;
  }
  static Value WeakFloat(double f) { return FloatConstant(f, DType::Float32, true); }
  static Value BoolConstant(bool b) { return IntConstant(b, DType::Bool, false); }
  // A bool that is surely `b`, and a constant unless it is `derived`.
  static Value Truth(bool b, bool derived) {
    if (!derived)
      return BoolConstant(b);
    Value v = OfKind(Kind::Scalar);
    v.dtype = DType::Bool;
    v.proved = b;
    return v;
  }
  static Value TensorOf(DType t, Tensor tensor) {
    Value v = OfKind(Kind::Tensor);
    v.dtype = t;
    v.tensor = std::move(tensor);
    return v;
  }
  static Value TupleOf(std::vector<Value> items, bool is_list = false) {
    Value v = OfKind(Kind::Tuple);
    v.weight = 0;
    for (const Value &item : items)
      v.weight += item.weight;
    v.items = std::make_shared<std::vector<Value>>(std::move(items));
    v.is_list = is_list;
    return v;
  }
  static Value StringOf(std::string text) {
    Value v = OfKind(Kind::String);
    v.text = std::move(text);
    return v;
  }
  static Value DTypeOf(DType t) {
    Value v = OfKind(Kind::DType);
    v.dtype = t;
    return v;
  }
};

// "a float32 scalar", "a float32 tensor of shape (4, 8)", "a tuple": for messages.
std::string Describe(const Value &value);
std::string ShapeText(const std::vector<int64_t> &shape); // "(4, 8)"

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_VALUE_H
