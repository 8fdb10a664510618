#include "compiler/transform/nest.h"

#include "compiler/transform/convert_branches.h"
#include "compiler/transform/expand_tensors.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;
using affine::AffineIfOp;

namespace {

// Larger coefficients come from no sane kernel and would only endanger the arithmetic.
constexpr int64_t kMaxCoefficient = int64_t(1) << 40;
constexpr unsigned kMaxStatements = 96;
constexpr unsigned kMaxLoops = 48;
// Loops that stand for tensor operations know nothing of each other, so that more of them are
// borne.
constexpr unsigned kMaxElementLoops = 192;

bool isSmall(const LinearForm &form) {
  return std::abs(form.constant) < kMaxCoefficient &&
         llvm::all_of(form.coefficients, [](int64_t c) { return std::abs(c) < kMaxCoefficient; });
}

bool isPureScalar(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); }) &&
         llvm::all_of(op->getOperandTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
}

bool isLoad(Operation *op) { return isa<affine::AffineLoadOp, memref::LoadOp>(op); }

std::string onLine(Operation *op) {
  unsigned line = lineOf(op);
  return line ? " on line " + std::to_string(line) : "";
}

// Why an op that is no store keeps the loops around it.
std::string describeOpaque(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto why = branch->getAttrOfType<StringAttr>(kBranchReason);
    return "the `if`" + onLine(op) + " stays a branch" +
           (why ? ", since " + why.getValue().str() : "") + "; write `a if c else b` or asc.where";
  }
  if (isa<affine::AffineIfOp>(op))
    return "the `if`" + onLine(op) + " stays a branch";
  if (isa<scf::WhileOp>(op))
    return "the loop" + onLine(op) + " ends when a value that it computes says so";
  if (isa<scf::ForOp>(op))
    return "how often the loop" + onLine(op) + " runs is read from memory";
  if (op->getName().getStringRef() == "asc.check")
    return "an index" + onLine(op) + " is checked when it runs";
  if (isa<linalg::LinalgOp, memref::CopyOp>(op))
    return "the tensor operation" + onLine(op) + " stands in a loop";
  return "'" + op->getName().getStringRef().str() + "' runs in order";
}

} // namespace

Value rootBuffer(Value memref) {
  while (Operation *definition = memref.getDefiningOp()) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(definition))
      memref = view.getViewSource();
    else
      break;
  }
  return memref;
}

bool areDistinctBuffers(Value a, Value b) {
  a = rootBuffer(a);
  b = rootBuffer(b);
  if (a == b)
    return false;
  auto isAllocation = [](Value v) {
    return isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(v.getDefiningOp());
  };
  auto asArgument = [](Value v) -> BlockArgument {
    auto argument = dyn_cast<BlockArgument>(v);
    return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? argument
                                                                             : BlockArgument();
  };
  BlockArgument first = asArgument(a), second = asArgument(b);
  if ((!isAllocation(a) && !first) || (!isAllocation(b) && !second))
    return false;
  if (!first || !second)
    return true;
  auto mayAlias = [](BlockArgument argument) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function.getArgAttr(argument.getArgNumber(), "asc.may_alias") != nullptr;
  };
  return !mayAlias(first) && !mayAlias(second);
}

std::string describeBuffer(Value memref) {
  Value root = rootBuffer(memref);
  StringAttr name;
  if (auto argument = dyn_cast<BlockArgument>(root)) {
    if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "asc.name");
  } else if (Operation *definition = root.getDefiningOp()) {
    name = definition->getAttrOfType<StringAttr>("asc.name");
  }
  if (name)
    return "'" + name.str() + "'";
  return cast<MemRefType>(memref.getType()).getRank() == 0 ? "a local variable" : "a temporary";
}

