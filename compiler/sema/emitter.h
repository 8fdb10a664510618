// Turns one kernel's syntax tree into kernel form, finding types as it goes.
//
// The tree is walked once an attempt. Variables whose value must survive a loop or a branch live in
// cells; a cell's type is learnt from the assignments that reach it, and when one of them needs a
// wider type than the attempt assumed, the attempt is repeated with the wider one (TypeMemory).
// Types only widen, so this ends. Helper functions are inlined at every call.
//
// The methods stand in files by subject: emitter.cc (names, cells), affine.cc (index expressions
// and proofs), statements.cc, loops.cc, expressions.cc, operators.cc, indexing.cc, calls.cc,
// tensors.cc (linalg.generic), reshape.cc, signature.cc (parameters), kernel_function.cc (the
// function around the body, results), races.cc.
#ifndef PYASC_COMPILER_SEMA_EMITTER_H
#define PYASC_COMPILER_SEMA_EMITTER_H

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/sema/budget.h"
#include "compiler/sema/flow.h"
#include "compiler/sema/library.h"
#include "compiler/sema/module_scope.h"
#include "compiler/sema/scalar_ops.h"
#include "compiler/sema/value.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace pyasc::sema {

using diag::SourceRange;
using StmtList = std::vector<const syntax::Stmt *>;

// What earlier attempts learnt of the types of cells.
struct TypeMemory {
  std::map<std::string, DType> widened;
  // Loops whose last iteration is emitted apart, so that a slice that the end of an axis cuts has a
  // static length in both parts.
  std::set<std::string> peeled;
  bool changed = false;
};

// Where a variable lives across control flow. Made empty; the first store decides what it is.
struct Cell {
  enum class Kind : uint8_t { Unset, Scalar, Tensor, Tuple, Fixed };
  std::string key; // in TypeMemory
  Kind kind = Kind::Unset;
  DType dtype = DType::Float32;
  bool sums = false; // a loop adds to it: 16-bit types are kept as float32
  bool wide = false; // kept as float32 though the dtype has 16 bits
  mlir::Value memref;
  std::vector<int64_t> shape;
  std::vector<std::shared_ptr<Cell>> items; // Tuple
  bool is_list = false;
  Value fixed;       // Fixed: the compile-time value that every assignment gives
  SourceRange range; // of the first assignment
};

struct Binding {
  std::optional<Value> value; // what the name holds here, when it is known as a value
  std::shared_ptr<Cell> home;
  bool required = false; // a statement around needs assignments to reach `home`
  bool maybe_unbound = false;
  std::vector<mlir::Operation *> last_stores; // to `home`; dead when the next comes first
};
// Keys point into the syntax tree.
using Environment = std::map<std::string_view, Binding>;

// A function that is being emitted: the kernel or an inlined helper.
struct Frame {
  const syntax::FunctionDef *function = nullptr;
  const FunctionFlow *flow = nullptr;
  uint32_t file = 0;
  Environment env;
  SourceRange call_site;
  mlir::Value returned;        // flag cell; null when no return leaves a loop early
  std::optional<Value> result; // of a single return at the end
  std::shared_ptr<Cell> result_cell;
  int region_depth = 0; // where the body begins
};

struct LoopContext {
  mlir::Value broken, skipping; // flag cells, or null
  bool parallel = false;
  bool stopped = false; // an unrolled loop met a break on every path
  int region_depth = 0; // of the body
  size_t frame = 0;     // index of the frame that the loop is in
  const syntax::Stmt *statement = nullptr;
  std::optional<Names> bound_at_exit; // names that are bound at every break and continue
};

enum class FlowEnd : uint8_t { Falls, Jumps };

class Emitter {
public:
  Emitter(mlir::MLIRContext &context, const v1::CompileRequest &request, const ModuleScope &scope,
          diag::DiagnosticList &diags, TypeMemory &memory, Budget &budget);
  ~Emitter();

  // Emits `kernel` into a new module; null when an error was reported.
  mlir::OwningOpRef<mlir::ModuleOp> EmitKernel(const syntax::FunctionDef &kernel);
  // Evaluates an expression that must be a compile-time value, without a function around it.
  Value FoldModuleExpr(uint32_t file, const syntax::Expr *expr);
  // The same without a word of what is wrong.
  Value TryFoldModuleExpr(uint32_t file, const syntax::Expr *expr);

