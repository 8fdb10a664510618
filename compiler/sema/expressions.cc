// Expressions other than arithmetic and calls.
#include "compiler/sema/control.h"
#include "compiler/sema/emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"

namespace pyasc::sema {

using namespace syntax;
namespace scf = mlir::scf;

namespace {

std::optional<BinaryOp> ToBinaryOp(Operator op) {
  constexpr std::optional<BinaryOp> kTable[] = {
      BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,     std::nullopt,  BinaryOp::TrueDiv,
      BinaryOp::Mod, BinaryOp::Pow, BinaryOp::Shl,     BinaryOp::Shr, BinaryOp::Or,
      BinaryOp::Xor, BinaryOp::And, BinaryOp::FloorDiv};
  return kTable[static_cast<int>(op)];
}

} // namespace

Value Emitter::EvalIndex(const Expr *expr) {
  bool saved = index_mode_, saved_widen = widen_products_;
  index_mode_ = true;
  widen_products_ = false;
  Value v = Eval(expr);
  index_mode_ = saved;
  widen_products_ = saved_widen;
  return v;
}

Value Emitter::Eval(const Expr *e) {
  if (!Spend(e->range))
    return Value::Invalid();
  Value v = EvalKind(e);
  if (v.IsTuple() && !llvm::isa<syntax::Name>(e)) {
    if (v.weight > kMaxItems)
      return TupleTooLarge(e->range, v.weight);
    Spend(e->range, static_cast<int64_t>(v.items->size() / 16));
  }
  return v;
}

Value Emitter::EvalKind(const Expr *e) {
  // What is inside anything but a sum or product is neither part of an accumulation nor an index.
  bool saved_index = index_mode_, saved_widen = widen_products_;
  SourceRange saved_here = here_;
  here_ = e->range;
  auto restore = llvm::make_scope_exit([&] {
    here_ = saved_here;
    index_mode_ = saved_index;
    widen_products_ = saved_widen;
  });
  if (!llvm::isa<BinOp, UnaryOp>(e))
    widen_products_ = false;
  if (!llvm::isa<BinOp, UnaryOp, Tuple, Slice, Call, IfExp>(e))
    index_mode_ = false;
  auto refuse = [&](std::string_view code, const std::string &message) {
    return Error(code, e->range, message);
  };
  switch (e->kind) {
  case NodeKind::Constant:
    return EvalConstant(llvm::cast<syntax::Constant>(e));
  case NodeKind::Name:
    return ReadName(llvm::cast<syntax::Name>(e)->id, e->range);
  case NodeKind::BinOp: {
    auto *b = llvm::cast<BinOp>(e);
    if (b->op != Operator::Add && b->op != Operator::Sub && b->op != Operator::Mult)
      widen_products_ = false;
    bool widen_here = widen_products_ && b->op == Operator::Mult;
    Value x = Eval(b->left), y = Eval(b->right);
    if (x.IsInvalid() || y.IsInvalid())
      return Value::Invalid();
    RecordRead(b->left->range, x);
    RecordRead(b->right->range, y);
    if (b->op == Operator::MatMult) {
      Value matmul = Value::OfKind(Value::Kind::Library);
      matmul.library = FindLibraryEntry("matmul", kAsc);
      return CallValue(e->range, matmul, {x, y}, {b->left->range, b->right->range}, {}, {});
    }
    if (widen_here && x.IsNumber() && y.IsNumber() && Is16BitFloat(x.dtype) &&
        Is16BitFloat(y.dtype)) {
      x = Cast(b->left->range, x, DType::Float32);
      y = Cast(b->right->range, y, DType::Float32);
    }
    return Binary(e->range, *ToBinaryOp(b->op), x, y);
  }
  case NodeKind::UnaryOp: {
    auto *u = llvm::cast<UnaryOp>(e);
    Value x = Eval(u->operand);
    if (x.IsInvalid())
      return x;
    if (index_mode_ && u->op != syntax::UnaryOperator::Not)
      x = InIndex(e->range, x);
    return Unary(e->range, u->op, x);
  }
  case NodeKind::BoolOp:
    return EvalBoolOp(llvm::cast<BoolOp>(e));
  case NodeKind::Compare:
    return EvalCompare(llvm::cast<Compare>(e));
  case NodeKind::IfExp:
    return EvalIfExp(llvm::cast<IfExp>(e));
  case NodeKind::Call:
    return EvalCall(llvm::cast<Call>(e));
  case NodeKind::Attribute: {
    auto *a = llvm::cast<syntax::Attribute>(e);
    Value object = Eval(a->value);
    return object.IsInvalid() ? object : Attribute(object, a);
  }
  case NodeKind::Subscript:
    return EvalSubscript(llvm::cast<syntax::Subscript>(e));
  case NodeKind::Tuple:
  case NodeKind::List: {
    Exprs elts =
        e->kind == NodeKind::Tuple ? llvm::cast<syntax::Tuple>(e)->elts : llvm::cast<List>(e)->elts;
    std::vector<Value> items;
    for (const Expr *x : elts) {
      if (auto *star = llvm::dyn_cast<Starred>(x)) {
        Value inner = Eval(star->value);
        if (inner.IsInvalid())
          return inner;
        if (!inner.IsTuple())
          return Error("unsupported-star", x->range, "only tuples and lists can be spread here");
        items.insert(items.end(), inner.items->begin(), inner.items->end());
        continue;
      }
      items.push_back(Eval(x));
      if (items.back().IsInvalid())
        return Value::Invalid();
    }
    return Value::TupleOf(std::move(items), e->kind == NodeKind::List);
  }
  case NodeKind::Slice: {
    auto *s = llvm::cast<syntax::Slice>(e);
    Value v = Value::OfKind(Value::Kind::Slice);
    std::vector<Value> parts;
    for (const Expr *part : {s->lower, s->upper, s->step}) {
      parts.push_back(part ? Eval(part) : Value::NoneValue());
      if (parts.back().IsInvalid())
        return Value::Invalid();
    }
    v.items = std::make_shared<std::vector<Value>>(std::move(parts));
    return v;
  }
  case NodeKind::ListComp:
    return EvalListComp(llvm::cast<ListComp>(e));
  case NodeKind::JoinedStr:
    return EvalString(e, nullptr);
  case NodeKind::NamedExpr: {
    auto *n = llvm::cast<NamedExpr>(e);
    if (frames_.empty())
      return refuse("unsupported-walrus", "':=' binds names inside of functions only; assign in a "
                                          "statement of its own");
    Value v = Eval(n->value);
    AssignTarget(n->target, v, n->value->range);
    return v.IsInvalid() ? v : ReadName(llvm::cast<syntax::Name>(n->target)->id, n->range);
  }
  case NodeKind::GeneratorExp: {
    auto *g = llvm::cast<GeneratorExp>(e);
    ListComp list;
    list.range = g->range;
    list.elt = g->elt;
    list.generators = g->generators;
    return EvalListComp(&list);
  }
  case NodeKind::Lambda:
    return refuse("unsupported-lambda",
                  "kernels have no lambda; define a function at module level");
  case NodeKind::Dict:
  case NodeKind::DictComp:
    return refuse("unsupported-dict", "kernels have no dictionaries; use tuples or variables");
  case NodeKind::Set:
  case NodeKind::SetComp:
    return refuse("unsupported-set", "kernels have no sets; use a tuple");
  case NodeKind::Await:
    return refuse("unsupported-async", "'await' has no meaning in a kernel");
  case NodeKind::Yield:
  case NodeKind::YieldFrom:
    return refuse("unsupported-generator",
                  "kernels have no generators; write results into a tensor");
  case NodeKind::Starred:
    return refuse("unsupported-star", "a starred expression is not supported here");
  default:
    return refuse("unsupported-expression", "this expression is not supported in kernels");
  }
}

Value Emitter::EvalConstant(const syntax::Constant *c) {
  switch (c->constant_kind) {
  case ConstantKind::None:
    return Value::NoneValue();
  case ConstantKind::Bool:
    return Value::BoolConstant(c->bool_value);
  case ConstantKind::Ellipsis:
    return Value::OfKind(Value::Kind::Ellipsis);
  case ConstantKind::Int:
    if (!c->int_fits)
      return Error("integer-too-large", c->range,
                   "the integer does not fit into 64 bits; no type here could hold it");
    return Value::WeakInt(static_cast<Int>(c->int_value));
  case ConstantKind::Float:
    return Value::WeakFloat(c->float_value);
  case ConstantKind::Complex:
    return Error("unsupported-complex", c->range,
                 "kernels have no complex numbers; use two float tensors");
  case ConstantKind::Str:
    return Value::StringOf(std::string(c->str_value));
  case ConstantKind::Bytes:
    return Error("string-data", c->range, "kernels have no bytes; use a uint8 tensor");
  }
  return Value::Invalid();
}

Value Emitter::EvalSubscript(const syntax::Subscript *s) {
  Value base = Eval(s->value);
  if (base.IsInvalid())
    return base;
  Value key = EvalIndex(s->slice);
  if (key.IsInvalid())
    return key;
  return Subscript(s->range, base, key);
}

Value Emitter::EvalCompare(const Compare *e) { return CompareFrom(e, 0, Eval(e->left)); }

// Comparison `i` of a chain and those after it, which are evaluated only if it holds.
Value Emitter::CompareFrom(const Compare *e, size_t i, const Value &left) {
  if (left.IsInvalid())
    return left;
  Value right = Eval(e->comparators[i]);
  if (right.IsInvalid())
    return right;
  Value here = CompareOnce(e, i, left, right);
  if (here.IsInvalid() || i + 1 == e->ops.size())
    return here;
  auto scalar = [&](Value v) {
    if (v.IsTensor())
      return Error("ambiguous-truth", e->range,
                   "a chained comparison asks for the truth of a whole tensor; write "
                   "(a < b) & (b < c)");
    return v;
  };
  here = scalar(here);
  if (here.IsInvalid())
    return here;
  auto rest = [&] { return scalar(CompareFrom(e, i + 1, right)); };
  if (here.IsConstant())
    return here.constant->i ? rest() : here;
  if (here.proved)
    return *here.proved ? rest() : here;
  bool lazy = false, reads_memory = false;
  Names binds;
  for (size_t k = i + 1; k < e->comparators.size(); ++k) {
    lazy |= HasSideEffects(e->comparators[k]);
    reads_memory |= ReadsMemory(e->comparators[k]);
    CollectTargets(e->comparators[k], binds);
  }
  if (!lazy) {
    std::optional<Value> next = reads_memory ? WithoutChecks(rest) : rest();
    if (next) {
      if (next->IsInvalid())
        return *next;
      // False behind what only the run knows is no constant: types do not hang on it.
      if (next->IsConstant() ? next->constant->i != 0 : next->proved == true)
        return here;
      if (next->proved == false)
        return *next;
      if (!here.conditions.empty() && !next->conditions.empty()) {
        here.conditions.insert(here.conditions.end(), next->conditions.begin(),
                               next->conditions.end());
        here.failures.clear();
        return here;
      }
      return Binary(e->range, BinaryOp::And, here, *next);
    }
    if (trial_failed_)
      return Value::Invalid();
  }
  std::vector<AffineCondition> facts = here.conditions;
  auto guarded = [&] {
    size_t size = domain_.size();
    domain_.insert(domain_.end(), facts.begin(), facts.end());
    Value v = rest();
    domain_.resize(size);
    return v;
  };
  return Conditional(e->range, Ssa(here), binds, guarded,
                     [] { return Value::BoolConstant(false); });
}

Value Emitter::CompareOnce(const Compare *e, size_t i, const Value &left, const Value &right) {
  SourceRange range = e->ops.size() == 1
                          ? e->range
                          : SourceRange::Join(i ? e->comparators[i - 1]->range : e->left->range,
                                              e->comparators[i]->range);
  switch (e->ops[i]) {
  case CmpOperator::Is:
  case CmpOperator::IsNot: {
    if (!left.IsNone() && !right.IsNone() &&
        !(left.kind == Value::Kind::DType && right.kind == Value::Kind::DType))
      return Error("unsupported-is", range,
                   "'is' compares only with None in kernels; numbers are compared by ==");
    bool same =
        left.kind == right.kind && (left.kind != Value::Kind::DType || left.dtype == right.dtype);
    return Value::BoolConstant(same == (e->ops[i] == CmpOperator::Is));
  }
  case CmpOperator::In:
  case CmpOperator::NotIn: {
    if (!right.IsTuple())
      return Error("unsupported-in", range,
                   "'in' looks into tuples and lists only; for a tensor use asc.any(x == v)");
    Value found = Value::BoolConstant(false);
    for (const Value &item : *right.items) {
      Value equal = CompareValues(range, CompareOp::Eq, left, item);
      if (equal.IsInvalid())
        return equal;
      found = Binary(range, BinaryOp::Or, found, equal);
    }
    return e->ops[i] == CmpOperator::NotIn ? LogicalNot(range, found) : found;
  }
  default: {
    constexpr CompareOp kTable[] = {CompareOp::Eq, CompareOp::Ne, CompareOp::Lt,
                                    CompareOp::Le, CompareOp::Gt, CompareOp::Ge};
    return CompareValues(range, kTable[static_cast<int>(e->ops[i])], left, right);
  }
  }
}

bool Emitter::ReadsUnbound(const Expr *e) {
  Names reads;
  CollectReads(e, reads);
  return std::any_of(reads.begin(), reads.end(), [&](std::string_view name) {
    auto it = frame().env.find(name);
    return it != frame().env.end() && it->second.maybe_unbound;
  });
}

bool Emitter::ReadsMemory(const Expr *e) {
  bool reads = false;
  ForEachExpr(e, [&](const Expr *x) {
    reads |= llvm::isa<syntax::Subscript>(x);
    return !reads;
  });
  return reads;
}

std::optional<Value> Emitter::WithoutChecks(const std::function<Value()> &emit) {
  if (trial_failed_)
    return std::nullopt;
  size_t checks = errors_.size();
  int wraps = wraps_;
  auto *scratch = new mlir::Block;
  mlir::OpBuilder::InsertPoint here = b_.saveInsertionPoint();
  b_.setInsertionPointToStart(scratch);
  ++uncertain_;
  ++trials_;
  Value trial = emit();
  --trials_;
  --uncertain_;
  b_.restoreInsertionPoint(here);
  bool plain = errors_.size() == checks && wraps_ == wraps && !trial.IsInvalid() && !trial_failed_;
  EndTrial(plain);
  errors_.resize(checks);
  if (plain)
    b_.getInsertionBlock()->getOperations().splice(b_.getInsertionPoint(),
                                                   scratch->getOperations());
  else
    scratch->dropAllReferences();
  delete scratch;
  return plain ? std::optional<Value>(trial) : std::nullopt;
}

// What fails inside of a trial makes the trial fail, which is then given up at once: going on and
// repeating all of it would double the work with every level.
void Emitter::EndTrial(bool succeeded) { trial_failed_ = trials_ > 0 && !succeeded; }

bool Emitter::HasSideEffects(const Expr *e) {
  // Evaluating anything that may write, trap a check or be costly stays under its condition.
  bool found = false;
  ForEachExpr(e, [&](const Expr *x) {
    if (llvm::isa<NamedExpr>(x))
      found = true;
    if (auto *b = llvm::dyn_cast<BinOp>(x))
      found |= b->op == Operator::FloorDiv || b->op == Operator::Mod ||
               b->op == Operator::MatMult ||
               (b->op == Operator::Pow && !llvm::isa<syntax::Constant>(b->right));
    if (auto *call = llvm::dyn_cast<Call>(x)) {
      Value callee = Value::Invalid();
      if (auto *n = llvm::dyn_cast<syntax::Name>(call->func)) {
        const LibraryEntry *entry = FindLibraryEntry(n->id, kBuiltin);
        found |= !entry || entry->shape != ShapeRule::Elementwise;
      } else if (auto *a = llvm::dyn_cast<syntax::Attribute>(call->func)) {
        const LibraryEntry *entry = FindLibraryEntry(a->attr, kAsc | kMath);
        found |= !entry || entry->shape != ShapeRule::Elementwise;
      } else {
        found = true;
      }
    }
    return !found;
  });
  return found;
}

Value Emitter::Conditional(const SourceRange &range, mlir::Value condition, const Names &binds,
                           const std::function<Value()> &then,
                           const std::function<Value()> &otherwise) {
  if (!MayNest(range))
    return Value::Invalid();
  mlir::Location loc = Loc(range);
  // Variables that one of the sides assigns (by `:=`) live on after it.
  ControlScope scope(*this, range, binds, binds);
  // The result goes through a cell, whose type both sides agree on.
  auto cell = NewCell(Key(range, "<conditional>"), false);
  auto op = b_.create<scf::IfOp>(loc, condition, true);
  ++uncertain_;
  ++region_depth_;
  scope.SaveState();
  Value sides[2];
  auto in_side = [&](int side, const std::function<void()> &emit) {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(side == 0 ? op.thenYield() : op.elseYield());
    emit();
    scope.RestoreState();
  };
  for (int side : {0, 1})
    in_side(side, [&] {
      sides[side] = side == 0 ? then() : otherwise();
      scope.EndRegion();
    });
  // A literal takes the type of the other side, as it does wherever two numbers meet.
  std::optional<DType> type;
  if (sides[0].IsScalar() && sides[1].IsScalar())
    type = CommonType(range, sides[0], sides[1]);
  for (int side : {0, 1})
    in_side(side, [&] {
      Value v = sides[side];
      if (type)
        v = Cast(range, v, *type);
      if (!v.IsInvalid())
        StoreCell(*cell, v, range, "the expression", nullptr);
    });
  --region_depth_;
  --uncertain_;
  scope.Close(/*may_skip=*/false);
  if (cell->kind == Cell::Kind::Unset)
    return Value::Invalid();
  return LoadCell(*cell, range);
}

Value Emitter::EvalBoolOp(const BoolOp *e) {
  bool is_and = e->op == BoolOperator::And;
  Value result = Eval(e->values[0]);
  for (size_t i = 1; i < e->values.size(); ++i) {
    if (result.IsInvalid())
      return result;
    Value truth = Truth(e->values[i - 1]->range, result);
    if (truth.IsInvalid())
      return truth;
    if (truth.IsConstant()) {
      // Short circuit at compile time: what is not reached is not even looked at.
      if ((truth.constant->i != 0) != is_and)
        return result;
      result = Eval(e->values[i]);
      continue;
    }
    const Expr *next = e->values[i];
    if (truth.proved && result.dtype == DType::Bool) {
      if (*truth.proved != is_and)
        return result;
      Value y = Eval(next);
      if (y.IsInvalid())
        return y;
      // The type is that of both, whatever is proved of the left one.
      result = y.IsScalar() && y.dtype != DType::Bool ? is_and ? Select(e->range, truth, y, result)
                                                               : Select(e->range, truth, result, y)
                                                      : y;
      continue;
    }
    // What those before have bound by :=, now that they did not decide.
    Names bound;
    for (size_t k = 0; k < i; ++k)
      bound.merge(BoundWhen(e->values[k], is_and));
    bool lazy = HasSideEffects(next) || ReadsUnbound(next);
    // Reads that are inside their tensors even without the left side need no branch. The trial must
    // not know what the left side says: its ops would stand outside of the guard.
    if (!lazy && ReadsMemory(next) && result.dtype == DType::Bool) {
      std::optional<Value> trial = WithoutChecks([&] { return Eval(next); });
      lazy = !trial;
      if (trial_failed_)
        return Value::Invalid();
      if (trial) {
        Value y = Truth(next->range, *trial);
        if (y.IsInvalid())
          return y;
        result = Binary(e->range, is_and ? BinaryOp::And : BinaryOp::Or, truth, y);
        continue;
      }
    }
    if (!lazy) {
      Value y = Eval(next);
      if (y.IsInvalid())
        return y;
      if (!result.IsScalar() || !y.IsScalar())
        return Error("variable-type", e->range,
                     "both sides of 'and' and 'or' must be numbers when the left one is known only "
                     "at run time: " +
                         Describe(result) + " and " + Describe(y));
      if (result.dtype == DType::Bool && y.dtype == DType::Bool) {
        if (is_and && !result.conditions.empty() && !y.conditions.empty()) {
          result.conditions.insert(result.conditions.end(), y.conditions.begin(),
                                   y.conditions.end());
          result.failures.clear();
          result.ssa = {};
        } else {
          std::vector<AffineCondition> failures;
          if (!is_and)
            failures = Failures(result);
          if (std::vector<AffineCondition> more; !failures.empty()) {
            more = Failures(y);
            failures.insert(failures.end(), more.begin(), more.end());
            if (more.empty())
              failures.clear();
          }
          result = Binary(e->range, is_and ? BinaryOp::And : BinaryOp::Or, result, y);
          if (!result.IsConstant())
            result.failures = std::move(failures);
        }
        continue;
      }
      // `a or b` of numbers is one of them, as in Python.
      result = is_and ? Select(e->range, truth, y, result) : Select(e->range, truth, result, y);
      continue;
    }
    Value left = result;
    std::vector<AffineCondition> facts = is_and ? truth.conditions : Failures(truth);
    auto guarded = [&] {
      size_t size = domain_.size();
      domain_.insert(domain_.end(), facts.begin(), facts.end());
      SetBound(bound);
      Value v = Eval(next);
      domain_.resize(size);
      return v;
    };
    Names binds;
    CollectTargets(next, binds);
    result = Conditional(
        e->range, Ssa(truth), binds, [&] { return is_and ? guarded() : left; },
        [&] { return is_and ? left : guarded(); });
  }
  return result;
}

Value Emitter::EvalIfExp(const IfExp *e) {
  bool index_mode = index_mode_;
  index_mode_ = false;
  Value c = EvalTest(e->test);
  index_mode_ = index_mode;
  if (c.IsInvalid())
    return c;
  if (c.IsConstant())
    return Eval(c.constant->i ? e->body : e->orelse);
  const bool lazy = ReadsUnbound(e->body) || ReadsUnbound(e->orelse);
  auto plain = [&](const Expr *x) {
    bool memory = lazy;
    ForEachExpr(x, [&](const Expr *inner) {
      memory |= llvm::isa<syntax::Subscript>(inner);
      return true;
    });
    return !memory && !HasSideEffects(x);
  };
  auto under = [&](const std::vector<AffineCondition> &facts, const Expr *x) {
    size_t size = domain_.size();
    domain_.insert(domain_.end(), facts.begin(), facts.end());
    SetBound(BoundWhen(e->test, x == e->body));
    Value v = Eval(x);
    domain_.resize(size);
    return v;
  };
  if (plain(e->body) && plain(e->orelse)) {
    Value x = Eval(e->body), y = Eval(e->orelse);
    if (x.IsInvalid() || y.IsInvalid())
      return Value::Invalid();
    if (x.IsScalar() && y.IsScalar())
      return Select(e->range, c, x, y);
    if (!x.IsNumber() || !y.IsNumber())
      return Error("variable-type", e->range,
                   "both sides of a conditional expression must be numbers when its condition is "
                   "known only at run time: " +
                       Describe(x) + " and " + Describe(y));
  }
  // Reads that are surely inside their tensors need no branch: select afterwards.
  if (!lazy && !HasSideEffects(e->body) && !HasSideEffects(e->orelse)) {
    Value sides[2];
    std::optional<Value> plain_sides = WithoutChecks([&] {
      sides[0] = Eval(e->body);
      sides[1] = Eval(e->orelse);
      return sides[0].IsScalar() && sides[1].IsScalar() ? sides[0] : Value::Invalid();
    });
    if (plain_sides)
      return Select(e->range, c, sides[0], sides[1]);
    if (trial_failed_)
      return Value::Invalid();
  }
  Names binds;
  CollectTargets(e->body, binds);
  CollectTargets(e->orelse, binds);
  return Conditional(
      e->range, Ssa(c), binds, [&] { return under(c.conditions, e->body); },
      [&] { return under(Failures(c), e->orelse); });
}

Value Emitter::EvalListComp(const ListComp *e) {
  std::vector<Value> out;
  bool failed = false;
  // The variables of the comprehension hide those of the function for its duration.
  Environment saved;
  bool has_frame = !frames_.empty();
  if (!has_frame)
    return Value::Invalid();
  Names targets;
  for (const Comprehension *g : e->generators)
    CollectTargets(g->target, targets);
  for (std::string_view name : targets) {
    auto it = frame().env.find(name);
    if (it != frame().env.end()) {
      saved.emplace(name, it->second);
      frame().env.erase(it);
    }
  }
  std::string saved_path = path_;
  std::function<void(size_t)> run = [&](size_t depth) {
    if (depth == e->generators.size()) {
      out.push_back(Eval(e->elt));
      failed |= out.back().IsInvalid();
      if (out.size() > kMaxItems && !failed) {
        TupleTooLarge(e->range, out.size());
        failed = true;
      }
      return;
    }
    const Comprehension *g = e->generators[depth];
    Value iterable = Eval(g->iter);
    if (iterable.IsInvalid()) {
      failed = true;
      return;
    }
    auto items = StaticItems(iterable, g->iter->range, true);
    if (!items) {
      failed = true;
      return;
    }
    int k = 0;
    std::string path = path_;
    for (const Value &item : *items) {
      path_ = path + "/" + std::to_string(k++);
      budget_.Repeat(g, Budget::Repeated::Comprehension, "", e->range);
      failed |= !Spend(g->iter->range);
      AssignTarget(g->target, item, g->iter->range);
      bool keep = true;
      for (const Expr *condition : g->ifs) {
        Value c = EvalTest(condition);
        if (!c.IsInvalid() && !c.IsConstant())
          c = Error("not-static", condition->range,
                    "the condition of a comprehension must be known at compile time");
        failed |= c.IsInvalid();
        keep = keep && !c.IsInvalid() && c.constant->i;
      }
      if (keep)
        run(depth + 1);
      if (failed)
        return;
    }
    path_ = path;
  };
  run(0);
  path_ = saved_path;
  for (std::string_view name : targets)
    if (auto it = frame().env.find(name); it != frame().env.end())
      frame().env.erase(it);
  for (auto &[name, binding] : saved)
    frame().env[name] = binding;
  if (failed)
    return Value::Invalid();
  return Value::TupleOf(std::move(out), true);
}

} // namespace pyasc::sema
