// for and while.
#include "compiler/sema/control.h"
#include "compiler/sema/emitter.h"
#include "compiler/sema/lint.h"

#include "compiler/ir/asc_dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"

namespace pyasc::sema {

using namespace syntax;
namespace affine = mlir::affine;
namespace scf = mlir::scf;
namespace arith = mlir::arith;

namespace {

constexpr size_t kMaxUnrolled = 4096;

StmtList ToList(Stmts stmts) { return StmtList(stmts.begin(), stmts.end()); }

Int TripCount(Int start, Int stop, Int step) {
  if (step > 0)
    return stop > start ? (stop - start + step - 1) / step : 0;
  return start > stop ? (start - stop - step - 1) / -step : 0;
}

// Whether a loop's variable plus its step, or the distance between its bounds, may leave 64 bits.
bool MayOverflow(const Value &start, const Value &stop, const Value &step) {
  constexpr Int kFarStep = Int{1} << 32, kFarBound = Int{1} << 61;
  auto beyond = [](const Value &v, Int limit) {
    return v.IsConstantInt() && (v.constant->i > limit || v.constant->i < -limit);
  };
  return beyond(step, kFarStep) || beyond(start, kFarBound) || beyond(stop, kFarBound);
}

} // namespace

std::optional<std::vector<Value>> Emitter::StaticItems(const Value &iterable,
                                                       const SourceRange &range, bool report) {
  if (iterable.IsTuple())
    return *iterable.items;
  if (iterable.kind != Value::Kind::Range || iterable.text == "grid") {
    if (report)
      Error("not-static", range,
            "expected something that is known at compile time: a range with constant bounds, a "
            "tuple or a list");
    return std::nullopt;
  }
  for (const Value &v : *iterable.items)
    if (!v.IsConstantInt()) {
      if (report)
        Error("not-static", range, "the bounds of a range that is unrolled must be constants");
      return std::nullopt;
    }
  Int start = (*iterable.items)[0].constant->i, stop = (*iterable.items)[1].constant->i,
      step = (*iterable.items)[2].constant->i;
  Int count = TripCount(start, stop, step);
  if (count > static_cast<Int>(kMaxUnrolled)) {
    if (report)
      Error("unroll-too-large", range,
            "cannot unroll " + ToString(count) + " iterations (at most " +
                std::to_string(kMaxUnrolled) + "); use range");
    return std::nullopt;
  }
  std::vector<Value> items;
  // Loop variables have 64 bits, unrolled or not.
  for (Int i = 0; i < count; ++i)
    items.push_back(Value::IntConstant(start + i * step, DType::Int64, false));
  return items;
}

FlowEnd Emitter::EmitFor(const For *s) {
  Value iterable = Eval(s->iter);
  if (iterable.IsInvalid())
    return FlowEnd::Falls;
  if (iterable.IsTuple() ||
      (iterable.kind == Value::Kind::Range && iterable.text == "static_range")) {
    auto items = StaticItems(iterable, s->iter->range, /*report=*/true);
    return items ? EmitUnrolled(s, *items) : FlowEnd::Falls;
  }
  const Value *rows = nullptr;
  Value range_value = iterable;
  if (iterable.IsTensor()) {
    if (iterable.tensor.dims.empty()) {
      Error("not-iterable", s->iter->range, "cannot iterate over a tensor without axes");
      return FlowEnd::Falls;
    }
    rows = &iterable;
    range_value = Value::OfKind(Value::Kind::Range);
    range_value.text = "range";
    range_value.items = std::make_shared<std::vector<Value>>(std::vector<Value>{
        Value::WeakInt(0), Value::WeakInt(iterable.tensor.dims[0].size), Value::WeakInt(1)});
  } else if (iterable.kind != Value::Kind::Range) {
    Error("not-iterable", s->iter->range,
          "cannot iterate over " + Describe(iterable) +
              "; use range, asc.parallel_for or asc.parallel_for_grid");
    return FlowEnd::Falls;
  }
  const StatementFlow &flow = frame().flow->statements.at(s);
  bool parallel = range_value.text == "parallel_for" || range_value.text == "grid";
  Names assigned = flow.assigned, rebound = ReboundIn(Stmts(&*s->body.begin(), s->body.size()));
  CollectTargets(s->target, rebound);
  KeepUpdatedTensors(frame().env, rebound, assigned);
  Names homes = flow.live_out;
  homes.insert(flow.carried.begin(), flow.carried.end());
  if (parallel)
    CheckParallelVariables(s, flow);
  SourceRange range = s->range;
  mlir::Value broken;
  if (flow.has_break)
    broken = NewFlag(range);
  ControlScope scope(*this, range, assigned, homes, SummedIn(s->body));
  std::function<void()> restore = ShadowSums(s);

  LoopContext loop;
  loop.broken = broken;
  if (flow.has_continue && NeedsSkipFlag(s->body))
    loop.skipping = NewFlag(range);
  loop.parallel = parallel;
  loop.frame = frames_.size() - 1;
  loop.statement = s;
  loops_.push_back(loop);

  // Whether the body surely runs.
  bool runs = true;
  size_t axes = range_value.text == "grid" ? range_value.items->size() : 1;
  for (size_t k = 0; k < axes; ++k) {
    const std::vector<Value> &items = *range_value.items;
    Value start = axes == 1 && range_value.text != "grid" ? items[0] : Value::WeakInt(0);
    Value stop = range_value.text == "grid" ? items[k] : items[1];
    Value step = range_value.text == "grid" ? Value::WeakInt(1) : items[2];
    bool proved = false;
    if (step.IsConstantInt() && start.IsIntegral() && stop.IsIntegral()) {
      if (start.IsConstantInt() && stop.IsConstantInt()) {
        proved = TripCount(start.constant->i, stop.constant->i, step.constant->i) > 0;
      } else if (AffineOf(start) && !MayOverflow(start, stop, step)) {
        proved = true;
        std::vector<mlir::AffineExpr> stops = stop.affine;
        if (stop.IsConstantInt())
          stops = {ConstantExpr(stop.constant->i)};
        proved = !stops.empty() && (stops.size() == 1 || stop.list == ListKind::Min);
        for (mlir::AffineExpr e : stops)
          proved = proved && (step.constant->i > 0 ? Prove(e - AffineOf(start) - 1)
                                                   : Prove(AffineOf(start) - e - 1));
      }
    }
    runs = runs && proved;
  }

  scope.SaveState();
  std::vector<Value> indices;
  EmitCountedLoop(s, range_value, 0, indices, rows);
  if (std::optional<Names> at_exit = loops_.back().bound_at_exit) {
    Names names;
    for (std::string_view n : BoundNames())
      if (at_exit->count(n))
        names.insert(n);
    for (auto &[name, binding] : frame().env)
      binding.maybe_unbound |= !names.count(name);
  }
  scope.EndRegion();
  scope.RestoreState();
  scope.Close(/*may_skip=*/!runs);
  loops_.pop_back();
  restore();
  return EmitElse(s, s->orelse, broken);
}

// Jumps: the else runs in any case and leaves the loop around.
FlowEnd Emitter::EmitElse(const Stmt *s, Stmts orelse, mlir::Value broken) {
  if (orelse.empty())
    return FlowEnd::Falls;
  std::vector<mlir::Value> flags;
  if (broken)
    flags.push_back(broken);
  if (frame().returned && frame().flow->statements.at(s).has_return)
    flags.push_back(frame().returned);
  if (flags.empty())
    return EmitBody(ToList(orelse));
  StmtList list = ToList(orelse);
  // Unlike code that a jump goes past, what follows a skipped else is reached.
  Names assigned = AssignedIn(list);
  KeepUpdatedTensors(frame().env, ReboundIn(orelse), assigned);
  ControlScope scope(*this, orelse[0]->range, std::move(assigned),
                     frame().flow->statements.at(s).live_out);
  mlir::Value any;
  for (mlir::Value flag : flags) {
    mlir::Value v = ReadFlag(flag, orelse[0]->range);
    any = any ? Ops(orelse[0]->range).Or(any, v) : v;
  }
  auto op = b_.create<scf::IfOp>(Loc(orelse[0]->range), Ops(orelse[0]->range).Not(any), false);
  FlowEnd end;
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(op.thenYield());
    ++uncertain_;
    ++region_depth_;
    end = EmitBody(list);
    --region_depth_;
    --uncertain_;
  }
  if (end == FlowEnd::Falls)
    scope.EndRegion();
  scope.Close(/*may_skip=*/true);
  return FlowEnd::Falls;
}