  // ---- Messages; every one returns the invalid value ----
  Value Error(std::string_view code, const SourceRange &range, const std::string &message);
  Value ErrorWithNote(std::string_view code, const SourceRange &range, const std::string &message,
                      const SourceRange &note_range, const std::string &note);
  // `fix` replaces the text of `fix_range`; "" when there is no safe one.
  Value ErrorWithFix(std::string_view code, const SourceRange &range, const std::string &message,
                     const SourceRange &fix_range, const std::string &fix);
  void Warn(std::string_view code, const SourceRange &range, const std::string &message) {
    diags_.Warning(code, range, message);
  }
  // Counts work at `range`; false, and reported, when the kernel is too large.
  bool Spend(const SourceRange &range, int64_t weight = 1);
  Value TupleTooLarge(const SourceRange &range, size_t items);
  // Reports control that is nested too deep.
  bool MayNest(const SourceRange &range);
  mlir::Location Loc(const SourceRange &range);
  mlir::Location Here() { return Loc(here_); }
  ScalarOps Ops(const SourceRange &range) { return ScalarOps(b_, Loc(range)); }

  // ---- Expressions ----
  Value Eval(const syntax::Expr *expr);
  // In an index position: integers are computed in 64 bits.
  Value EvalIndex(const syntax::Expr *expr);
  Value EvalSubscript(const syntax::Subscript *s);
  Value Attribute(const Value &object, const syntax::Attribute *a);
  Value ReadName(std::string_view name, const SourceRange &range);

  // ---- Operators (operators.cc) ----
  Value Binary(const SourceRange &range, BinaryOp op, Value x, Value y);
  Value CompareValues(const SourceRange &range, CompareOp op, const Value &x, const Value &y);
  Value Unary(const SourceRange &range, syntax::UnaryOperator op, const Value &x);
  Value LogicalNot(const SourceRange &range, const Value &x);
  // A conjunction that holds exactly where `truth` does not; empty: none is known.
  std::vector<AffineCondition> Failures(const Value &truth);
  // The truth of `x` as a bool scalar.
  Value Truth(const SourceRange &range, const Value &x);
  Value Select(const SourceRange &range, const Value &condition, const Value &x, const Value &y);
  // The common type of two numbers; reports when there is none.
  std::optional<DType> CommonType(const SourceRange &range, const Value &x, const Value &y);
  // `x` as type `t`, by explicit cast (tensors: a new tensor).
  Value Cast(const SourceRange &range, const Value &x, DType t);
  // An integer scalar of an index, which is computed in 64 bits.
  Value InIndex(const SourceRange &range, const Value &x);
  // `x` as what a store into type `t` takes; reports a cast that Python would not do silently.
  std::optional<Value> CastForStore(const SourceRange &range, const Value &x, DType t,
                                    std::string_view into);
  // A number's strong form: what a variable that is assigned it holds.
  Value Strong(const Value &x);

  // ---- Scalars to SSA ----
  mlir::Value Ssa(const Value &scalar);            // of ValueType(dtype)
  mlir::Value SsaAs(const Value &scalar, DType t); // converted

  // ---- Indices and proofs (affine.cc) ----
  mlir::AffineExpr NewDim(mlir::Value v, Interval range);
  mlir::AffineExpr ConstantExpr(Int i);
  mlir::AffineExpr AffineOf(const Value &v); // null when not one affine expression
  Value FromAffine(mlir::AffineExpr e);
  Value FromAffineList(std::vector<mlir::AffineExpr> exprs, ListKind kind);
  Interval RangeOf(mlir::AffineExpr e);
  // Whether MLIR 19 is wrong about a mod in `e`: for the least value of x mod c it takes that of
  // the least x, though a greater x may be a multiple of c (getBoundForAffineExpr). By it the
  // bounds of loops are folded, and what a mod is divided by.
  bool HasMisjudgedMod(mlir::AffineExpr e);
  Index ToIndex(const Value &v);
  Value FromIndex(const Index &index);
  mlir::Value IndexSsa(const Index &index, mlir::Location loc);
  mlir::Value IndexSsa(const Value &v, mlir::Location loc);
  struct Packed {
    mlir::AffineMap map;
    llvm::SmallVector<mlir::Value> operands;
  };
  Packed Pack(llvm::ArrayRef<mlir::AffineExpr> exprs);
  bool Prove(mlir::AffineExpr nonnegative);
  // Whether some iteration surely reaches `expr >= 0`; its value there.
  std::optional<int64_t> Reaches(mlir::AffineExpr expr, mlir::AffineExpr shown);
  mlir::Value MaterializeConditions(const std::vector<AffineCondition> &conditions,
                                    mlir::Location loc);
  Index AddIndex(const Index &a, const Index &b);
  Index ScaleIndex(const Index &a, int64_t factor);

