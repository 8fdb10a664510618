// Names, cells and messages; see emitter.h for the other files.
#include "compiler/sema/emitter.h"
#include "compiler/sema/foreign_names.h"

#include "compiler/ir/asc_dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::sema {

namespace affine = mlir::affine;
namespace memref = mlir::memref;

Emitter::Emitter(mlir::MLIRContext &context, const v1::CompileRequest &request,
                 const ModuleScope &scope, diag::DiagnosticList &diags, TypeMemory &memory,
                 Budget &budget)
    : context_(context), request_(request), scope_(scope), diags_(diags), memory_(memory),
      budget_(budget), b_(&context, &budget) {
  debug_ = request.options().debug();
  mixed_ = request.options().precision() == "mixed";
}

Emitter::~Emitter() = default;

Value Emitter::Error(std::string_view code, const SourceRange &range, const std::string &message) {
  return ErrorWithNote(code, range, message, {}, "");
}

Value Emitter::ErrorWithNote(std::string_view code, const SourceRange &range,
                             const std::string &message, const SourceRange &note_range,
                             const std::string &note) {
  // What was given up half way says nothing of the kernel, but that.
  if (budget_.exhausted()) {
    budget_.Report(diags_, range);
    return Value::Invalid();
  }
  diag::DiagnosticBuilder d = diags_.Error(code, range, message);
  if (!note.empty())
    d.Note(note_range, note);
  NoteCallers(d);
  return Value::Invalid();
}

Value Emitter::ErrorWithFix(std::string_view code, const SourceRange &range,
                            const std::string &message, const SourceRange &fix_range,
                            const std::string &fix) {
  diag::DiagnosticBuilder d = diags_.Error(code, range, message);
  if (!fix.empty())
    d.FixIt(fix_range, fix);
  NoteCallers(d);
  return Value::Invalid();
}

// Inside an inlined helper, says who called it.
void Emitter::NoteCallers(diag::DiagnosticBuilder &diagnostic) {
  for (size_t i = frames_.size(); i-- > 0;)
    if (frames_[i]->call_site.IsKnown())
      diagnostic.Note(frames_[i]->call_site,
                      "in '" + std::string(frames_[i]->function->name) + "', called here");
}

bool Emitter::Spend(const SourceRange &range, int64_t weight) {
  if (budget_.Spend(weight))
    return true;
  budget_.Report(diags_, range);
  return false;
}

Value Emitter::TupleTooLarge(const SourceRange &range, size_t items) {
  return Error("kernel-too-large", range,
               "a tuple or list of " + std::to_string(items) +
                   " values is too large for a kernel, which keeps each in a variable (at most " +
                   std::to_string(kMaxItems) + "); use a tensor");
}

bool Emitter::MayNest(const SourceRange &range) {
  if (region_depth_ <= kMaxRegionDepth)
    return true;
  if (diags_.HasErrors())
    return false; // said once, of all that is in there
  Error("kernel-too-large", range,
        "this is inside of more than " + std::to_string(kMaxRegionDepth) +
            " loops and branches, and each return, break, continue and comparison of a chain "
            "before it counts as one; move part of it to a helper, or test once");
  return false;
}

mlir::Location Emitter::Loc(const SourceRange &range) {
  return mlir::FileLineColLoc::get(&context_, std::to_string(range.file), range.line, range.column);
}

Value Emitter::FoldModuleExpr(uint32_t file, const syntax::Expr *expr) {
  current_file_ = file;
  ++no_emit_;
  Value v = Eval(expr);
  --no_emit_;
  bool constant = v.IsConstant() || v.IsTuple() || v.kind == Value::Kind::String ||
                  v.kind == Value::Kind::DType || v.IsNone() || v.kind == Value::Kind::Function ||
                  v.kind == Value::Kind::Library || v.kind == Value::Kind::Module;
  // A module constant stays weak, whatever arithmetic made it.
  return constant ? v : Value::Invalid();
}