unsigned lineOf(Operation *op) {
  unsigned line = 0;
  op->getLoc()->walk([&](Location location) {
    if (auto position = dyn_cast<FileLineColLoc>(location)) {
      line = position.getLine();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return line;
}

unsigned Nest::newVariable(Value value) {
  values.push_back(value);
  return values.size() - 1;
}

std::optional<unsigned> Nest::loopOf(Operation *forOp) const {
  for (unsigned index = 0; index < loops.size(); ++index)
    if (AffineForOp(loops[index].op).getOperation() == forOp)
      return index;
  return std::nullopt;
}

const LinearForm *Nest::formOf(Value value) const {
  auto known = forms.find(value);
  return known != forms.end() && known->second ? &*known->second : nullptr;
}

bool Nest::sink(unsigned count, llvm::function_ref<bool(AffineForOp)> isOuter) {
  if (statements.empty() || statements[0].loops.size() < count)
    return false;
  auto sunk = llvm::to_vector<4>(ArrayRef<unsigned>(statements[0].loops).take_front(count));
  auto startsWithSunk = [&](ArrayRef<unsigned> enclosing) {
    return enclosing.size() >= count && enclosing.take_front(count) == ArrayRef<unsigned>(sunk);
  };
  for (const Statement &statement : statements) {
    if (!startsWithSunk(statement.loops))
      return false;
    for (unsigned l : ArrayRef<unsigned>(statement.loops).drop_front(count))
      for (const Constraint &bound : loops[l].bounds)
        for (unsigned v = 0; v < bound.form.coefficients.size(); ++v)
          if (isOuter(loops[l].op) && bound.form.mentions(v) && varies(v, sunk))
            return false;
  }
  auto move = [&](llvm::SmallVectorImpl<unsigned> &enclosing) {
    if (!startsWithSunk(enclosing)) // of a load between the loops
      return false;
    unsigned last = count;
    while (last < enclosing.size() && isOuter(loops[enclosing[last]].op))
      ++last;
    std::rotate(enclosing.begin(), enclosing.begin() + count, enclosing.begin() + last);
    return true;
  };
  bool areMoved = true;
  for (Statement &statement : statements) {
    areMoved &= move(statement.loops);
    for (Access &access : statement.accesses)
      areMoved &= move(access.loops);
  }
  return areMoved;
}

bool Nest::varies(unsigned variable, ArrayRef<unsigned> inner) const {
  if (llvm::any_of(inner, [&](unsigned l) { return loops[l].variable == variable; }))
    return true;
  for (const Division &division : divisions)
    if (division.variable == variable)
      for (unsigned v = 0; v < division.numerator.coefficients.size(); ++v)
        if (division.numerator.mentions(v) && varies(v, inner))
          return true;
  return false;
}

void Nest::addDivisions(System &system, ArrayRef<LinearForm> extra) const {
  llvm::SmallVector<bool> done(divisions.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, division] : llvm::enumerate(divisions)) {
      unsigned v = division.variable;
      if (done[index] ||
          (llvm::none_of(extra, [&](const LinearForm &form) { return form.mentions(v); }) &&
           llvm::none_of(system.getConstraints(),
                         [&](const Constraint &c) { return c.form.mentions(v); })))
        continue;
      done[index] = changed = true;
      // 0 <= numerator - divisor * quotient <= divisor - 1
      auto remainder =
          division.numerator.plus(LinearForm::ofVariable(division.variable), -division.divisor);
      auto room = remainder ? LinearForm::ofConstant(division.divisor - 1).plus(*remainder, -1)
                            : std::nullopt;
      if (!room)
        return system.poison();
      system.addNonNegative(*remainder);
      system.addNonNegative(*room);
    }
  }
}

void Nest::addDomain(System &system, ArrayRef<unsigned> ofLoops,
                     ArrayRef<Constraint> guards) const {
  for (unsigned loop : ofLoops)
    for (const Constraint &bound : loops[loop].bounds)
      system.add(bound);
  for (const Constraint &guard : guards)
    system.add(guard);
}

std::optional<LinearForm> Nest::evaluate(AffineExpr expr, ValueRange operands, unsigned numDims) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return LinearForm::ofConstant(cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::DimId:
    return evaluate(operands[cast<AffineDimExpr>(expr).getPosition()]);
  case AffineExprKind::SymbolId:
    return evaluate(operands[numDims + cast<AffineSymbolExpr>(expr).getPosition()]);
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<LinearForm> lhs = evaluate(binary.getLHS(), operands, numDims);
  std::optional<LinearForm> rhs = evaluate(binary.getRHS(), operands, numDims);
  if (!lhs || !rhs)
    return std::nullopt;
  std::optional<LinearForm> result;
  if (expr.getKind() == AffineExprKind::Add) {
    result = lhs->plus(*rhs);
  } else if (expr.getKind() == AffineExprKind::Mul) {
    if (rhs->isConstant())
      result = lhs->times(rhs->constant);
    else if (lhs->isConstant())
      result = rhs->times(lhs->constant);
  } else {
    if (!rhs->isConstant() || rhs->constant <= 0)
      return std::nullopt;
    int64_t divisor = rhs->constant;
    bool isCeil = expr.getKind() == AffineExprKind::CeilDiv;
    LinearForm numerator = *lhs;
    if (isCeil) // ceil(a / d) = -floor(-a / d)
      numerator = *lhs->times(-1);
    LinearForm quotient;
    if (numerator.isConstant()) {
      int64_t n = numerator.constant;
      quotient = LinearForm::ofConstant(n / divisor - (n % divisor != 0 && n < 0));
    } else {
      auto known = llvm::find_if(divisions, [&](const Division &division) {
        return division.divisor == divisor && division.numerator == numerator;
      });
      if (known == divisions.end()) {
        divisions.push_back({newVariable(Value()), numerator, divisor});
        known = std::prev(divisions.end());
      }
      quotient = LinearForm::ofVariable(known->variable);
    }
    if (expr.getKind() == AffineExprKind::Mod)
      result = lhs->plus(quotient, -divisor);
    else
      result = isCeil ? quotient.times(-1) : std::optional(quotient);
  }
  if (result && !isSmall(*result))
    return std::nullopt;
  return result;
}

std::optional<LinearForm> Nest::evaluate(Value value) {
  auto known = forms.find(value);
  if (known != forms.end())
    return known->second;
  if (!value.getType().isIndex())
    return std::nullopt;
  std::optional<LinearForm> form;
  Operation *definition = value.getDefiningOp();
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    form = LinearForm::ofConstant(constant.getSExtValue());
    if (!isSmall(*form))
      form.reset();
  } else if (auto apply = dyn_cast_or_null<affine::AffineApplyOp>(definition)) {
    form = evaluate(apply.getAffineMap().getResult(0), apply.getMapOperands(),
                    apply.getAffineMap().getNumDims());
  } else if (definition && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(definition)) {
    auto lhs = evaluate(definition->getOperand(0)), rhs = evaluate(definition->getOperand(1));
    if (lhs && rhs) {
      if (!isa<arith::MulIOp>(definition))
        form = lhs->plus(*rhs, isa<arith::SubIOp>(definition) ? -1 : 1);
      else if (rhs->isConstant())
        form = lhs->times(rhs->constant);
      else if (lhs->isConstant())
        form = rhs->times(lhs->constant);
      if (form && !isSmall(*form))
        form.reset();
    }
  }
  // What is computed outside of the nest has one value in it.
  if (!form && !root->isAncestor(value.getParentBlock()->getParentOp())) {
    auto [entry, isNew] = symbols.try_emplace(value, 0);
    if (isNew)
      entry->second = newVariable(value);
    form = LinearForm::ofVariable(entry->second);
  }
  forms[value] = form;
  return form;
}