  // ---- Indexing ----
  Value Subscript(const SourceRange &range, const Value &base, const Value &key);
  void StoreSubscript(const SourceRange &range, const Value &base, const Value &key,
                      const Value &value, const SourceRange &value_range);
  // Reports writes whose effect on another name of the memory cannot be kept.
  bool MayWrite(const SourceRange &range, const Value &base);
  Value LoadElement(const SourceRange &range, const Value &tensor);
  void StoreElement(const SourceRange &range, const Value &tensor, const Value &value);
  // `v` as an index into an axis of `size`: wrapped when negative, checked unless proved inside.
  // Without expr and value after an error.
  Index NormalizeIndex(const SourceRange &range, const Value &v, int axis, int64_t size);
  std::optional<TensorDim> SliceDim(const SourceRange &range, const TensorDim &dim, int axis,
                                    const Value &slice);
  // stop - start where it is a constant whatever they are (run_time_slice.cc).
  std::optional<int64_t> StaticLength(const Value &start, const Value &stop);
  // The first element of a slice of `length` elements, checked at run time to lie inside its axis.
  std::optional<Index> RunTimeStart(const SourceRange &range, const Value &start, int64_t length,
                                    int axis, int64_t size);
  // Asks for another attempt that splits a loop which `exprs` depend on. False: there is none.
  bool SplitLoopOf(const std::vector<mlir::AffineExpr> &exprs);
  std::vector<Index> ElementIndices(const Tensor &view);
  // The view that `key` selects; rank 0 for an element.
  Value View(const SourceRange &range, const Value &base, const Value &key);

  // ---- Tensors (tensors.cc) ----
  Value NewTensor(const SourceRange &range, DType t, const std::vector<int64_t> &shape,
                  bool shared = false);
  static Value WholeTensor(DType t, mlir::Value memref);
  // NumPy's broadcast shape; reports when there is none.
  std::optional<std::vector<int64_t>> Broadcast(const SourceRange &range,
                                                const std::vector<Value> &operands);
  using Body = std::function<mlir::Value(ScalarOps &, mlir::ValueRange)>;
  // One scalar or one linalg.generic: each operand is given to `body` as `operand_type`, which
  // returns a value of `result_type`.
  Value Elementwise(const SourceRange &range, const std::vector<Value> &operands,
                    DType operand_type, DType result_type, const Body &body);
  Value ElementwiseTyped(const SourceRange &range, const std::vector<Value> &operands,
                         const std::vector<DType> &operand_types, DType result_type,
                         const Body &body);
  // Writes `value` (a number, broadcast) into the view `target`.
  void CopyInto(const SourceRange &range, const Value &target, const Value &value);
  void Fill(const SourceRange &range, const Value &tensor, const Constant &c);
  // A fresh tensor with the same elements, contiguous.
  Value Materialize(const SourceRange &range, const Value &tensor);
  // result[kept axes] = combine over the reduced axes of body(operands); see tensors.cc.
  struct GenericOperand {
    Value tensor;
    std::vector<int> axes; // for each of its dims, the iteration axis; -1: fixed at 0 (size 1)
    // A window: the index along dim `dim` is further `step` times that of `axis`. The other
    // operands have to have that axis.
    struct WindowTerm {
      size_t dim;
      int axis;
      int64_t step;
    };
    std::vector<WindowTerm> window = {};
  };
  using GenericBody = std::function<mlir::Value(ScalarOps &, mlir::ValueRange in, mlir::Value out)>;
  // `accumulates`: the body is given what the output held though nothing is reduced.
  void Generic(const SourceRange &range, const std::vector<int64_t> &extents,
               const std::vector<GenericOperand> &inputs, const GenericOperand &output,
               const std::vector<bool> &is_reduction, const GenericBody &body,
               bool accumulates = false);
  Value TransposeView(const Value &tensor, const std::vector<int> &order);
  // `as_named`: the kernel may write through what it gets, which is a view as NumPy has it, or an
  // error when all is emitted; else it is read at once, and may be a copy. Axes may be -1.
  std::optional<Value> Reshape(const SourceRange &range, const Value &tensor,
                               const std::vector<int64_t> &asked, bool as_named = false);
  Value ExpandView(const Value &tensor, int axis);
  Value BroadcastView(const Value &tensor, const std::vector<int64_t> &shape);
  // An ordinary loop nest over `extents`; `body` gets the indices.
  void LoopNest(const SourceRange &range, const std::vector<int64_t> &extents,
                const std::function<void(const std::vector<Value> &)> &body, bool parallel = false);

