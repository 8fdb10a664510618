// Statements other than loops.
#include "compiler/sema/control.h"
#include "compiler/sema/emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/ScopeExit.h"

namespace pyasc::sema {

using namespace syntax;
namespace affine = mlir::affine;
namespace scf = mlir::scf;

namespace {

StmtList ToList(Stmts stmts) { return StmtList(stmts.begin(), stmts.end()); }

void Append(StmtList &list, const StmtList &more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Whether evaluating `value` may change which element `target` names.
bool MayMove(const Expr *target, const Expr *value) {
  bool calls = false, binds = false, reads_memory = false;
  ForEachExpr(value, [&](const Expr *e) {
    calls |= llvm::isa<Call>(e);
    binds |= llvm::isa<NamedExpr>(e);
    return true;
  });
  ForEachExpr(llvm::cast<syntax::Subscript>(target)->slice, [&](const Expr *e) {
    reads_memory |= llvm::isa<syntax::Subscript>(e);
    return true;
  });
  return binds || (calls && reads_memory);
}

bool Binds(const Expr *value, std::string_view name) {
  Names names;
  CollectTargets(value, names);
  return names.count(name) != 0;
}

// Whether the ops after `from` in its block, up to `to`, write memory that `storage` holds.
bool WritesBetween(mlir::Operation *from, mlir::Block::iterator to, mlir::Value storage) {
  mlir::Value holder = HolderOf(storage);
  bool writes = false;
  for (mlir::Block::iterator op = std::next(from->getIterator()); op != to && !writes; ++op)
    ForEachWrite(&*op, [&](mlir::Value written) { writes |= written == holder; });
  return writes;
}

std::optional<BinaryOp> ToBinaryOp(Operator op) {
  switch (op) {
  case Operator::Add:
    return BinaryOp::Add;
  case Operator::Sub:
    return BinaryOp::Sub;
  case Operator::Mult:
    return BinaryOp::Mul;
  case Operator::Div:
    return BinaryOp::TrueDiv;
  case Operator::FloorDiv:
    return BinaryOp::FloorDiv;
  case Operator::Mod:
    return BinaryOp::Mod;
  case Operator::Pow:
    return BinaryOp::Pow;
  case Operator::LShift:
    return BinaryOp::Shl;
  case Operator::RShift:
    return BinaryOp::Shr;
  case Operator::BitAnd:
    return BinaryOp::And;
  case Operator::BitOr:
    return BinaryOp::Or;
  case Operator::BitXor:
    return BinaryOp::Xor;
  case Operator::MatMult:
    return std::nullopt;
  }
  return std::nullopt;
}

// Tensors as results that nothing else names.
Value Unnamed(Value v) {
  if (v.IsTensor())
    v.tensor.fresh = true;
  if (v.IsTuple()) {
    v.items = std::make_shared<std::vector<Value>>(*v.items);
    for (Value &item : *v.items)
      item = Unnamed(std::move(item));
  }
  return v;
}

} // namespace

// Whether an expression is there for its value alone: operators, and functions of the library that
// write nothing.
static bool ComputesOnly(const Expr *e, const ModuleScope &scope, uint32_t file) {
  if (llvm::isa<Compare, BinOp, UnaryOp>(e))
    return true;
  auto *call = llvm::dyn_cast<Call>(e);
  auto *callee = call ? llvm::dyn_cast<syntax::Attribute>(call->func) : nullptr;
  if (!callee)
    return false;
  // A function of another file may have a name of the library's.
  auto *base = llvm::dyn_cast<syntax::Name>(callee->value);
  const ModuleName *module = base ? scope.Find(file, base->id) : nullptr;
  if (module && module->value.kind == Value::Kind::Module && module->value.text != "asc" &&
      module->value.text != "numpy" && module->value.text != "math")
    return false;
  const LibraryEntry *entry = FindLibraryEntry(callee->attr, kAsc | kNumpy | kMethod | kMath);
  return entry && entry->lowering != Lowering::CompileTime && entry->name != "copy" &&
         entry->name != "scatter" && entry->name != "print" && entry->name != "device_assert" &&
         !entry->name.starts_with("atomic_");
}

FlowEnd Emitter::EmitBody(const StmtList &body) {
  if (!body.empty() && !MayNest(body[0]->range))
    return FlowEnd::Falls;
  StmtList replaced;
  const StmtList *stmts = &body;
  for (size_t i = 0; i < stmts->size(); ++i) {
    const Stmt *s = (*stmts)[i];
    if (!Spend(s->range))
      return FlowEnd::Falls;
    auto following = [&] {
      return StmtList(stmts->begin() + static_cast<std::ptrdiff_t>(i) + 1, stmts->end());
    };
    if (auto *branch = llvm::dyn_cast<If>(s)) {
      bool rest_consumed = false;
      std::optional<StmtList> decided;
      FlowEnd end = EmitIf(branch, following(), rest_consumed, decided);
      if (decided) {
        replaced = *std::move(decided);
        stmts = &replaced;
        i = static_cast<size_t>(-1);
        continue;
      }
      if (rest_consumed || end == FlowEnd::Jumps)
        return end;
    } else if (EmitStmt(s) == FlowEnd::Jumps) {
      return FlowEnd::Jumps;
    }
    if (std::vector<mlir::Value> flags = FlagsOf(s); !flags.empty() && i + 1 < stmts->size()) {
      EmitGuarded(flags, following(), (*stmts)[i + 1]->range);
      return FlowEnd::Falls;
    }
  }
  return FlowEnd::Falls;
}

// The flags that tell, after `s`, that a jump inside it goes past what follows.
std::vector<mlir::Value> Emitter::FlagsOf(const Stmt *s) {
  std::vector<mlir::Value> flags;
  auto it = frame().flow->statements.find(s);
  if (it == frame().flow->statements.end())
    return flags;
  const StatementFlow &f = it->second;
  if (!loops_.empty()) {
    bool branch = llvm::isa<If>(s);
    if ((branch ? f.has_break : f.else_break) && loops_.back().broken)
      flags.push_back(loops_.back().broken);
    if ((branch ? f.has_continue : f.else_continue) && loops_.back().skipping)
      flags.push_back(loops_.back().skipping);
  }
  if (f.has_return && frame().returned)
    flags.push_back(frame().returned);
  return flags;
}

void Emitter::EmitGuarded(const std::vector<mlir::Value> &flags, const StmtList &rest,
                          const SourceRange &range) {
  ControlScope scope(*this, range, AssignedIn(rest), {});
  mlir::Value any;
  for (mlir::Value flag : flags) {
    mlir::Value v = ReadFlag(flag, range);
    any = any ? Ops(range).Or(any, v) : v;
  }
  auto op = b_.create<scf::IfOp>(Loc(range), Ops(range).Not(any), /*withElseRegion=*/false);
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(op.thenYield());
    ++uncertain_;
    ++region_depth_;
    EmitBody(rest);
    --region_depth_;
    --uncertain_;
  }
  scope.EndRegion();
  // Where the guard does not hold, control is on its way out: what follows is not reached.
  scope.Close(/*may_skip=*/false);
}

Value Emitter::EvalTest(const Expr *test) {
  Value v = Eval(test);
  if (v.IsInvalid())
    return v;
  return Truth(test->range, v);
}

FlowEnd Emitter::EmitIf(const If *s, const StmtList &rest, bool &rest_consumed,
                        std::optional<StmtList> &decided) {
  Value c = EvalTest(s->test);
  if (c.IsInvalid()) // the branches have errors of their own
    c = Value::Scalar(DType::Bool, Ops(s->range).Int(DType::Bool, 0));
  StmtList then_list = ToList(s->body), else_list = ToList(s->orelse);
  if (c.IsConstant()) {
    // Decided here: the other branch does not exist, its types included.
    decided = c.constant->i ? std::move(then_list) : std::move(else_list);
    Append(*decided, rest);
    return FlowEnd::Falls;
  }
  const StatementFlow &flow = frame().flow->statements.at(s);
  Names assigned = flow.assigned, homes = flow.live_out;
  if (c.proved) {
    // The branch that is never taken counts where it gives a variable its type, else for nothing.
    Names dead = AssignedIn(*c.proved ? else_list : then_list);
    bool gives_types = llvm::any_of(dead, [&](std::string_view name) { return homes.count(name); });
    if (flow.has_break || flow.has_continue || flow.has_return || !gives_types) {
      decided = *c.proved ? std::move(then_list) : std::move(else_list);
      Append(*decided, rest);
      return FlowEnd::Falls;
    }
  }
  if (flow.has_break || flow.has_continue || flow.has_return) {
    bool then_jumps = AlwaysJumps(s->body), else_jumps = AlwaysJumps(s->orelse);
    if (then_jumps || else_jumps) {
      // What follows belongs to the branch that goes on.
      rest_consumed = true;
      if (!then_jumps)
        Append(then_list, rest);
      if (!else_jumps)
        Append(else_list, rest);
      assigned.merge(AssignedIn(rest));
      homes.clear();
    }
  }
  bool skip_is_nothing = loops_.empty() || !loops_.back().skipping;
  auto is_trivial = [&](const StmtList &list) {
    for (const Stmt *x : list) {
      if (!llvm::isa<Pass>(x) && !(llvm::isa<Continue>(x) && skip_is_nothing))
        return false;
    }
    return true;
  };
  std::vector<AffineCondition> conditions = c.conditions;
  std::vector<AffineCondition> negated = Failures(c);
  // What the test has bound by :=, in each branch.
  Names then_bound = BoundWhen(s->test, true), else_bound = BoundWhen(s->test, false);
  // What is proved is no affine branch below, and is tested as it stands.
  if (is_trivial(then_list) && !else_list.empty() && !negated.empty() && !c.proved) {
    for (const Stmt *x : then_list)
      if (llvm::isa<Continue>(x))
        EmitJump(x); // for its bookkeeping alone
    std::swap(then_list, else_list);
    std::swap(then_bound, else_bound);
    std::swap(conditions, negated);
  }
  bool is_affine = !conditions.empty() && !c.proved;
  bool with_else = !is_trivial(else_list);
  SourceRange range = s->range;
  mlir::Location loc = Loc(range);

  Names rebound = ReboundIn(then_list);
  rebound.merge(ReboundIn(else_list));
  CollectTargets(s->test, rebound);
  KeepUpdatedTensors(frame().env, rebound, assigned);
  ControlScope scope(*this, range, assigned, homes);
  mlir::Block *then_block = nullptr, *else_block = nullptr;
  if (is_affine && !with_else) {
    llvm::SmallVector<mlir::AffineExpr> exprs;
    llvm::SmallVector<bool> equalities;
    for (const AffineCondition &x : conditions) {
      exprs.push_back(x.expr);
      equalities.push_back(x.is_equality);
    }
    Packed p = Pack(exprs);
    auto set = mlir::IntegerSet::get(p.map.getNumDims(), p.map.getNumSymbols(), p.map.getResults(),
                                     equalities);
    auto op = b_.create<affine::AffineIfOp>(loc, set, p.operands, /*withElseRegion=*/false);
    then_block = op.getThenBlock();
  } else {
    mlir::Value condition = is_affine ? MaterializeConditions(conditions, loc) : Ssa(c);
    auto op = b_.create<scf::IfOp>(loc, condition, with_else);
    then_block = op.thenBlock();
    else_block = with_else ? op.elseBlock() : nullptr;
  }
  auto branch = [&](mlir::Block *block, const StmtList &list, const Names &bound,
                    const std::vector<AffineCondition> &facts) {
    // Without facts, whether the branch is reached is not known.
    const bool exact = !facts.empty() && !c.proved;
    SetBound(bound);
    size_t domain_size = domain_.size();
    domain_.insert(domain_.end(), facts.begin(), facts.end());
    uncertain_ += !exact;
    ++region_depth_;
    FlowEnd end;
    {
      mlir::OpBuilder::InsertionGuard guard(b_);
      if (block)
        b_.setInsertionPoint(block->getTerminator());
      end = EmitBody(list);
    }
    --region_depth_;
    uncertain_ -= !exact;
    domain_.resize(domain_size);
    if (end == FlowEnd::Falls)
      scope.EndRegion();
    return end;
  };
  scope.SaveState();
  FlowEnd then_end = branch(then_block, then_list, then_bound, conditions);
  scope.RestoreState();
  FlowEnd else_end = FlowEnd::Falls;
  if (with_else) {
    else_end = branch(else_block, else_list, else_bound, negated);
  } else {
    // A branch without code still binds nothing, or jumps.
    for (const Stmt *x : else_list)
      if (llvm::isa<Continue>(x))
        else_end = FlowEnd::Jumps;
    if (else_end == FlowEnd::Falls)
      scope.EndRegion();
  }
  scope.RestoreState();
  scope.Close(/*may_skip=*/false);
  return then_end == FlowEnd::Jumps && else_end == FlowEnd::Jumps ? FlowEnd::Jumps : FlowEnd::Falls;
}

FlowEnd Emitter::EmitStmt(const Stmt *s) {
  here_ = s->range;
  auto refuse = [&](std::string_view code, const std::string &message) {
    Error(code, s->range, message);
    return FlowEnd::Falls;
  };
  switch (s->kind) {
  case NodeKind::Assign: {
    auto *a = llvm::cast<Assign>(s);
    if (const BinOp *update = AsUpdate(a)) {
      // The same as `target += value`, for numbers; a tensor's name is bound to a new tensor.
      // Unless the value may change what the target's index says, which is read after it.
      bool in_place =
          llvm::isa<syntax::Subscript>(a->targets[0]) && !MayMove(a->targets[0], update);
      if (auto *n = llvm::dyn_cast<syntax::Name>(a->targets[0])) {
        auto it = frame().env.find(n->id);
        in_place = it != frame().env.end() && it->second.home && it->second.home->wide;
      }
      if (in_place) {
        AugAssign aug;
        aug.range = a->range;
        aug.target = a->targets[0];
        aug.op = update->op;
        aug.op_range = update->op_range;
        aug.value = update->right;
        EmitAugAssign(&aug);
        return FlowEnd::Falls;
      }
    }
    std::string_view reduction = ExtremumUpdate(a); // whose reads of the target are part of it
    Value v = Eval(a->value);
    own_reads_.clear();
    castable_ = {};
    if (a->targets.size() == 1 && llvm::isa<syntax::Subscript>(a->targets[0]))
      castable_ = a->value->range;
    reduces_ = reduction;
    for (const Expr *t : a->targets)
      AssignTarget(t, v, a->value->range);
    reduces_ = {};
    castable_ = {};
    return FlowEnd::Falls;
  }
  case NodeKind::AnnAssign: {
    auto *a = llvm::cast<AnnAssign>(s);
    if (!a->value)
      return FlowEnd::Falls;
    Value v = Eval(a->value);
    auto type = LocalAnnotation(a->annotation);
    if (!type) {
      v = Value::Invalid();
    } else if (v.IsScalar()) {
      auto cast = CastForStore(a->value->range, v, *type, "the annotated variable");
      v = cast.value_or(Value::Invalid());
    } else if (!v.IsInvalid()) {
      v = Error("type-mismatch", a->value->range,
                "the variable is annotated as a scalar, " + std::string(sema::Name(*type)) +
                    ", and this is " + Describe(v));
    }
    AssignTarget(a->target, v, a->value->range);
    return FlowEnd::Falls;
  }
  case NodeKind::AugAssign:
    EmitAugAssign(llvm::cast<AugAssign>(s));
    return FlowEnd::Falls;
  case NodeKind::For:
    return EmitFor(llvm::cast<For>(s));
  case NodeKind::While:
    return EmitWhile(llvm::cast<While>(s));
  case NodeKind::Return:
    EmitReturn(llvm::cast<Return>(s));
    return FlowEnd::Jumps;
  case NodeKind::Break:
  case NodeKind::Continue:
    return EmitJump(s);
  case NodeKind::Pass:
    return FlowEnd::Falls;
  case NodeKind::Assert:
    EmitAssert(llvm::cast<Assert>(s));
    return FlowEnd::Falls;
  case NodeKind::ExprStmt: {
    auto *e = llvm::cast<ExprStmt>(s)->value;
    if (auto *c = llvm::dyn_cast<syntax::Constant>(e);
        c && (c->IsStr() || c->constant_kind == ConstantKind::Ellipsis))
      return FlowEnd::Falls; // a docstring or a placeholder
    unused_call_ = llvm::isa<Call>(e) ? e : nullptr;
    Value v = Eval(e);
    unused_call_ = nullptr;
    if (v.IsNumber() && !v.IsConstant() && ComputesOnly(e, scope_, frame().file))
      Warn("unused-value", e->range,
           llvm::isa<Compare>(e) ? "this compares, and nothing uses what comes out; assign by ="
                                 : "nothing uses this value, and computing it changes nothing; "
                                   "assign it, as in y[:] = ...");
    return FlowEnd::Falls;
  }
  case NodeKind::ClassDef:
    return refuse("unsupported-class", "a kernel cannot define a class; use functions and tuples");
  case NodeKind::FunctionDef:
  case NodeKind::AsyncFunctionDef:
    // Its uses would only say again that it is not there.
    if (auto *f = llvm::dyn_cast<FunctionDef>(s))
      frame().env[f->name].value = Value::Invalid();
    return refuse("unsupported-nested-function",
                  "a kernel cannot define a function inside; move it to module level, where "
                  "kernels may call it");
  case NodeKind::With:
  case NodeKind::AsyncWith:
    return refuse("unsupported-with", "'with' has no meaning in a kernel; write its body plainly");
  case NodeKind::Try:
  case NodeKind::TryStar:
    return refuse("unsupported-try",
                  "kernels have no exceptions; test the condition with 'if' instead of 'try'");
  case NodeKind::Raise:
    return refuse("unsupported-raise",
                  "kernels have no exceptions; use assert, which is checked in debug mode");
  case NodeKind::AsyncFor:
    return refuse("unsupported-async", "'async' has no meaning in a kernel; use a plain 'for'");
  case NodeKind::Delete:
    return refuse("unsupported-del",
                  "'del' has no meaning in a kernel; names end with the function");
  case NodeKind::Import:
  case NodeKind::ImportFrom:
    for (const Alias *a :
         llvm::isa<Import>(s) ? llvm::cast<Import>(s)->names : llvm::cast<ImportFrom>(s)->names) {
      std::string_view name = a->asname.empty() ? a->name : a->asname;
      frame().env[name.substr(0, name.find('.'))].value = Value::Invalid();
    }
    return refuse("unsupported-import",
                  "a kernel cannot import; put the import at the top of the file");
  case NodeKind::Global:
  case NodeKind::Nonlocal:
    return refuse("unsupported-global",
                  "a kernel cannot assign module variables; return the value or pass an array");
  case NodeKind::Match:
    return refuse("unsupported-match", "'match' is not supported in kernels; use if and elif");
  case NodeKind::TypeAlias:
    return refuse("unsupported-type-alias",
                  "a kernel cannot define a type alias; write the type where it is used");
  default:
    return refuse("unsupported-statement", "this statement is not supported in kernels");
  }
}

void Emitter::AssignTarget(const Expr *target, const Value &value, const SourceRange &value_range) {
  // What has no value has been reported. Were it not, the statement would be lost without a word.
  if (value.IsInvalid() && !diags_.HasErrors() && !budget_.exhausted() && !memory_.changed)
    Error("internal-error", value_range, "the compiler lost this value and did not say why");
  if (auto *n = llvm::dyn_cast<syntax::Name>(target)) {
    if (value.kind == Value::Kind::Slice || value.kind == Value::Kind::Method) {
      Error("unsupported-value", value_range, "a kernel variable cannot hold " + Describe(value));
      AssignName(n->id, Value::Invalid(), target->range);
      return;
    }
    AssignName(n->id, value, target->range);
    return;
  }
  if (auto *s = llvm::dyn_cast<syntax::Subscript>(target)) {
    Value base = Eval(s->value);
    Value key = EvalIndex(s->slice);
    if (base.IsInvalid() || key.IsInvalid() || value.IsInvalid())
      return;
    StoreSubscript(target->range, base, key, value, value_range);
    return;
  }
  Exprs elts;
  if (auto *t = llvm::dyn_cast<syntax::Tuple>(target))
    elts = t->elts;
  else if (auto *l = llvm::dyn_cast<List>(target))
    elts = l->elts;
  else {
    if (llvm::isa<Starred>(target))
      Error("unsupported-star", target->range,
            "starred targets are not supported; name each element");
    else
      Error("bad-target", target->range, "kernels assign to names, elements and slices only");
    return;
  }
  std::vector<Value> items;
  bool unpacks = true;
  if (value.IsTuple()) {
    items = *value.items;
  } else if (value.IsTensor() && !value.tensor.dims.empty()) {
    for (int64_t i = 0; i < value.tensor.dims[0].size && i < 64; ++i)
      items.push_back(Subscript(value_range, value, Value::WeakInt(i)));
  } else {
    unpacks = false;
    if (!value.IsInvalid())
      Error("unpack-mismatch", value_range, "cannot unpack " + Describe(value));
  }
  if (unpacks && items.size() != elts.size())
    Error("unpack-mismatch", value_range,
          "cannot unpack " + std::to_string(items.size()) + " values into " +
              std::to_string(elts.size()) + " names");
  for (size_t i = 0; i < elts.size(); ++i)
    AssignTarget(elts[i], items.size() == elts.size() ? items[i] : Value::Invalid(), value_range);
}

std::optional<DType> Emitter::LocalAnnotation(const Expr *annotation) {
  // asc.tensor and asc.constexpr mean something for parameters alone.
  auto *attribute = llvm::dyn_cast<syntax::Attribute>(annotation);
  bool of_parameters = attribute && (attribute->attr == "tensor" || attribute->attr == "constexpr");
  if (!of_parameters && !llvm::isa<syntax::Subscript>(annotation)) {
    Value type = Eval(annotation);
    if (type.IsInvalid())
      return std::nullopt;
    if (type.kind == Value::Kind::DType)
      return CheckDType(annotation->range, type.dtype) ? std::optional(type.dtype) : std::nullopt;
    if (type.kind == Value::Kind::Library)
      for (auto [name, dtype] : {std::pair("int", DType::Int64), std::pair("float", DType::Float32),
                                 std::pair("bool", DType::Bool)})
        if (type.library->name == name)
          return dtype;
  }
  Error("bad-annotation", annotation->range,
        "a variable is annotated by the type of a scalar (asc.float32, int, float, bool); one that "
        "names a tensor or a tuple takes no annotation");
  return std::nullopt;
}

std::string_view Emitter::ExtremumUpdate(const Assign *s) {
  auto *call = llvm::dyn_cast<Call>(s->value);
  if (!call || s->targets.size() != 1 || !llvm::isa<syntax::Subscript>(s->targets[0]) ||
      call->args.size() < 2)
    return {};
  std::vector<SourceRange> own;
  for (const Expr *x : call->args)
    if (SameExpr(x, s->targets[0]))
      own.push_back(x->range);
  if (own.empty())
    return {};
  // A function of the user's that has the name is something else.
  Value callee = Eval(call->func);
  if (callee.kind != Value::Kind::Library)
    return {};
  std::string_view name = callee.library->name;
  bool max = name == "max" || name == "maximum", min = name == "min" || name == "minimum";
  if (!max && !min)
    return {};
  own_reads_ = std::move(own);
  return max ? "max" : "min";
}

void Emitter::EmitAugAssign(const AugAssign *s) {
  auto op = ToBinaryOp(s->op);
  bool sums = s->op == Operator::Add || s->op == Operator::Sub;
  SourceRange range = s->range;
  auto apply = [&](const Value &old, const Value &v) -> Value {
    if (!op) {
      Value matmul = Value::OfKind(Value::Kind::Library);
      matmul.library = FindLibraryEntry("matmul", kAsc);
      return CallValue(range, matmul, {old, v}, {s->target->range, s->value->range}, {}, {});
    }
    return Binary(range, *op, old, v);
  };
  auto evaluate = [&](bool widen) {
    bool saved = widen_products_;
    widen_products_ = widen;
    Value v = Eval(s->value);
    widen_products_ = saved;
    return v;
  };
  if (auto *n = llvm::dyn_cast<syntax::Name>(s->target)) {
    auto it = frame().env.find(n->id);
    if (it != frame().env.end() && it->second.home && it->second.home->wide && sums &&
        !it->second.maybe_unbound && !Binds(s->value, n->id)) {
      // A 16-bit sum: its cell is float32 and is rounded when it is read.
      Value v = evaluate(true);
      if (v.IsInvalid())
        return;
      if (v.IsScalar()) {
        it = frame().env.find(n->id);
        Cell raw = *it->second.home;
        raw.wide = false;
        raw.dtype = DType::Float32;
        Value old = LoadCell(raw, range);
        Value sum = Binary(range, *op, old, Cast(range, Strong(v), DType::Float32));
        // What the sum is as a variable: the type of the sum as written.
        Value as_written = Value::Scalar(it->second.home->dtype, nullptr);
        auto type = CommonType(range, as_written, v);
        if (!type || sum.IsInvalid())
          return;
        if (*type != it->second.home->dtype) {
          memory_.widened[it->second.home->key] = *type;
          memory_.changed = true;
        }
        it->second.last_stores.clear();
        it->second.value.reset();
        // As it is: the cell holds the sum in float32 whatever the variable's type.
        b_.create<affine::AffineStoreOp>(Loc(range), SsaAs(sum, DType::Float32), raw.memref,
                                         mlir::ValueRange{});
        return;
      }
    }
    Value old = ReadName(n->id, n->range);
    bool wide_target = old.IsNumber() && IsFloat(old.dtype) && !Is16BitFloat(old.dtype);
    Value v = evaluate(sums && wide_target);
    if (old.IsInvalid() || v.IsInvalid()) {
      AssignName(n->id, Value::Invalid(), n->range);
      return;
    }
    if (old.IsTensor()) {
      // In place, as NumPy does it: every name of the tensor sees it.
      Value key = Value::OfKind(Value::Kind::Ellipsis);
      Value sum = apply(old, v);
      reduces_ = ReductionKind(s->op);
      if (!sum.IsInvalid())
        StoreSubscript(s->target->range, old, key, sum, s->value->range);
      reduces_ = {};
      return;
    }
    AssignName(n->id, apply(old, v), n->range);
    return;
  }
  auto *sub = llvm::dyn_cast<syntax::Subscript>(s->target);
  if (!sub) {
    Error("bad-target", s->target->range, "kernels assign to names, elements and slices only");
    return;
  }
  Value base = Eval(sub->value);
  Value key = EvalIndex(sub->slice);
  if (base.IsInvalid() || key.IsInvalid())
    return;
  if (!base.IsTensor()) {
    Error("not-subscriptable", sub->value->range,
          "only elements of tensors can be assigned, and this is " + Describe(base));
    return;
  }
  if (!MayWrite(s->target->range, base))
    return;
  Value view = View(sub->range, base, key);
  if (view.IsInvalid())
    return;
  bool accumulates = sums && IsFloat(base.dtype) && (!Is16BitFloat(base.dtype) || base.tensor.wide);
  Value raw = view;
  if (accumulates && base.tensor.wide) {
    raw.dtype = DType::Float32;
    raw.tensor.wide = false;
  }
  // The element is read before the value is computed, as in Python. Where the order cannot show,
  // the load stands next to its store, which is what loops are raised from.
  bool element = raw.tensor.dims.empty();
  auto last_op = [&]() -> mlir::Operation * {
    mlir::Block::iterator at = b_.getInsertionPoint();
    return at == b_.getInsertionBlock()->begin() ? nullptr : &*std::prev(at);
  };
  mlir::Operation *before = last_op();
  Value old = element ? LoadElement(sub->range, raw) : raw;
  // Now: what is computed later may put cells at the function's head, and so before them.
  llvm::SmallVector<mlir::Operation *> loads;
  for (mlir::Operation *op = last_op(); op != before; op = op->getPrevNode())
    loads.push_back(op);
  Value v = evaluate(accumulates);
  if (v.IsInvalid())
    return;
  if (element && !loads.empty() && loads.front() != last_op() &&
      !WritesBetween(loads.front(), b_.getInsertionPoint(), view.tensor.storage)) {
    for (mlir::Operation *op : loads)
      op->erase();
    old = LoadElement(sub->range, raw);
  }
  Value sum = apply(old, v);
  if (sum.IsInvalid())
    return;
  auto stored = CastForStore(s->value->range, sum, raw.dtype, "the tensor");
  if (!stored)
    return;
  RecordWrite(s->range, view, ReductionKind(s->op));
  if (raw.tensor.dims.empty())
    StoreElement(s->range, raw, *stored);
  else
    CopyInto(s->range, raw, *stored);
}

void Emitter::EmitReturn(const Return *s) {
  // What a function hands on need be no value.
  unused_call_ = s->value && llvm::isa<Call>(s->value) ? s->value : nullptr;
  Value v = s->value ? Eval(s->value) : Value::NoneValue();
  unused_call_ = nullptr;
  Frame &f = frame();
  for (const LoopContext &loop : loops_)
    if (loop.parallel && loop.frame + 1 == frames_.size()) {
      Error("parallel-return", s->range,
            "a parallel loop cannot be left by return, since its iterations run in any order");
      return;
    }
  if (f.flow->returns_only_at_end) {
    f.result = v;
    return;
  }
  if (frames_.size() == 1) {
    v = Unnamed(std::move(v)); // the caller gets a copy in any case
  } else if (v.IsTensor() && !v.tensor.fresh && f.result_cell->kind == Cell::Kind::Unset &&
             v.tensor.root == v.tensor.storage && IsWhole(v.tensor)) {
    // The same tensor on all paths: it is named, not copied.
    f.result_cell->kind = Cell::Kind::Fixed;
    f.result_cell->fixed = v;
    f.result_cell->range = s->range;
  }
  // Only the memory of the kernel's own results is typed by annotations; cells widen.
  StoreCell(*f.result_cell, v, s->range, "the result", nullptr);
  if (f.returned)
    SetFlag(f.returned, true, s->range);
}

FlowEnd Emitter::EmitJump(const Stmt *s) {
  bool is_break = llvm::isa<Break>(s);
  if (loops_.empty() || loops_.back().frame + 1 != frames_.size()) {
    Error("jump-outside-loop", s->range,
          std::string(is_break ? "'break'" : "'continue'") + " outside a loop");
    return FlowEnd::Jumps;
  }
  LoopContext &loop = loops_.back();
  if (is_break && loop.parallel) {
    Error("parallel-break", s->range,
          "a parallel loop cannot be left by break, since its iterations run in any order; use "
          "range");
    return FlowEnd::Jumps;
  }
  if (is_break && region_depth_ == loop.region_depth && loop.stopped == false && !loop.broken)
    loop.stopped = true;
  if (is_break && loop.broken) {
    SetFlag(loop.broken, true, s->range);
    if (region_depth_ == loop.region_depth)
      loop.stopped = true;
  }
  if (!is_break && loop.skipping)
    SetFlag(loop.skipping, true, s->range);
  Names now = BoundNames();
  if (loop.bound_at_exit) {
    Names both;
    for (std::string_view n : *loop.bound_at_exit)
      if (now.count(n))
        both.insert(n);
    now = both;
  }
  loop.bound_at_exit = now;
  return FlowEnd::Jumps;
}

} // namespace pyasc::sema
