// The function around a kernel's body: its arguments, the loop over elements where a kernel of
// scalars is called with arrays, its results, and what is tidied up at its end.
#include "compiler/sema/control.h"
#include "compiler/sema/emitter.h"
#include "compiler/sema/lint.h"
#include "compiler/sema/signature.h"

#include "compiler/ir/asc_dialect.h"
#include "compiler/ir/expand_print.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace pyasc::sema {

using namespace syntax;
namespace affine = mlir::affine;
namespace arith = mlir::arith;
namespace memref = mlir::memref;

namespace {

// What `-> annotation` says of the results: none known, one, or a tuple of them.
struct DeclaredResults {
  bool is_none = false, is_tuple = false;
  bool any_count = false; // `tuple`, `tuple[T, ...]`
  std::vector<const Expr *> each;
};

DeclaredResults ReadResults(const Expr *annotation) {
  DeclaredResults out;
  auto *constant = llvm::dyn_cast<syntax::Constant>(annotation);
  out.is_none = constant && constant->constant_kind == ConstantKind::None;
  auto is_tuple_name = [](const Expr *e) {
    return LastName(e) == "tuple" || LastName(e) == "Tuple";
  };
  auto *sub = llvm::dyn_cast<syntax::Subscript>(annotation);
  if (auto *t = llvm::dyn_cast<syntax::Tuple>(annotation)) {
    out.is_tuple = true;
    out.each.assign(t->elts.begin(), t->elts.end());
  } else if (sub && is_tuple_name(sub->value)) {
    out.is_tuple = true;
    if (auto *t = llvm::dyn_cast<syntax::Tuple>(sub->slice))
      out.each.assign(t->elts.begin(), t->elts.end());
    else
      out.each = {sub->slice};
    auto *last =
        llvm::dyn_cast_or_null<syntax::Constant>(out.each.empty() ? nullptr : out.each.back());
    if (out.each.size() == 2 && last && last->constant_kind == ConstantKind::Ellipsis) {
      out.any_count = true;
      out.each.pop_back();
    }
  } else if (is_tuple_name(annotation)) {
    out.is_tuple = out.any_count = true;
  } else {
    out.each = {annotation};
  }
  return out;
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> Emitter::EmitKernel(const FunctionDef &kernel) {
  kernel_ = &kernel;
  current_file_ = kernel.range.file;
  here_ = kernel.range;
  if (!ReadDecorators(kernel))
    return nullptr;
  checks_ = debug_ || request_.target() != v1::TARGET_ASCEND;
  std::vector<Parameter> parameters;
  if (!BindParameters(kernel, parameters))
    return nullptr;
  mlir::Location loc = Loc(kernel.range);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  llvm::SmallVector<mlir::Type> types;
  for (const Parameter &p : parameters)
    if (p.type)
      types.push_back(p.type);
  b_.setInsertionPointToEnd(module->getBody());
  function_ =
      b_.create<mlir::func::FuncOp>(loc, std::string(kernel.name), b_.getFunctionType(types, {}));
  function_->setAttr(ir::AscDialect::kKernel, b_.getUnitAttr());
  mlir::Block *entry = function_.addEntryBlock();
  b_.setInsertionPointToEnd(entry);

  auto [flow, fresh] = flows_.try_emplace(&kernel);
  if (fresh)
    flow->second = AnalyzeFlow(kernel);
  auto frame_owner = std::make_unique<Frame>();
  Frame &f = *frame_owner;
  f.function = &kernel;
  f.flow = &flow->second;
  f.file = kernel.range.file;
  frames_.push_back(std::move(frame_owner));

  unsigned position = 0;
  bool elementwise = false, arrays = false;
  for (Parameter &p : parameters) {
    if (p.type) {
      mlir::BlockArgument argument = entry->getArgument(position);
      argument.setLoc(Loc(p.arg->range));
      function_.setArgAttr(position, ir::AscDialect::kName,
                           b_.getStringAttr(std::string(p.arg->arg)));
      function_.setArgAttr(position, ir::AscDialect::kDType,
                           b_.getStringAttr(std::string(sema::Name(p.dtype))));
      ++position;
      if (p.value.IsTensor()) {
        p.value = WholeTensor(p.dtype, argument);
      } else if (p.dtype == DType::Bool) {
        p.value = Value::Scalar(DType::Bool, Ops(p.arg->range).FromMemory(argument, DType::Bool));
      } else {
        p.value = Value::Scalar(p.dtype, argument);
        if (IsInteger(p.dtype) && p.dtype != DType::UInt64) {
          // Integer parameters are symbols of index expressions.
          ScalarOps ops = Ops(p.arg->range);
          mlir::Value wide = ops.Cast(argument, p.dtype, DType::Int64);
          mlir::Value index = b_.create<arith::IndexCastOp>(ops.loc, b_.getIndexType(), wide);
          p.value.range = {MinInt(p.dtype), MaxInt(p.dtype)};
          p.value.affine = {NewDim(index, p.dtype == DType::Int64 ? Interval{} : p.value.range)};
        }
      }
      elementwise |= p.elementwise;
      arrays |= p.value.IsTensor() && !p.elementwise;
    }
    f.env[p.arg->arg].value = p.value;
  }
  if (elementwise && arrays) {
    // Arrays beside it mean that the kernel is not a function of single elements.
    for (const Parameter &p : parameters)
      if (p.elementwise)
        Error("type-mismatch", p.arg->annotation->range,
              "parameter '" + std::string(p.arg->arg) +
                  "' is a scalar, and the argument is an array of shape " + ShapeText(p.shape) +
                  "; annotate it asc." + std::string(sema::Name(p.dtype)) +
                  "[...]: only a kernel whose arguments are all annotated as scalars is applied "
                  "to each element");
    frames_.clear();
    return nullptr;
  }
  if (elementwise)
    EmitElementwise(parameters);
  else
    EmitResults(EmitKernelBody(), kernel.range, nullptr, {});
  frames_.clear();
  if (diags_.HasErrors())
    return nullptr;
  for (const Parameter &p : parameters)
    WarnOfLostAssignment(p);
  FinishFunction();
  return module;
}

// `y = x * 2` where `y[:] = x * 2` is meant.
void Emitter::WarnOfLostAssignment(const Parameter &p) {
  LostAssignment lost = FindLostAssignment(*kernel_, p.arg->arg);
  if (!lost.target || !p.type)
    return;
  std::string name(p.arg->arg);
  if (!p.value.IsTensor() || p.elementwise) {
    diags_.Warning("lost-assignment", lost.target->range,
                   "this gives the name '" + name +
                       "' a new value, which nothing uses: a number is not written back to the "
                       "caller; return the value");
    return;
  }
  std::string write = p.shape.empty() ? "[...]" : "[:]";
  diag::DiagnosticBuilder warning =
      diags_.Warning("lost-assignment", lost.target->range,
                     "this gives the name '" + name +
                         "' a new value, which nothing uses, and leaves the caller's array as it "
                         "is; write " +
                         name + write + " = ...");
  if (lost.only)
    warning.FixIt(lost.target->range, name + write);
}

Value Emitter::EmitKernelBody() {
  Frame &f = frame();
  if (!f.flow->returns_only_at_end) {
    f.result_cell = NewCell("<return>", false);
    f.returned = NewFlag(kernel_->range);
  }
  f.region_depth = region_depth_;
  EmitBody(StmtList(kernel_->body.begin(), kernel_->body.end()));
  if (f.flow->returns_only_at_end)
    return f.result.value_or(Value::NoneValue());
  if (f.result_cell->kind == Cell::Kind::Unset)
    return Value::NoneValue();
  bool none = f.result_cell->kind == Cell::Kind::Fixed && f.result_cell->fixed.IsNone();
  if (!none && !AlwaysReturns(kernel_->body))
    return Error("missing-return", kernel_->name_range,
                 "kernel '" + std::string(kernel_->name) +
                     "' returns a value on some paths only; add a return at its end");
  return LoadCell(*f.result_cell, kernel_->range);
}

void Emitter::EmitElementwise(std::vector<Parameter> &parameters) {
  std::vector<Value> operands;
  for (const Parameter &p : parameters)
    if (p.elementwise)
      operands.push_back(p.value);
  auto shape = Broadcast(kernel_->name_range, operands);
  if (!shape)
    return;
  LoopNest(
      kernel_->range, *shape,
      [&](const std::vector<Value> &at) {
        for (const Parameter &p : parameters) {
          if (!p.elementwise)
            continue;
          std::vector<Value> key;
          key.reserve(p.shape.size());
          size_t lead = shape->size() - p.shape.size();
          for (size_t i = 0; i < p.shape.size(); ++i)
            key.push_back(p.shape[i] == 1 ? Value::WeakInt(0) : at[lead + i]);
          frame().env[p.arg->arg].value = Subscript(p.arg->range, p.value, Value::TupleOf(key));
        }
        Value result = EmitKernelBody();
        EmitResults(result, kernel_->range, &*shape, at);
      },
      /*parallel=*/true);
}

void Emitter::EmitResults(const Value &result, const SourceRange &range,
                          const std::vector<int64_t> *shape, const std::vector<Value> &at) {
  if (result.IsInvalid())
    return;
  std::vector<Value> results = {result};
  if (result.IsNone())
    results.clear();
  else if (result.IsTuple())
    results = *result.items;
  std::vector<const Expr *> each(results.size(), nullptr);
  if (kernel_->returns && !BindResults(result, each))
    return;
  for (size_t i = 0; i < results.size(); ++i)
    EmitResult(results[i], result.IsTuple() ? "return." + std::to_string(i) : "return", range,
               each[i], shape, at);
}

// Holds what the kernel returns against what it declares; `each` gets the annotation of each
// result.
bool Emitter::BindResults(const Value &result, std::vector<const Expr *> &each) {
  const Expr *annotation = kernel_->returns;
  DeclaredResults declared = ReadResults(annotation);
  auto fail = [&](const std::string &message) {
    if (result.IsNone())
      Error("missing-return", annotation->range, message);
    else
      ErrorWithNote("result-mismatch", annotation->range, message, ResultRange(kernel_->range),
                    "returned here");
    return false;
  };
  std::string count = std::to_string(each.size());
  if (result.IsNone())
    return declared.is_none || fail("the kernel declares a result here and returns nothing; return "
                                    "it, or drop the annotation");
  if (declared.is_none)
    return fail("the kernel declares that it returns nothing, and returns " + Describe(result) +
                "; drop the annotation, or say what it returns");
  if (result.IsTuple() && !declared.is_tuple)
    return fail("the kernel declares one result here and returns a tuple of " + count +
                "; declare each: -> tuple[asc.float32, asc.int32]");
  if (!result.IsTuple() && declared.is_tuple)
    return fail("the kernel declares a tuple of results here and returns " + Describe(result) +
                "; return a tuple, or declare one type");
  if (!declared.any_count && declared.each.size() != each.size())
    return fail("the kernel declares " + std::to_string(declared.each.size()) +
                (declared.each.size() == 1 ? " result" : " results") + " here and returns " +
                count);
  for (size_t i = 0; i < each.size(); ++i)
    if (!declared.each.empty())
      each[i] = declared.each[declared.any_count ? 0 : i];
  return true;
}

// Of the last value that the kernel returns in its text.
SourceRange Emitter::ResultRange(const SourceRange &otherwise) const {
  SourceRange where = otherwise;
  ForEachStatement(kernel_->body, [&](const Stmt *s) {
    if (auto *r = llvm::dyn_cast<Return>(s); r && r->value)
      where = r->value->range;
  });
  return where;
}

void Emitter::EmitResult(Value result, const std::string &name, const SourceRange &range,
                         const Expr *annotation, const std::vector<int64_t> *shape,
                         const std::vector<Value> &at) {
  if (result.IsInvalid())
    return;
  SourceRange where = ResultRange(range);
  if (!result.IsNumber()) {
    Error("type-mismatch", where,
          "a kernel returns numbers, tensors and tuples of them, not " + Describe(result));
    return;
  }
  DType t = result.dtype;
  const Annotation declared = ReadAnnotation(annotation);
  const std::optional<DType> want = declared.dtype;
  if (annotation && (declared.python_scalar ? declared.has_dims : !want && !declared.any_tensor)) {
    RefuseAnnotation(
        annotation, "the annotation of a result is no type",
        "asc.float32, asc.float32[N, M], asc.tensor, int, float, bool, or tuple[...] of "
        "them",
        {"tensor"});
    return;
  }
  if (annotation && (declared.has_dims || declared.any_tensor) && result.IsScalar() && !shape) {
    ErrorWithNote("result-mismatch", annotation->range,
                  "the kernel declares a tensor here and returns " + Describe(result) +
                      "; annotate it asc." + std::string(sema::Name(want.value_or(t))),
                  where, "returned here");
    return;
  }
  if (want) {
    if (!CheckDType(annotation->range, *want))
      return;
    auto cast = CastForStore(where, result, *want, "the result");
    if (!cast)
      return;
    result = *cast;
    t = *want;
  }
  if (result.IsTensor() && shape) {
    Error("type-mismatch", where,
          "a kernel of scalars that is applied to arrays must return scalars, not " +
              Describe(result));
    return;
  }
  mlir::Location loc = Loc(range);
  std::vector<int64_t> result_shape = shape               ? *shape
                                      : result.IsTensor() ? result.tensor.Shape()
                                                          : std::vector<int64_t>{};
  if (declared.has_dims && !declared.any_rank && result.IsTensor()) {
    const std::vector<const Expr *> &dims = declared.dims;
    bool fits = dims.size() == result_shape.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) {
      if (llvm::isa<syntax::Slice>(dims[i]))
        continue;
      auto d = EvalDim(dims[i]);
      fits = d && (!d->unknown.empty() || d->constant == result_shape[i]);
    }
    if (!fits) {
      Error("shape-mismatch", where,
            "the result has shape " + ShapeText(result_shape) +
                ", which is not the one that the kernel declares");
      return;
    }
  }
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      b_.getNamedAttr(ir::AscDialect::kName, b_.getStringAttr(name)),
      b_.getNamedAttr(ir::AscDialect::kDType, b_.getStringAttr(std::string(sema::Name(t)))),
      b_.getNamedAttr(ir::AscDialect::kResult, b_.getUnitAttr())};
  if (!result.IsTensor() && !shape)
    attributes.push_back(b_.getNamedAttr(ir::AscDialect::kScalarResult, b_.getUnitAttr()));
  unsigned index = function_.getNumArguments();
  function_.insertArgument(index, mlir::MemRefType::get(result_shape, MemoryType(&context_, t)),
                           b_.getDictionaryAttr(attributes), loc);
  mlir::Value memory = function_.getArgument(index);
  Value target = WholeTensor(t, memory);
  if (!result.IsTensor()) {
    Value place = shape ? View(range, target, Value::TupleOf(at)) : target;
    StoreElement(range, place, result);
    return;
  }
  // A temporary that is all of the result becomes the result's memory.
  auto alloc = result.tensor.root.getDefiningOp<memref::AllocOp>();
  const bool whole = alloc && result.dtype == t && !result.tensor.wide && IsWhole(result.tensor) &&
                     alloc->getBlock() == &function_.front() &&
                     !alloc->hasAttr(ir::AscDialect::kShared) &&
                     !returned_.count(result.tensor.root.getAsOpaquePointer());
  if (whole) {
    // Replaced once everything is emitted: other results may be views of it.
    returned_[result.tensor.root.getAsOpaquePointer()] = {alloc, memory};
    return;
  }
  CopyInto(range, target, result);
}