  // ---- Calls ----
  Value CallValue(const SourceRange &range, const Value &callee, std::vector<Value> args,
                  std::vector<SourceRange> where,
                  std::vector<std::pair<std::string, Value>> keywords,
                  std::vector<SourceRange> keyword_where);
  Value DefaultOf(const syntax::FunctionDef &f, const syntax::Expr *expr);
  Value Inline(const SourceRange &range, const syntax::FunctionDef &f, std::vector<Value> args,
               std::vector<SourceRange> where, std::vector<std::pair<std::string, Value>> keywords,
               std::vector<SourceRange> keyword_where);

  // ---- Compile-time arguments of library functions ----
  std::optional<int64_t> ConstantInt(const SourceRange &range, const Value &v,
                                     std::string_view what);
  std::optional<bool> ConstantBool(const SourceRange &range, const Value &v, std::string_view what);
  // -1 stands for "whatever it is".
  std::optional<std::vector<int64_t>> ShapeArgument(const SourceRange &range, const Value &v);
  // Of a tensor that is made: no -1.
  std::optional<std::vector<int64_t>> NewShapeArgument(const SourceRange &range, const Value &v);
  std::optional<DType> DTypeArgument(const SourceRange &range, const Value &v);
  // A normalised axis of `rank`; reports one that does not exist.
  std::optional<int> AxisArgument(const SourceRange &range, const Value &v, int rank);
  // As a tensor; reports anything else.
  bool ExpectTensor(const SourceRange &range, const Value &v, std::string_view what);
  bool ExpectNumber(const SourceRange &range, const Value &v, std::string_view what);

  // ---- Run-time checks ----
  // Reports `message` at run time when `ok` (i1) is false; {value} and {bound} are filled in.
  // `name` is the diagnostic's code, the same as when the compiler proves it.
  void Check(std::string_view name, const SourceRange &range, mlir::Value ok, mlir::Value value,
             mlir::Value bound, const std::string &message);
  // Prints a text with a field for each value at run time; `code`: see asc.print.
  void Print(const SourceRange &range, const std::string &format, const std::vector<Value> &values,
             int64_t code);
  // A string that is not too long.
  Value CheckedText(const SourceRange &range, std::string text);
  // Appends `v` as print() shows it; what is known at run time only becomes a field and a value.
  // With `values` the text is a format (braces doubled), without it plain. False: reported.
  bool AppendShown(const SourceRange &range, const Value &v, const std::string &spec,
                   std::string &text, std::vector<Value> *values);
  // Reports, at run time, that `condition` (a bool) does not hold, with the message that `message`
  // (may be empty) makes as EvalString does.
  void Assertion(const SourceRange &range, const Value &condition,
                 const std::function<Value(std::vector<Value> *)> &message);
  // Says once that prints are left out.
  void WarnOfPrint(const SourceRange &range);
  // A rank-0 cell, in the function's entry block.
  mlir::Value NewCellMemory(mlir::Type type, const SourceRange &range);
  bool InParallelLoop() const { return !parallel_bodies_.empty(); }
  // Reports a write that two iterations of a parallel loop make to one element (races.cc).
  // `reduction`: how it combines the element with something, as ReductionKind says, empty for a
  // plain write; iterations may share an element by one kind of them, and then not read it.
  // `shared`: the kernel says that iterations share the place, as atomic functions do.
  void RecordWrite(const SourceRange &range, const Value &view, std::string_view reduction,
                   bool shared = false);
  // Notes that elements are read, other than by the update of them.
  void RecordRead(const SourceRange &range, const Value &view);
  bool ChecksEnabled() const { return checks_; }
  bool debug() const { return debug_; }
  bool mixed() const { return mixed_; }
  bool widening() const { return widen_products_; }
  bool TargetHasFloat64() const { return request_.target() == v1::TARGET_HOST; }
  bool CheckDType(const SourceRange &range, DType t); // reports float64 where there is none