bool Nest::addLoop(AffineForOp op, std::string &reason) {
  NestLoop loop{op, newVariable(op.getInductionVar()), {}, {}};
  int64_t step = op.getStepAsInt();
  auto bounds = [&](AffineMap map, ValueRange operands) {
    llvm::SmallVector<std::optional<LinearForm>> result;
    for (AffineExpr expr : map.getResults())
      result.push_back(evaluate(expr, operands, map.getNumDims()));
    return result;
  };
  auto lower = bounds(op.getLowerBoundMap(), op.getLowerBoundOperands());
  auto upper = bounds(op.getUpperBoundMap(), op.getUpperBoundOperands());
  auto variable = LinearForm::ofVariable(loop.variable);
  bool good = step > 0 && llvm::all_of(lower, [](auto &b) { return b.has_value(); }) &&
              llvm::all_of(upper, [](auto &b) { return b.has_value(); });
  std::optional<LinearForm> induction = variable;
  if (good && step != 1) {
    // With several lower bounds the stride would have no fixed start.
    good = lower.size() == 1;
    if (good)
      induction = lower[0]->plus(variable, step);
    loop.bounds.push_back({variable, false});
  }
  if (!good || !induction) {
    reason = "the bounds of the loop on line " + std::to_string(lineOf(op)) +
             " are not affine in the loops around it";
    return false;
  }
  loop.induction = *induction;
  auto atLeast = [&](const LinearForm &form, const LinearForm &floor, int64_t slack) {
    auto difference = form.plus(floor, -1);
    if (difference)
      difference->constant -= slack;
    if (difference)
      loop.bounds.push_back({*difference, false});
    return difference.has_value();
  };
  if (step == 1)
    for (auto &bound : lower)
      good &= atLeast(loop.induction, *bound, 0);
  for (auto &bound : upper)
    good &= atLeast(*bound, loop.induction, 1);
  if (!good) {
    reason = "loop bounds are too large to reason about";
    return false;
  }
  forms[op.getInductionVar()] = loop.induction;
  loops.push_back(loop);
  return true;
}