Value Emitter::TryFoldModuleExpr(uint32_t file, const syntax::Expr *expr) {
  diag::DiagnosticList ignored;
  TypeMemory memory;
  Budget budget;
  Emitter folder(context_, request_, scope_, ignored, memory, budget);
  return folder.FoldModuleExpr(file, expr);
}

// ---- Names ----

Value Emitter::LookUpGlobal(uint32_t file, std::string_view name, const SourceRange &range) {
  const ModuleName *found = scope_.Find(file, name);
  if (found && found->kind == ModuleName::Kind::Dim) {
    const std::string &dim = found->value.text;
    if (auto symbol = symbols_.find(dim); symbol != symbols_.end())
      return Value::WeakInt(symbol->second.first);
    return ErrorWithNote("unbound-dim", range,
                         "the size '" + dim +
                             "' has no value here: no parameter of the kernel has it in its "
                             "annotation",
                         found->range, "declared as a symbolic size here");
  }
  if (found && found->kind == ModuleName::Kind::Value) {
    if (found->value.kind == Value::Kind::Module && found->value.is_list) {
      std::string_view imported = found->value.text;
      imported.remove_prefix(imported.rfind('.') + 1);
      if (const ModuleName *other = scope_.FindElsewhere(file, imported))
        return other->value;
      return ErrorWithNote("unknown-name", range,
                           "'" + std::string(name) +
                               "' is imported from a module whose text was not sent; define it in "
                               "this file",
                           found->range, "imported here");
    }
    return found->value;
  }
  // N, C = asc.dims("N C") names axes, whose sizes the arguments bind.
  if (auto symbol = symbols_.find(name); symbol != symbols_.end())
    return Value::WeakInt(symbol->second.first);
  if (found)
    return ErrorWithNote(
        "host-data", range,
        "'" + std::string(name) +
            "' is computed by host code, which is not run; pass it as a parameter or make it a "
            "constant expression",
        found->range, "assigned here");
  if (const LibraryEntry *entry = FindLibraryEntry(name, kBuiltin)) {
    Value v = Value::OfKind(Value::Kind::Library);
    v.library = entry;
    return v;
  }
  if (name == "__name__")
    return Value::StringOf("kernel");
  if (name == "True" || name == "False")
    return Value::BoolConstant(name == "True");
  std::vector<std::string_view> candidates;
  if (!frames_.empty())
    for (const auto &[local, binding] : frame().env)
      candidates.push_back(local);
  if (file < scope_.files.size())
    for (const auto &[global, binding] : scope_.files[file].names)
      candidates.push_back(global);
  for (const auto &[symbol, size] : symbols_)
    candidates.push_back(symbol);
  // A function that is only missing its module is meant more likely than a name that looks alike.
  Suggestion close;
  if (!LibraryAttribute("asc", name).IsInvalid())
    close = {.name = "asc." + std::string(name), .certain = true};
  else
    close = ClosestName(name, candidates);
  std::string hint;
  if (!close.empty())
    hint = "; did you mean '" + close.name + "'?";
  else if (std::string_view advice = ForeignFunction(name); !advice.empty())
    hint = "; " + std::string(advice);
  return ErrorWithFix("unknown-name", range,
                      "the name '" + std::string(name) + "' is not defined" + hint, range,
                      close.Fix());
}

Value Emitter::ReadName(std::string_view name, const SourceRange &range) {
  if (frames_.empty())
    return LookUpGlobal(current_file_, name, range);
  Frame &f = frame();
  auto it = f.env.find(name);
  if (it == f.env.end()) {
    if (f.flow->locals.count(name))
      return Error("unbound-variable", range,
                   "'" + std::string(name) + "' is read before it is assigned");
    return LookUpGlobal(f.file, name, range);
  }
  Binding &b = it->second;
  if (b.maybe_unbound || (!b.value && (!b.home || b.home->kind == Cell::Kind::Unset)))
    return Error("possibly-unbound", range,
                 "'" + std::string(name) +
                     "' may be read before it is assigned; assign it on every path, or before the "
                     "statement");
  if (b.value && b.value->IsTuple() && grown_lists_.count(b.value->items.get()))
    return Value::Invalid();
  if (b.value)
    return *b.value;
  b.last_stores.clear();
  return LoadCell(*b.home, range);
}