  mlir::OpBuilder &builder() { return b_; }
  mlir::MLIRContext &context() { return context_; }
  const v1::CompileRequest &request() const { return request_; }

private:
  friend class ControlScope;

  // ---- Names and cells (emitter.cc) ----
  Frame &frame() { return *frames_.back(); }
  Value LookUpGlobal(uint32_t file, std::string_view name, const SourceRange &range);
  void AssignName(std::string_view name, const Value &value, const SourceRange &range);
  void AssignTarget(const syntax::Expr *target, const Value &value, const SourceRange &value_range);
  Value LoadCell(const Cell &cell, const SourceRange &range);
  // Stores, and returns what the cell then holds. Appends the stores made.
  Value StoreCell(Cell &cell, const Value &value, const SourceRange &range, std::string_view name,
                  std::vector<mlir::Operation *> *stores);
  std::shared_ptr<Cell> NewCell(const std::string &key, bool sums);
  mlir::Value NewFlag(const SourceRange &range);
  void SetFlag(mlir::Value flag, bool on, const SourceRange &range);
  mlir::Value ReadFlag(mlir::Value flag, const SourceRange &range);
  std::string Key(const SourceRange &range, std::string_view name) const;
  Names BoundNames();
  // These are bound from here on, as control shows: BoundWhen().
  void SetBound(const Names &names);

  // ---- Statements ----
  FlowEnd EmitBody(const StmtList &stmts);
  FlowEnd EmitStmt(const syntax::Stmt *s);
  // `rest` follows the statement. `decided`: nothing was emitted yet, and these statements stand in
  // its place and that of the rest.
  FlowEnd EmitIf(const syntax::If *s, const StmtList &rest, bool &rest_consumed,
                 std::optional<StmtList> &decided);
  void EmitGuarded(const std::vector<mlir::Value> &flags, const StmtList &rest,
                   const SourceRange &range);
  std::vector<mlir::Value> FlagsOf(const syntax::Stmt *s);
  void EmitAugAssign(const syntax::AugAssign *s);
  // `x[i] = max(x[i], ...)` and its kin.
  // The type that a variable's annotation says; nullopt: reported.
  std::optional<DType> LocalAnnotation(const syntax::Expr *annotation);
  std::string_view ExtremumUpdate(const syntax::Assign *s); // "max", "min" or ""
  void EmitReturn(const syntax::Return *s);
  void EmitAssert(const syntax::Assert *s);
  FlowEnd EmitJump(const syntax::Stmt *s);
  Value EvalTest(const syntax::Expr *test);

  // ---- Loops (loops.cc) ----
  FlowEnd EmitFor(const syntax::For *s);
  FlowEnd EmitWhile(const syntax::While *s);
  FlowEnd EmitUnrolled(const syntax::For *s, const std::vector<Value> &items);
  std::optional<std::vector<Value>> StaticItems(const Value &iterable, const SourceRange &range,
                                                bool report);
  void EmitCountedLoop(const syntax::For *s, const Value &range, size_t axis,
                       std::vector<Value> &indices, const Value *iterate);
  void EmitLoopBody(const syntax::For *s, const Value &item);
  FlowEnd EmitElse(const syntax::Stmt *s, syntax::Stmts orelse, mlir::Value broken);
  // Replaces 16-bit tensors that the loop adds into by float32 shadows; undone by the returned
  // function.
  std::function<void()> ShadowSums(const syntax::For *s);
  void CheckParallelVariables(const syntax::For *s, const StatementFlow &flow);