// Emits axis `axis` of the loop and what is inside. `indices` has those of the axes outside.
void Emitter::EmitCountedLoop(const For *s, const Value &range_value, size_t axis,
                              std::vector<Value> &indices, const Value *rows) {
  bool grid = range_value.text == "grid";
  size_t axes = grid ? range_value.items->size() : 1;
  if (axis == axes) {
    Value item;
    if (grid)
      item = Value::TupleOf(indices);
    else if (rows)
      item = Subscript(s->iter->range, *rows, indices[0]);
    else
      item = indices[0];
    EmitLoopBody(s, item);
    return;
  }
  const std::vector<Value> &items = *range_value.items;
  Value start = grid ? Value::WeakInt(0) : items[0];
  Value stop = grid ? items[axis] : items[1];
  Value step = grid ? Value::WeakInt(1) : items[2];
  mlir::Location loc = Loc(s->iter->range);
  bool parallel = loops_.back().parallel;

  auto exprs_of = [&](const Value &v, ListKind kind) {
    std::vector<mlir::AffineExpr> out;
    if (mlir::AffineExpr e = AffineOf(v))
      out = {e};
    else if (!v.affine.empty() && v.list == kind)
      out = v.affine;
    return out;
  };
  mlir::Operation *op = nullptr;
  mlir::Value iv;
  Value index;
  // A loop that may be split, its last iteration emitted apart with a constant index.
  const StatementFlow &flow = frame().flow->statements.at(s);
  std::string key;
  if (start.IsConstantInt() && stop.IsConstantInt() && step.IsConstantInt() && !flow.has_break &&
      !flow.has_return && !tail_of_split_) {
    key = Key(s->range, "split" + std::to_string(axis));
    Int first = start.constant->i, by = step.constant->i;
    Int trips = TripCount(first, stop.constant->i, by);
    if (memory_.peeled.count(key) && trips > 0) {
      Int last = first + (trips - 1) * by;
      Value split = range_value;
      split.items = std::make_shared<std::vector<Value>>(items);
      (*split.items)[grid ? axis : 1] = Value::WeakInt(last);
      if (trips > 1) {
        tail_of_split_ = true; // the remaining loop is not split again
        EmitCountedLoop(s, split, axis, indices, rows);
        tail_of_split_ = false;
      }
      std::string saved_path = path_;
      path_ += "/last";
      indices.push_back(Value::IntConstant(last, DType::Int64, false));
      EmitCountedLoop(s, range_value, axis + 1, indices, rows);
      indices.pop_back();
      path_ = saved_path;
      return;
    }
  }
  bool is_split_rest = tail_of_split_;
  tail_of_split_ = false;
  size_t domain_size = domain_.size(), loop_dims = loop_dims_.size(), dims = dims_.size();
  bool pushed_dim = false;

  for (const Value *v : {&start, &stop, &step})
    if (v->IsConstantInt() &&
        (v->constant->i > MaxInt(DType::Int64) || v->constant->i < MinInt(DType::Int64))) {
      Error("bad-range", s->iter->range,
            "the bound " + ToString(v->constant->i) + " of the range does not fit into int64");
      return;
    }
  bool known_step = step.IsConstantInt() && !MayOverflow(start, stop, step);
  std::vector<mlir::AffineExpr> lowers, uppers;
  Int stride = known_step ? step.constant->i : 0;
  if (known_step && stride > 0) {
    lowers = exprs_of(start, ListKind::Max);
    uppers = exprs_of(stop, ListKind::Min);
  } else if (known_step && stride < 0 && AffineOf(start)) {
    // Counting down: iterate upwards and compute the index.
    for (mlir::AffineExpr e : exprs_of(stop, ListKind::Max))
      uppers.push_back((AffineOf(start) - e).ceilDiv(static_cast<int64_t>(-stride)));
    lowers = {ConstantExpr(0)};
  }
  auto misjudged = [&](mlir::AffineExpr e) { return HasMisjudgedMod(e); };
  if (!lowers.empty() && !uppers.empty() && llvm::none_of(lowers, misjudged) &&
      llvm::none_of(uppers, misjudged)) {
    Int loop_step = stride > 0 ? stride : 1;
    Packed low = Pack(lowers), high = Pack(uppers);
    auto loop = b_.create<affine::AffineForOp>(loc, low.operands, low.map, high.operands, high.map,
                                               static_cast<int64_t>(loop_step));
    op = loop;
    iv = loop.getInductionVar();
    Interval r;
    for (mlir::AffineExpr e : lowers)
      if (auto l = RangeOf(e).low)
        r.low = r.low ? std::max(*r.low, *l) : *l;
    for (mlir::AffineExpr e : uppers)
      if (auto h = RangeOf(e).high)
        r.high = r.high ? std::min(*r.high, *h - 1) : *h - 1;
    auto only = lowers.size() == 1 ? mlir::dyn_cast<mlir::AffineConstantExpr>(lowers[0])
                                   : mlir::AffineConstantExpr();
    if (only && r.high && *r.high >= only.getValue())
      r.high = only.getValue() + (*r.high - only.getValue()) / loop_step * loop_step;
    mlir::AffineExpr dim = NewDim(iv, r);
    pushed_dim = true;
    loop_dims_.push_back({static_cast<unsigned>(dims_.size() - 1), parallel, s->iter->range,
                          domain_size, loop.getBody(), static_cast<int64_t>(loop_step), only,
                          is_split_rest ? std::string() : key});
    for (mlir::AffineExpr e : lowers)
      domain_.push_back({dim - e, false});
    for (mlir::AffineExpr e : uppers)
      domain_.push_back({e - 1 - dim, false});
    if (loop_step > 1 && lowers.size() == 1)
      domain_.push_back({(dim - lowers[0]) % static_cast<int64_t>(loop_step), true});
    index = stride > 0 ? FromAffine(dim)
                       : FromAffine(AffineOf(start) + dim * static_cast<int64_t>(stride));
  } else {
    // The number of iterations is computed, the index from it.
    Value lower = Cast(s->iter->range, start, DType::Int64);
    Value upper = Cast(s->iter->range, stop, DType::Int64);
    if (known_step && stride > 0) {
      mlir::Value step_value = b_.create<arith::ConstantIndexOp>(loc, static_cast<int64_t>(stride));
      auto loop =
          b_.create<scf::ForOp>(loc, IndexSsa(lower, loc), IndexSsa(upper, loc), step_value);
      op = loop;
      iv = loop.getInductionVar();
      index = Value::Scalar(DType::Int64, iv);
      index.range.low = lower.range.low;
      if (upper.range.high)
        index.range.high = *upper.range.high - 1;
    } else {
      ScalarOps ops = Ops(s->iter->range);
      mlir::Value first = Ssa(lower), last = Ssa(upper);
      mlir::Value by = SsaAs(step, DType::Int64);
      DType t = DType::Int64;
      mlir::Value zero = ops.Int(t, 0), one = ops.Int(t, 1);
      mlir::Value up = ops.Compare(CompareOp::Gt, by, zero, t);
      mlir::Value nonzero = ops.Compare(CompareOp::Ne, by, zero, t);
      if (!step.IsConstantInt())
        Check("bad-range", s->iter->range, nonzero, nullptr, nullptr,
              "the step of range() must not be zero");
      // Distance and step as unsigned numbers, which hold any of them.
      mlir::Value size = ops.Select(up, by, ops.Negate(by, t));
      size = ops.Select(nonzero, size, one);
      mlir::Value runs = ops.Select(up, ops.Compare(CompareOp::Lt, first, last, t),
                                    ops.Compare(CompareOp::Gt, first, last, t));
      runs = ops.And(runs, nonzero);
      mlir::Value span = ops.Select(up, ops.Binary(BinaryOp::Sub, last, first, t),
                                    ops.Binary(BinaryOp::Sub, first, last, t));
      span = ops.Select(runs, span, one);
      mlir::Value more =
          b_.create<arith::DivUIOp>(loc, ops.Binary(BinaryOp::Sub, span, one, t), size);
      // More iterations than an index counts end with the machine that runs them.
      more = ops.Binary(BinaryOp::Min, more, ops.Int(t, INT64_MAX - 1), DType::UInt64);
      mlir::Value trips = ops.Select(runs, ops.Binary(BinaryOp::Add, more, one, t), zero);
      mlir::Value trip_index = b_.create<arith::IndexCastOp>(loc, b_.getIndexType(), trips);
      auto loop = b_.create<scf::ForOp>(loc, b_.create<arith::ConstantIndexOp>(loc, 0), trip_index,
                                        b_.create<arith::ConstantIndexOp>(loc, 1));
      op = loop;
      iv = loop.getInductionVar();
      mlir::OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      mlir::Value offset = b_.create<arith::MulIOp>(
          loc, b_.create<arith::IndexCastOp>(loc, b_.getI64Type(), iv), by);
      index = Value::Scalar(t, b_.create<arith::AddIOp>(loc, first, offset));
    }
  }
  if (parallel)
    op->setAttr(ir::AscDialect::kParallel, b_.getUnitAttr());
  for (const auto &[name, value] : range_value.options)
    if (name == "unroll")
      op->setAttr(ir::AscDialect::kUnroll, b_.getI64IntegerAttr(value));

  mlir::Block *body = &op->getRegion(0).front();
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(body->getTerminator());
    bool exact = pushed_dim;
    uncertain_ += !exact;
    ++region_depth_;
    if (parallel)
      parallel_bodies_.push_back(body);
    indices.push_back(index);
    EmitCountedLoop(s, range_value, axis + 1, indices, rows);
    indices.pop_back();
    if (parallel)
      parallel_bodies_.pop_back();
    if (parallel_bodies_.empty())
      accesses_.clear();
    --region_depth_;
    uncertain_ -= !exact;
  }
  domain_.resize(domain_size);
  loop_dims_.resize(loop_dims);
  dims_.resize(dims); // what is computed from the loop's variable does not outlive the loop
}