bool Nest::addGuards(AffineIfOp branch, llvm::SmallVectorImpl<Constraint> &guards) {
  IntegerSet set = branch.getIntegerSet();
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    auto form = evaluate(set.getConstraint(i), branch->getOperands(), set.getNumDims());
    if (!form)
      return false;
    guards.push_back({*form, set.isEq(i)});
  }
  return true;
}

Access Nest::makeAccess(Operation *op, bool isWrite) {
  const Place &place = places[op];
  Access access{op, {}, isWrite, false, {}, place.loops, place.guards, place.position};
  auto setRows = [&](AffineMap map, ValueRange operands) {
    access.isExact = true;
    for (AffineExpr expr : map.getResults()) {
      auto form = evaluate(expr, operands, map.getNumDims());
      access.isExact &= form.has_value();
      access.rows.push_back(form.value_or(LinearForm()));
    }
  };
  auto setIndices = [&](ValueRange indices) {
    access.isExact = true;
    for (Value index : indices) {
      auto form = evaluate(index);
      access.isExact &= form.has_value();
      access.rows.push_back(form.value_or(LinearForm()));
    }
  };
  if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
    access.memref = load.getMemRef();
    setRows(load.getAffineMap(), load.getMapOperands());
  } else if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
    access.memref = store.getMemRef();
    setRows(store.getAffineMap(), store.getMapOperands());
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    access.memref = load.getMemRef();
    setIndices(load.getIndices());
  } else {
    auto plainStore = cast<memref::StoreOp>(op);
    access.memref = plainStore.getMemRef();
    setIndices(plainStore.getIndices());
  }
  // A view made in the nest hides where it starts: its root may be touched anywhere.
  Operation *view = access.memref.getDefiningOp();
  if (rootBuffer(access.memref) != access.memref && root->isAncestor(view)) {
    access.memref = rootBuffer(access.memref);
    access.isExact = false;
  }
  return access;
}

void Nest::addOpaqueAccesses(Operation *op, Statement &statement) {
  const Place place{statement.loops, statement.guards, statement.position};
  llvm::SmallSetVector<Value, 8> touched;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isa<BaseMemRefType>(operand.getType())) {
        Value buffer = rootBuffer(operand);
        if (!op->isAncestor(buffer.getParentBlock()->getParentOp()))
          touched.insert(buffer);
      }
  });
  for (Value buffer : touched)
    for (bool isWrite : {true, false})
      statement.accesses.push_back(
          {op, buffer, isWrite, false, {}, place.loops, place.guards, place.position});
}