void Emitter::AssignName(std::string_view name, const Value &value, const SourceRange &range) {
  Binding &b = frame().env[name];
  b.maybe_unbound = false;
  Value stored = Strong(value);
  stored.tensor.fresh = false;
  if (!b.home || !b.required) {
    b = Binding();
    b.value = stored;
    return;
  }
  if (value.IsInvalid()) {
    b.value = value;
    return;
  }
  for (mlir::Operation *op : b.last_stores)
    op->erase();
  b.last_stores.clear();
  if (!value.IsTensor())
    stored.tensor = {};
  Value fresh = stored;
  fresh.tensor.fresh = value.tensor.fresh;
  Value held = StoreCell(*b.home, fresh, range, name, &b.last_stores);
  if (b.home->wide || b.home->kind == Cell::Kind::Tensor || b.home->kind == Cell::Kind::Tuple)
    b.value.reset();
  else
    b.value = held;
}

Value Emitter::Strong(const Value &x) {
  Value v = x;
  if (!x.IsScalar())
    return v;
  // A variable holds what its type can: a float32 constant is rounded to it.
  if (x.weak && x.IsConstant() && IsFloat(x.dtype))
    return Value::FloatConstant(x.dtype == DType::Float32
                                    ? static_cast<double>(static_cast<float>(x.constant->f))
                                    : x.constant->f,
                                x.dtype, false);
  v.weak = false;
  return v;
}

Names Emitter::BoundNames() {
  Names names;
  for (const auto &[name, binding] : frame().env)
    if (!binding.maybe_unbound)
      names.insert(name);
  return names;
}

void Emitter::SetBound(const Names &names) {
  for (std::string_view name : names)
    if (auto it = frame().env.find(name); it != frame().env.end())
      it->second.maybe_unbound = false;
}

// ---- Cells ----

std::string Emitter::Key(const SourceRange &range, std::string_view name) const {
  return path_ + "@" + std::to_string(range.file) + ":" + std::to_string(range.line) + ":" +
         std::to_string(range.column) + ":" + std::string(name);
}

std::shared_ptr<Cell> Emitter::NewCell(const std::string &key, bool sums) {
  auto cell = std::make_shared<Cell>();
  cell->key = key;
  cell->sums = sums;
  return cell;
}

mlir::Value Emitter::NewCellMemory(mlir::Type type, const SourceRange &range) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&function_.front());
  return b_.create<memref::AllocaOp>(Loc(range), mlir::MemRefType::get({}, type));
}

mlir::Value Emitter::NewFlag(const SourceRange &range) {
  mlir::Value flag = NewCellMemory(b_.getI8Type(), range);
  SetFlag(flag, false, range);
  return flag;
}

void Emitter::SetFlag(mlir::Value flag, bool on, const SourceRange &range) {
  mlir::Location loc = Loc(range);
  mlir::Value v = b_.create<mlir::arith::ConstantOp>(loc, b_.getI8IntegerAttr(on));
  b_.create<affine::AffineStoreOp>(loc, v, flag, mlir::ValueRange{});
}

mlir::Value Emitter::ReadFlag(mlir::Value flag, const SourceRange &range) {
  mlir::Location loc = Loc(range);
  mlir::Value v = b_.create<affine::AffineLoadOp>(loc, flag, mlir::ValueRange{});
  return Ops(range).FromMemory(v, DType::Bool);
}