// The body of one iteration, in the block that the builder stands in.
void Emitter::EmitLoopBody(const For *s, const Value &item) {
  const StatementFlow &flow = frame().flow->statements.at(s);
  Names assigned = flow.assigned, rebound = ReboundIn(s->body);
  CollectTargets(s->target, rebound);
  KeepUpdatedTensors(frame().env, rebound, assigned);
  ControlScope inner(*this, s->range, assigned, {});
  inner.EnterIteration();
  loops_.back().region_depth = region_depth_;
  std::vector<mlir::Value> flags;
  if (loops_.back().broken)
    flags.push_back(loops_.back().broken);
  if (flow.has_return && frame().returned)
    flags.push_back(frame().returned);
  mlir::OpBuilder::InsertionGuard guard(b_);
  if (!flags.empty()) {
    mlir::Value any;
    for (mlir::Value flag : flags) {
      mlir::Value v = ReadFlag(flag, s->range);
      any = any ? Ops(s->range).Or(any, v) : v;
    }
    auto op = b_.create<scf::IfOp>(Loc(s->range), Ops(s->range).Not(any), false);
    b_.setInsertionPoint(op.thenYield());
    ++uncertain_;
    ++region_depth_;
  }
  if (loops_.back().skipping)
    SetFlag(loops_.back().skipping, false, s->range);
  AssignTarget(s->target, item, s->iter->range);
  EmitBody(ToList(s->body));
  if (!flags.empty()) {
    --region_depth_;
    --uncertain_;
  }
}