void Emitter::FinishFunction() {
  CheckDetachedParts();
  for (auto &[key, entry] : returned_) {
    entry.first.replaceAllUsesWith(entry.second);
    entry.first->erase();
  }
  b_.setInsertionPointToEnd(&function_.front());
  b_.create<mlir::func::ReturnOp>(Loc(kernel_->range));
  EraseUnreadCells();
  auto add_buffer = [&](int64_t words, llvm::StringRef attribute) {
    function_.insertArgument(
        function_.getNumArguments(), mlir::MemRefType::get({words}, b_.getI64Type()),
        b_.getDictionaryAttr(b_.getNamedAttr(attribute, b_.getUnitAttr())), Loc(kernel_->range));
  };
  if (!prints_.empty())
    add_buffer(ir::kPrintLogWords, ir::AscDialect::kPrintLog);
  if (errors_.empty())
    return;
  function_->setAttr(ir::AscDialect::kErrors, b_.getArrayAttr(errors_));
  add_buffer(4, ir::AscDialect::kErrorBuffer);
}

// Flags that no guard looks at and variables that nothing reads, with what computed them.
void Emitter::EraseUnreadCells() {
  mlir::IRRewriter rewriter(&context_);
  for (bool changed = true; changed;) {
    changed = false;
    (void)mlir::runRegionDCE(rewriter, function_->getRegions());
    for (auto cell : llvm::make_early_inc_range(function_.front().getOps<memref::AllocaOp>())) {
      bool read = false;
      for (mlir::Operation *user : cell->getUsers())
        read |= !mlir::isa<affine::AffineStoreOp>(user);
      if (read)
        continue;
      for (mlir::Operation *user : llvm::make_early_inc_range(cell->getUsers()))
        user->erase();
      cell.erase();
      changed = true;
    }
  }
}

} // namespace pyasc::sema