Value Emitter::LoadCell(const Cell &cell, const SourceRange &range) {
  switch (cell.kind) {
  case Cell::Kind::Unset:
    return Value::Invalid();
  case Cell::Kind::Fixed:
    return cell.fixed;
  case Cell::Kind::Tensor: {
    Value v = WholeTensor(cell.dtype, cell.memref);
    return v;
  }
  case Cell::Kind::Tuple: {
    std::vector<Value> items;
    for (const auto &item : cell.items)
      items.push_back(LoadCell(*item, range));
    return Value::TupleOf(std::move(items), cell.is_list);
  }
  case Cell::Kind::Scalar: {
    ScalarOps ops = Ops(range);
    mlir::Value v = b_.create<affine::AffineLoadOp>(Loc(range), cell.memref, mlir::ValueRange{});
    if (cell.wide)
      v = ops.Cast(v, DType::Float32, cell.dtype);
    else
      v = ops.FromMemory(v, cell.dtype);
    return Value::Scalar(cell.dtype, v);
  }
  }
  return Value::Invalid();
}

namespace {

bool SameFixed(const Value &a, const Value &b) {
  if (a.IsTensor() && b.IsTensor())
    return a.tensor.root == b.tensor.root && IsWhole(a.tensor) && IsWhole(b.tensor);
  return a.kind == b.kind && a.dtype == b.dtype && a.text == b.text && a.function == b.function &&
         a.library == b.library;
}

} // namespace

Value Emitter::StoreCell(Cell &cell, const Value &value, const SourceRange &range,
                         std::string_view name, std::vector<mlir::Operation *> *stores) {
  if (value.IsInvalid())
    return value;
  if (cell.kind == Cell::Kind::Unset) {
    cell.range = range;
    DType type = value.dtype;
    if (auto known = memory_.widened.find(cell.key); known != memory_.widened.end())
      if (auto both = Promote(type, known->second))
        type = *both;
    if (value.IsScalar()) {
      cell.kind = Cell::Kind::Scalar;
      cell.dtype = type;
      cell.wide = cell.sums && Is16BitFloat(type);
      cell.memref = NewCellMemory(MemoryType(&context_, cell.wide ? DType::Float32 : type), range);
    } else if (value.IsTensor()) {
      cell.kind = Cell::Kind::Tensor;
      cell.dtype = type;
      cell.shape = value.tensor.Shape();
      cell.memref = NewTensor(range, type, cell.shape).tensor.root;
    } else if (value.IsTuple()) {
      cell.kind = Cell::Kind::Tuple;
      cell.is_list = value.is_list;
      for (size_t i = 0; i < value.items->size(); ++i)
        cell.items.push_back(NewCell(cell.key + "." + std::to_string(i), cell.sums));
    } else {
      cell.kind = Cell::Kind::Fixed;
      cell.fixed = value;
    }
  }
  // "the result" or "the expression": what is no variable.
  bool unnamed = name.starts_with("the ");
  auto mismatch = [&](const std::string &was) {
    if (unnamed)
      return ErrorWithNote("variable-type", range,
                           std::string(name) + " is " + Describe(value) + " here and " + was +
                               " on another path; give both paths one type and shape",
                           cell.range, "the other path is here");
    return ErrorWithNote("variable-type", range,
                         "'" + std::string(name) + "' is assigned " + Describe(value) +
                             " here and " + was +
                             " on another path; give the two uses different names",
                         cell.range, "the other assignment is here");
  };
  auto rebound = [&] {
    return ErrorWithNote("rebound-alias", range,
                         std::string(name) +
                             " is a tensor that has a name on one path and another one on the "
                             "other: which of the two would be decided at run time; put copies "
                             "there (x.copy() for x)",
                         cell.range, "the other path is here");
  };
  switch (cell.kind) {
  case Cell::Kind::Scalar: {
    if (!value.IsScalar())
      return mismatch("a scalar");
    auto both = Promote(cell.dtype, value.dtype);
    if (!both)
      return mismatch(WithArticle(cell.dtype) + " scalar");
    if (*both != cell.dtype) {
      memory_.widened[cell.key] = *both;
      memory_.changed = true;
    }
    Value held = Cast(range, Strong(value), cell.dtype);
    ScalarOps ops = Ops(range);
    mlir::Value v = cell.wide ? SsaAs(value, DType::Float32)
                              : ops.ToMemory(SsaAs(value, cell.dtype), cell.dtype);
    auto store = b_.create<affine::AffineStoreOp>(Loc(range), v, cell.memref, mlir::ValueRange{});
    if (stores)
      stores->push_back(store);
    return held;
  }
  case Cell::Kind::Tensor: {
    if (!value.IsTensor() || value.tensor.Shape() != cell.shape)
      return mismatch("a tensor of shape " + ShapeText(cell.shape));
    auto both = Promote(cell.dtype, value.dtype);
    if (!both)
      return mismatch(WithArticle(cell.dtype) + " tensor");
    if (*both != cell.dtype) {
      memory_.widened[cell.key] = *both;
      memory_.changed = true;
      return WholeTensor(cell.dtype, cell.memref);
    }
    if (!value.tensor.fresh && value.tensor.root != cell.memref && unnamed)
      return rebound();
    if (!value.tensor.fresh && value.tensor.root != cell.memref)
      return ErrorWithNote(
          "rebound-alias", range,
          "'" + std::string(name) +
              "' names another tensor here, and is assigned in a loop or branch: which of the two "
              "it is would be decided at run time; copy it (" +
              std::string(name) + " = x.copy())",
          cell.range, "also assigned here");
    Value whole = WholeTensor(cell.dtype, cell.memref);
    if (value.tensor.root != cell.memref)
      CopyInto(range, whole, value);
    return whole;
  }
  case Cell::Kind::Tuple: {
    if (!value.IsTuple() || value.items->size() != cell.items.size())
      return mismatch("a tuple of " + std::to_string(cell.items.size()));
    for (size_t i = 0; i < cell.items.size(); ++i) {
      Value item = Strong((*value.items)[i]);
      StoreCell(*cell.items[i], item, range, name, nullptr);
    }
    return value;
  }
  case Cell::Kind::Fixed:
    if (!SameFixed(cell.fixed, value) && cell.fixed.IsTensor() && value.IsTensor())
      return rebound();
    if (!SameFixed(cell.fixed, value))
      return mismatch(Describe(cell.fixed));
    return value;
  case Cell::Kind::Unset:
    break;
  }
  return Value::Invalid();
}