FlowEnd Emitter::EmitUnrolled(const For *s, const std::vector<Value> &items) {
  const StatementFlow &flow = frame().flow->statements.at(s);
  bool jumps = flow.has_break || flow.has_continue || flow.has_return;
  std::optional<ControlScope> scope;
  LoopContext loop;
  loop.frame = frames_.size() - 1;
  loop.statement = s;
  loop.region_depth = region_depth_;
  if (jumps) {
    // Iterations may end early at run time: what one hands to the next is in cells.
    Names homes = flow.live_out;
    homes.insert(flow.carried.begin(), flow.carried.end());
    scope.emplace(*this, s->range, flow.assigned, homes, SummedIn(s->body));
    if (flow.has_break)
      loop.broken = NewFlag(s->range);
    if (flow.has_continue && NeedsSkipFlag(s->body))
      loop.skipping = NewFlag(s->range);
  }
  mlir::Value broken = loop.broken;
  loops_.push_back(loop);
  std::string saved_path = path_;
  FlowEnd end = FlowEnd::Falls;

  std::function<void(size_t)> from = [&](size_t k) {
    for (; k < items.size() && !loops_.back().stopped && !budget_.exhausted(); ++k) {
      budget_.Repeat(s, Budget::Repeated::Loop, "", s->iter->range);
      path_ = saved_path + "/" + std::to_string(k);
      if (loops_.back().skipping)
        SetFlag(loops_.back().skipping, false, s->range);
      AssignTarget(s->target, items[k], s->iter->range);
      bool had_break = false;
      FlowEnd body_end = EmitBody(ToList(s->body));
      (void)had_break;
      if (body_end == FlowEnd::Jumps && AlwaysReturns(s->body)) {
        end = FlowEnd::Jumps;
        return;
      }
      std::vector<mlir::Value> flags;
      if (broken)
        flags.push_back(broken);
      if (flow.has_return && frame().returned)
        flags.push_back(frame().returned);
      if (!flags.empty() && k + 1 < items.size() && !loops_.back().stopped) {
        if (!MayNest(s->iter->range))
          return;
        ControlScope guarded(*this, s->range, flow.assigned, {});
        mlir::Value any;
        for (mlir::Value flag : flags) {
          mlir::Value v = ReadFlag(flag, s->range);
          any = any ? Ops(s->range).Or(any, v) : v;
        }
        auto op = b_.create<scf::IfOp>(Loc(s->range), Ops(s->range).Not(any), false);
        {
          mlir::OpBuilder::InsertionGuard guard(b_);
          b_.setInsertionPoint(op.thenYield());
          ++uncertain_;
          ++region_depth_;
          loops_.back().region_depth = region_depth_;
          from(k + 1);
          --region_depth_;
          --uncertain_;
          loops_.back().region_depth = region_depth_;
        }
        guarded.EndRegion();
        guarded.Close(false);
        return;
      }
    }
  };
  from(0);
  path_ = saved_path;
  bool stopped = loops_.back().stopped;
  loops_.pop_back();
  if (scope) {
    scope->EndRegion();
    scope->Close(items.empty());
  }
  if (end == FlowEnd::Falls && !(stopped && !broken))
    return EmitElse(s, s->orelse, broken);
  return end;
}