  // ---- Expressions ----
  Value EvalKind(const syntax::Expr *expr);
  Value EvalBoolOp(const syntax::BoolOp *e);
  Value EvalCompare(const syntax::Compare *e);
  Value CompareFrom(const syntax::Compare *e, size_t i, const Value &left);
  Value CompareOnce(const syntax::Compare *e, size_t i, const Value &left, const Value &right);
  Value EvalIfExp(const syntax::IfExp *e);
  Value EvalCall(const syntax::Call *e);
  Value EvalListComp(const syntax::ListComp *e);
  Value EvalConstant(const syntax::Constant *e);
  Value EvalString(const syntax::Expr *e, std::vector<Value> *values);
  // Evaluates for the sake of errors alone: no code comes out.
  void EvaluateInVain(const std::function<void()> &evaluate);
  // `then` or `otherwise`; `binds`: the variables that they assign.
  Value Conditional(const SourceRange &range, mlir::Value condition, const Names &binds,
                    const std::function<Value()> &then, const std::function<Value()> &otherwise);
  bool HasSideEffects(const syntax::Expr *e);
  static bool ReadsMemory(const syntax::Expr *e);
  // Whether it reads a name that only some paths bind: it may stand under its condition only.
  bool ReadsUnbound(const syntax::Expr *e);
  // What `emit` makes; nothing, and nothing emitted, when it takes run-time checks.
  std::optional<Value> WithoutChecks(const std::function<Value()> &emit);
  void EndTrial(bool succeeded);

  // ---- Operators ----
  Value FoldBinary(const SourceRange &range, BinaryOp op, const Value &x, const Value &y, DType t,
                   bool weak);
  Value CompareConstants(const SourceRange &range, CompareOp op, const Value &x, const Value &y);
  Value CompareMixed(const SourceRange &range, CompareOp op, const Value &n, const Value &f);
  Value Decided(const SourceRange &range, const Value &x, const Value &y, bool answer);
  Value AffineBinary(BinaryOp op, const Value &x, const Value &y);
  Interval BinaryRange(BinaryOp op, const Interval &x, const Interval &y, DType t);

  // ---- Tensors ----
  struct MemrefOperand {
    mlir::Value memref;
    std::vector<int> axes;                          // of the iteration space, one a dim of `memref`
    std::vector<GenericOperand::WindowTerm> window; // dims of `memref`
  };
  MemrefOperand OperandOf(const SourceRange &range, const GenericOperand &operand,
                          const std::vector<int64_t> &extents);
  bool NeedsCopyForGeneric(const Value &tensor);
  mlir::OpBuilder::InsertPoint AllocationPoint();

  // ---- Signature (signature.cc) ----
  struct Parameter {
    const syntax::Arg *arg = nullptr;
    const syntax::Expr *default_value = nullptr;
    Value value;     // as the body sees it
    mlir::Type type; // null: folded away
    DType dtype = DType::Float32;
    bool elementwise = false; // a scalar annotation that was given a tensor
    std::vector<int64_t> shape;
  };
  bool BindParameters(const syntax::FunctionDef &kernel, std::vector<Parameter> &out);
  void RefuseAnnotation(const syntax::Expr *annotation, const std::string &message,
                        std::string_view types, std::vector<std::string_view> others);
  bool BindParameter(Parameter &p, const v1::Argument *given);
  bool BindShapes(const std::vector<Parameter> &parameters);
  std::string_view SymbolOf(std::string_view name) const;
  // The value of the assignment that is being emitted, when a cast around it is all that a store of
  // it would need.
  SourceRange castable_;
  // Lists that were to grow, which was refused: what they hold is anyone's guess.
  std::set<const void *> grown_lists_;
  const syntax::Expr *unused_call_ = nullptr; // a call whose value nobody needs
  std::string_view reduces_; // how the assignment that is emitted combines its target, if so
  std::vector<SourceRange> own_reads_; // where that reads its target
  std::optional<std::vector<int64_t>> CompleteShape(const SourceRange &range, const Value &tensor,
                                                    const std::vector<int64_t> &asked);
  std::optional<Value> ReshapePart(const SourceRange &range, const Value &tensor,
                                   const std::vector<int64_t> &shape);
  void DetachPart(const SourceRange &range, const Value &part, const Value &copy);
  void CheckDetachedParts();
  void NoteCallers(diag::DiagnosticBuilder &diagnostic);
  // constant + factor * unknown; factor 0 with an unknown: not linear, or two unknowns.
  struct LinearDim {
    int64_t constant = 0;
    std::string_view unknown;
    int64_t factor = 0;
  };
  std::optional<LinearDim> EvalDim(const syntax::Expr *e);
  bool ReadDecorators(const syntax::FunctionDef &kernel);
  // ---- The function around the body (kernel_function.cc) ----
  Value EmitKernelBody();
  // `shape` and `at`: the kernel is applied to each element, and this is the one at `at`.
  void WarnOfLostAssignment(const Parameter &p);
  bool BindResults(const Value &result, std::vector<const syntax::Expr *> &each);
  SourceRange ResultRange(const SourceRange &otherwise) const;
  void EmitResults(const Value &result, const SourceRange &range, const std::vector<int64_t> *shape,
                   const std::vector<Value> &at);
  void EmitResult(Value result, const std::string &name, const SourceRange &range,
                  const syntax::Expr *annotation, const std::vector<int64_t> *shape,
                  const std::vector<Value> &at);
  void EmitElementwise(std::vector<Parameter> &parameters);
  void FinishFunction();
  void EraseUnreadCells();