// ---- Run-time checks ----

void Emitter::Check(std::string_view name, const SourceRange &range, mlir::Value ok,
                    mlir::Value value, mlir::Value bound, const std::string &message) {
  if (!checks_)
    return;
  auto code = static_cast<int64_t>(errors_.size() + 1);
  errors_.push_back(b_.getDictionaryAttr({b_.getNamedAttr("code", b_.getI64IntegerAttr(code)),
                                          b_.getNamedAttr("name", b_.getStringAttr(name)),
                                          b_.getNamedAttr("message", b_.getStringAttr(message))}));
  mlir::Location loc = Loc(range);
  auto index = [&](mlir::Value v) -> mlir::Value {
    if (!v)
      return b_.create<mlir::arith::ConstantIndexOp>(loc, 0);
    if (v.getType().isIndex())
      return v;
    return b_.create<mlir::arith::IndexCastOp>(loc, b_.getIndexType(), v);
  };
  b_.create<ir::CheckOp>(loc, ok, index(value), index(bound), b_.getI64IntegerAttr(code));
}

bool Emitter::CheckDType(const SourceRange &range, DType t) {
  if (t != DType::Float64 || TargetHasFloat64())
    return true;
  Error("float64-unsupported", range,
        "the AI Core has no float64; use float32, or compile for the host target");
  return false;
}

} // namespace pyasc::sema