FlowEnd Emitter::EmitWhile(const While *s) {
  const StatementFlow &flow = frame().flow->statements.at(s);
  SourceRange range = s->range;
  mlir::Location loc = Loc(range);
  Names assigned = flow.assigned, rebound = ReboundIn(s->body);
  KeepUpdatedTensors(frame().env, rebound, assigned);
  Names homes = flow.live_out;
  homes.insert(flow.carried.begin(), flow.carried.end());
  LoopContext loop;
  if (flow.has_break)
    loop.broken = NewFlag(range);
  if (flow.has_continue && NeedsSkipFlag(s->body))
    loop.skipping = NewFlag(range);
  loop.frame = frames_.size() - 1;
  loop.statement = s;
  ControlScope scope(*this, range, assigned, homes, SummedIn(s->body));
  loops_.push_back(loop);
  mlir::Value broken = loop.broken;

  auto op = b_.create<scf::WhileOp>(loc, mlir::TypeRange{}, mlir::ValueRange{});
  scope.SaveState();
  bool forever = false;
  Names bound_by_test;
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    ++uncertain_;
    ++region_depth_;
    mlir::Block *before = b_.createBlock(&op.getBefore());
    {
      ControlScope condition_scope(*this, range, assigned, {});
      condition_scope.EnterIteration();
      auto evaluate = [&]() -> mlir::Value {
        Value c = EvalTest(s->test);
        if (c.IsInvalid())
          return Ops(range).Int(DType::Bool, 0);
        if (TestNeverChanges(*s) && !(c.IsConstant() && !c.constant->i))
          Warn("endless-loop", s->test->range,
               "nothing in the loop changes what is tested here: once it is true, the loop never "
               "ends; change it in the body, or leave the loop by break");
        forever = c.IsConstant() && c.constant->i;
        for (std::string_view name : BoundNames())
          if (assigned.count(name))
            bound_by_test.insert(name);
        return Ssa(c);
      };
      std::vector<mlir::Value> flags;
      if (broken)
        flags.push_back(broken);
      if (flow.has_return && frame().returned)
        flags.push_back(frame().returned);
      mlir::Value condition;
      if (flags.empty()) {
        condition = evaluate();
      } else {
        mlir::Value any;
        for (mlir::Value flag : flags) {
          mlir::Value v = ReadFlag(flag, range);
          any = any ? Ops(range).Or(any, v) : v;
        }
        auto inner = b_.create<scf::IfOp>(loc, b_.getI1Type(), Ops(range).Not(any), true);
        mlir::OpBuilder::InsertionGuard inner_guard(b_);
        b_.setInsertionPointToEnd(inner.thenBlock());
        b_.create<scf::YieldOp>(loc, evaluate());
        b_.setInsertionPointToEnd(inner.elseBlock());
        b_.create<scf::YieldOp>(loc, Ops(range).Int(DType::Bool, 0));
        condition = inner.getResult(0);
      }
      b_.setInsertionPointToEnd(before);
      b_.create<scf::ConditionOp>(loc, condition, mlir::ValueRange{});
    }
    // Values that the condition computed do not reach the body.
    scope.RestoreState();
    for (std::string_view name : bound_by_test)
      if (auto it = frame().env.find(name); it != frame().env.end() && it->second.home)
        it->second.maybe_unbound = false;
    SetBound(BoundWhen(s->test, true));
    b_.createBlock(&op.getAfter());
    {
      ControlScope body_scope(*this, range, assigned, {});
      body_scope.EnterIteration();
      loops_.back().region_depth = region_depth_;
      if (loops_.back().skipping)
        SetFlag(loops_.back().skipping, false, range);
      EmitBody(ToList(s->body));
      b_.create<scf::YieldOp>(loc);
    }
    --region_depth_;
    --uncertain_;
  }
  if (std::optional<Names> at_exit = loops_.back().bound_at_exit) {
    Names now = BoundNames();
    for (auto &[name, binding] : frame().env) {
      bool bound = at_exit->count(name) && (forever || now.count(name));
      binding.maybe_unbound = !bound;
    }
  }
  scope.EndRegion();
  scope.RestoreState();
  // `while True` is left by its breaks only, after the body has begun.
  scope.Close(/*may_skip=*/!forever);
  // The test runs at least once.
  for (std::string_view name : bound_by_test)
    if (auto it = frame().env.find(name); it != frame().env.end())
      it->second.maybe_unbound = false;
  if (!flow.has_break)
    SetBound(BoundWhen(s->test, false));
  loops_.pop_back();
  return EmitElse(s, s->orelse, broken);
}