  mlir::MLIRContext &context_;
  const v1::CompileRequest &request_;
  const ModuleScope &scope_;
  diag::DiagnosticList &diags_;
  TypeMemory &memory_;
  Budget &budget_;
  mlir::OpBuilder b_;
  mlir::func::FuncOp function_;

  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<LoopContext> loops_;
  std::map<const syntax::FunctionDef *, FunctionFlow> flows_;
  std::string path_; // which instance of inlined calls and unrolled iterations this is
  uint32_t current_file_ = 0;

  struct Dim {
    mlir::Value value;
    Interval range;
    bool is_symbol = false;
  };
  std::vector<Dim> dims_;
  std::vector<AffineCondition> domain_; // what holds here
  int uncertain_ = 0;                   // depth of control that depends on data
  int region_depth_ = 0;
  int wraps_ = 0;   // indices so far that may be negative
  int no_emit_ = 0; // folding a module constant: nothing may be emitted

  // Loops around, outermost first, for the race check.
  struct LoopDim {
    unsigned dim = 0;
    bool parallel = false;
    SourceRange range;
    size_t domain_begin = 0; // where its constraints begin in domain_
    mlir::Block *body = nullptr;
    int64_t step = 1;
    mlir::AffineExpr start; // when constant
    std::string key;        // in TypeMemory::peeled; empty: cannot be split
  };
  std::vector<LoopDim> loop_dims_;
  // An access to memory inside of a parallel loop.
  struct Access {
    mlir::Value root;
    std::vector<mlir::AffineExpr> at; // null: known at run time only
    std::vector<AffineCondition> conditions;
    std::vector<LoopDim> loops;
    size_t dims = 0;
    bool writes = false, certain = true, shared = false;
    std::string_view reduction;
    SourceRange range;
  };
  std::vector<Access> accesses_; // of the outermost parallel loop around
  Access AccessOf(const SourceRange &range, const Value &view) const;
  // Whether two iterations of the parallel loop `k` (of loop_dims_) can be shown to meet in one
  // element, one by `x` and another by `y`.
  bool Meet(const Access &x, const Access &y, size_t k);
  void CheckAgainstOthers(const Access &access, const Value &view);
  bool IsPrivate(const Value &view, const LoopDim &loop) const;
  std::vector<mlir::Block *> parallel_bodies_; // innermost last: where temporaries are private

  bool tail_of_split_ = false; // the loop that is emitted next was split already
  bool index_mode_ = false;
  int trials_ = 0;                        // evaluations around that may be thrown away and repeated
  bool trial_failed_ = false;             // the one around did
  bool widen_products_ = false;           // an accumulation: 16-bit products stay float32
  std::map<std::string, int64_t> prints_; // id, by what makes two prints alike
  bool print_warned_ = false;
  bool in_vain_ = false; // inside of EvaluateInVain for a call
  bool checks_ = true, debug_ = false, mixed_ = false;

  std::map<std::string, std::pair<int64_t, std::string>, std::less<>>
      symbols_; // dim -> value, parameter
  std::vector<mlir::Attribute> errors_;
  std::set<const void *> copied_cells_; // tensors that began as a copy of a named one
  SourceRange here_;                    // what is being emitted
  // Copies that Python has as views: what they are parts of, and where (reshape.cc).
  std::map<const void *, std::pair<mlir::Value, SourceRange>> detached_;
  // Temporaries that are results, and the arguments that take their place.
  std::map<const void *, std::pair<mlir::memref::AllocOp, mlir::Value>> returned_;
  const syntax::FunctionDef *kernel_ = nullptr;
};

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_EMITTER_H