void Nest::addStatement(Operation *op, ArrayRef<unsigned> enclosing, ArrayRef<Constraint> guards) {
  Statement statement;
  statement.op = op;
  statement.loops.assign(enclosing.begin(), enclosing.end());
  statement.guards.assign(guards.begin(), guards.end());
  statement.position = places[op].position;
  bool isStore = isa<affine::AffineStoreOp, memref::StoreOp>(op);
  if (isStore) {
    statement.accesses.push_back(makeAccess(op, /*isWrite=*/true));
    if (!statement.accesses[0].isExact)
      statement.obstacle = "the index written in " + describeBuffer(statement.accesses[0].memref) +
                           " is not affine in the loops around it";
  } else {
    addOpaqueAccesses(op, statement);
    statement.obstacle = describeOpaque(op);
  }

  llvm::SmallVector<Value> worklist;
  op->walk([&](Operation *inner) { llvm::append_range(worklist, inner->getOperands()); });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    evaluate(value);
    Operation *definition = value.getDefiningOp();
    if (!definition || !places.contains(definition) || !statement.slice.insert(definition))
      continue;
    if (isLoad(definition)) {
      Access access = makeAccess(definition, /*isWrite=*/false);
      if (!access.isExact && statement.obstacle.empty())
        statement.obstacle = "the index of " + describeBuffer(access.memref) +
                             " is loaded from memory or not affine";
      statement.accesses.push_back(access);
    }
    llvm::append_range(worklist, definition->getOperands());
  }
  std::stable_sort(statement.accesses.begin() + isStore, statement.accesses.end(),
                   [](const Access &a, const Access &b) { return a.position < b.position; });
  statements.push_back(std::move(statement));
}

bool Nest::visit(Block &block, llvm::SmallVectorImpl<unsigned> &enclosing,
                 llvm::SmallVectorImpl<Constraint> &guards, std::string &reason) {
  for (Operation &op : block) {
    places[&op] = {llvm::to_vector<6>(enclosing), llvm::to_vector<1>(guards), nextPosition++};
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      const auto authored = llvm::count_if(loops, [](const NestLoop &known) {
        return !AffineForOp(known.op)->hasAttr(kElementLoop);
      });
      const bool isTooMuch = loops.size() >= kMaxElementLoops ||
                             (authored >= kMaxLoops && !loop->hasAttr(kElementLoop));
      if (loop.getNumIterOperands() != 0 || isTooMuch) {
        reason = isTooMuch ? "the nest has too many loops" : "a loop carries values besides memory";
        return false;
      }
      if (!addLoop(loop, reason))
        return false;
      enclosing.push_back(loops.size() - 1);
      if (!visit(*loop.getBody(), enclosing, guards, reason))
        return false;
      enclosing.pop_back();
      continue;
    }
    if (auto branch = dyn_cast<AffineIfOp>(op);
        branch && !branch.hasElse() && branch.getNumResults() == 0) {
      unsigned before = guards.size();
      if (!addGuards(branch, guards)) {
        reason = "a condition is not affine in the loops around it";
        return false;
      }
      if (!visit(*branch.getThenBlock(), enclosing, guards, reason))
        return false;
      guards.resize(before);
      continue;
    }
    if (isLoad(&op) || isPureScalar(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
        isa<ViewLikeOpInterface>(op))
      continue;
    if (op.getNumResults() != 0) {
      reason =
          isa<memref::AllocOp, memref::AllocaOp>(op)
              ? "what an iteration computes" + onLine(&op) + " goes through a tensor of its own"
              : "'" + op.getName().getStringRef().str() + "' is not understood inside a loop";
      return false;
    }
    if (statements.size() >= kMaxStatements) {
      reason = "the nest has too many statements";
      return false;
    }
    addStatement(&op, enclosing, guards);
  }
  return true;
}

std::optional<Nest> Nest::analyse(AffineForOp root, std::string &reason) {
  Nest nest;
  nest.root = root;
  llvm::SmallVector<unsigned> enclosing;
  llvm::SmallVector<Constraint> guards;
  if (root.getNumIterOperands() != 0) {
    reason = "a loop carries values besides memory";
    return std::nullopt;
  }
  if (!nest.addLoop(root, reason))
    return std::nullopt;
  enclosing.push_back(0);
  if (!nest.visit(*root.getBody(), enclosing, guards, reason))
    return std::nullopt;
  return nest;
}

} // namespace pyasc