// ---- 16-bit sums in memory ----

std::function<void()> Emitter::ShadowSums(const For *s) {
  // The loops around each statement, with what their variables depend on.
  struct Candidate {
    std::string_view name;
    SourceRange range;
  };
  std::vector<Candidate> candidates;
  std::vector<const Stmt *> loops;
  // name -> names that it is computed from, in this loop
  std::map<std::string_view, Names> depends;
  auto depend = [&](const Expr *target, const Expr *on) {
    Names targets;
    CollectTargets(target, targets);
    for (std::string_view t : targets)
      CollectReads(on, depends[t]);
  };
  std::function<void(Stmts)> scan_names = [&](Stmts stmts) {
    ForEachStatement(stmts, [&](const Stmt *x) {
      if (auto *f = llvm::dyn_cast<For>(x))
        depend(f->target, f->iter);
      if (auto *a = llvm::dyn_cast<Assign>(x))
        for (const Expr *t : a->targets)
          depend(t, a->value);
    });
  };
  depend(s->target, s->iter);
  scan_names(s->body);
  std::function<void(const Stmt *)> visit = [&](const Stmt *x) {
    auto block = [&](Stmts stmts) {
      for (const Stmt *inner : stmts)
        visit(inner);
    };
    if (auto *f = llvm::dyn_cast<For>(x)) {
      loops.push_back(x);
      block(f->body);
      loops.pop_back();
      return block(f->orelse);
    }
    if (auto *w = llvm::dyn_cast<While>(x)) {
      loops.push_back(x);
      block(w->body);
      loops.pop_back();
      return block(w->orelse);
    }
    if (auto *i = llvm::dyn_cast<If>(x)) {
      block(i->body);
      return block(i->orelse);
    }
    const Expr *target = nullptr;
    if (auto *a = llvm::dyn_cast<AugAssign>(x);
        a && (a->op == Operator::Add || a->op == Operator::Sub))
      target = a->target;
    if (auto *a = llvm::dyn_cast<Assign>(x); a && AsUpdate(a))
      target = a->targets[0];
    const Expr *key = nullptr;
    if (auto *sub = llvm::dyn_cast_or_null<syntax::Subscript>(target)) {
      key = sub->slice;
      target = sub->value;
    }
    auto *name = llvm::dyn_cast_or_null<syntax::Name>(target);
    if (!name)
      return;
    Names closure;
    if (key)
      CollectReads(key, closure);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::string_view n : Names(closure))
        for (std::string_view on : depends[n])
          changed |= closure.insert(on).second;
    }
    for (const Stmt *l : loops) {
      auto *f = llvm::dyn_cast<For>(l);
      Names targets;
      if (f)
        CollectTargets(f->target, targets);
      bool indexes = false;
      for (std::string_view t : targets)
        indexes |= closure.count(t) != 0;
      if (!indexes) {
        candidates.push_back({name->id, x->range});
        return;
      }
    }
  };
  visit(s);
  Names rebound = ReboundIn(s->body);
  CollectTargets(s->target, rebound);
  std::vector<std::pair<std::string_view, Value>> shadowed; // name, the tensor that it was
  for (const Candidate &c : candidates) {
    auto it = frame().env.find(c.name);
    if (it == frame().env.end() || !it->second.value || !it->second.value->IsTensor())
      continue;
    Value original = *it->second.value;
    if (!Is16BitFloat(original.dtype) || original.tensor.wide || rebound.count(c.name))
      continue;
    // No other name may see the memory meanwhile.
    Names read;
    ForEachStatement(s->body, [&](const Stmt *x) {
      ForEachExprOf(x, [&](const Expr *e) {
        CollectReads(e, read);
        CollectTargets(e, read);
        return false;
      });
    });
    for (std::string_view other : read) {
      auto o = frame().env.find(other);
      if (other != c.name && o != frame().env.end() && o->second.value &&
          o->second.value->IsTensor() &&
          o->second.value->tensor.storage == original.tensor.storage) {
        Error("aliased-sum", c.range,
              "'" + std::string(c.name) + "' is summed in 16 bits here while '" +
                  std::string(other) +
                  "' names the same memory; sum into a float32 tensor and store it afterwards");
        return [] {};
      }
    }
    Value shadow = NewTensor(c.range, DType::Float32, original.tensor.Shape());
    CopyInto(c.range, shadow, original);
    shadow.dtype = original.dtype;
    shadow.tensor.wide = true;
    shadow.tensor.fresh = false;
    it->second.value = shadow;
    shadowed.emplace_back(c.name, original);
  }
  return [this, shadowed, range = s->range] {
    for (const auto &[name, original] : shadowed) {
      Binding &b = frame().env[name];
      Value wide = *b.value;
      b.value = original;
      CopyInto(range, original, wide);
    }
  };
}

} // namespace pyasc::sema
