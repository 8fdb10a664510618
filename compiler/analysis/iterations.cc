#include "compiler/analysis/iterations.h"

#include <algorithm>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pyasc::compiler::analysis {
namespace {

// Bounds are shallow; what is deeper is not worth following.
constexpr int kDeepest = 64;
// Loops of one nest that are told apart.
constexpr size_t kMostLoops = 64;
// Iterations of a loop that Sample() looks at.
constexpr int64_t kSamples = 5;

} // namespace

bool IterationSpace::Enter(affine::AffineForOp loop) {
  return Push(loop.getInductionVar(),
              Compile(loop.getLowerBoundMap(), loop.getLowerBoundOperands(), Kind::kMax, 0),
              Compile(loop.getUpperBoundMap(), loop.getUpperBoundOperands(), Kind::kMin, 0),
              loop.getStepAsInt());
}

bool IterationSpace::Enter(scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  return step && Push(loop.getInductionVar(), Compile(loop.getLowerBound()),
                      Compile(loop.getUpperBound()), *step);
}

bool IterationSpace::EnterIf(affine::AffineIfOp branch) {
  IntegerSet set = branch.getIntegerSet();
  std::optional<Expr> all = Constant(1);
  for (auto [constraint, equal] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
    std::optional<Expr> value = Compile(constraint, set.getNumDims(), branch.getOperands(), 0);
    if (!value)
      return false;
    std::optional<Expr> holds =
        Make(Kind::kTest, Constant(0), *value, equal ? Test::kEq : Test::kLe);
    all = holds ? Make(Kind::kMin, *all, *holds) : std::nullopt;
    if (!all)
      return false;
  }
  return PushCondition(all);
}

bool IterationSpace::EnterIf(scf::IfOp branch) {
  return PushCondition(Compile(branch.getCondition()));
}

bool IterationSpace::EnterExtent(OpFoldResult extent) {
  if (auto constant = getConstantIntValue(extent))
    return Push({}, Constant(0), Constant(*constant), 1);
  return Push({}, Constant(0), Compile(cast<Value>(extent)), 1);
}

void IterationSpace::Negate() {
  Loop &branch = loops_.back();
  Expr nothing = Constant(0);
  branch.high = *Make(Kind::kTest, branch.high, nothing, Test::kEq);
  branch.id = next_id_++;
}

void IterationSpace::Leave() { loops_.pop_back(); }

bool IterationSpace::Push(Value iv, std::optional<Expr> low, std::optional<Expr> high,
                          int64_t step) {
  if (!low || !high || step <= 0 || loops_.size() == kMostLoops)
    return false;
  loops_.push_back({iv, *low, *high, step, nodes_[*low].loops | nodes_[*high].loops, next_id_++});
  return true;
}

bool IterationSpace::PushCondition(std::optional<Expr> holds) {
  return Push({}, Constant(0), holds, 1);
}

IterationSpace::Expr IterationSpace::Constant(int64_t value) {
  nodes_.push_back({.kind = Kind::kConstant, .value = value});
  return static_cast<Expr>(nodes_.size() - 1);
}

std::optional<IterationSpace::Expr> IterationSpace::Make(Kind kind, Expr left, Expr right,
                                                         Test test) {
  nodes_.push_back({.kind = kind,
                    .test = test,
                    .left = left,
                    .right = right,
                    .loops = nodes_[left].loops | nodes_[right].loops});
  return static_cast<Expr>(nodes_.size() - 1);
}

std::optional<IterationSpace::Expr> IterationSpace::Compile(AffineMap map, ValueRange operands,
                                                            Kind kind, int depth) {
  std::optional<Expr> joined;
  for (AffineExpr result : map.getResults()) {
    std::optional<Expr> value = Compile(result, map.getNumDims(), operands, depth);
    joined = value && joined ? Make(kind, *joined, *value) : value;
    if (!joined)
      return std::nullopt;
  }
  return joined;
}

std::optional<IterationSpace::Expr> IterationSpace::Compile(AffineExpr expr, unsigned dims,
                                                            ValueRange operands, int depth) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Constant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return Compile(operands[dim.getPosition()], depth + 1);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return Compile(operands[dims + symbol.getPosition()], depth + 1);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<Expr> left = Compile(binary.getLHS(), dims, operands, depth);
  std::optional<Expr> right = Compile(binary.getRHS(), dims, operands, depth);
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return Make(Kind::kAdd, *left, *right);
  case AffineExprKind::Mul:
    return Make(Kind::kMul, *left, *right);
  case AffineExprKind::Mod:
    return Make(Kind::kMod, *left, *right);
  case AffineExprKind::FloorDiv:
    return Make(Kind::kFloorDiv, *left, *right);
  case AffineExprKind::CeilDiv:
    return Make(Kind::kCeilDiv, *left, *right);
  default:
    return std::nullopt;
  }
}

std::optional<IterationSpace::Expr> IterationSpace::Compile(Value value, int depth) {
  if (depth > kDeepest)
    return std::nullopt;
  for (auto [i, loop] : llvm::enumerate(loops_))
    if (loop.iv == value) {
      nodes_.push_back(
          {.kind = Kind::kLoop, .value = static_cast<int64_t>(i), .loops = uint64_t{1} << i});
      return static_cast<Expr>(nodes_.size() - 1);
    }
  if (auto constant = getConstantIntValue(value))
    return Constant(*constant);
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return Compile(apply.getAffineMap(), apply.getMapOperands(), Kind::kMin, depth);
  if (auto min = dyn_cast<affine::AffineMinOp>(op))
    return Compile(min.getAffineMap(), min.getOperands(), Kind::kMin, depth);
  if (auto max = dyn_cast<affine::AffineMaxOp>(op))
    return Compile(max.getAffineMap(), max.getOperands(), Kind::kMax, depth);
  // Narrower integers may have wrapped.
  auto isIndex = [](Value number) {
    return number.getType().isIndex() || number.getType().isInteger(64);
  };
  if (isa<arith::IndexCastOp>(op) && isIndex(op->getOperand(0)) && isIndex(value))
    return Compile(op->getOperand(0), depth + 1);
  if (op->getNumOperands() != 2)
    return std::nullopt;
  auto binary = [&](Kind kind) -> std::optional<Expr> {
    std::optional<Expr> left = Compile(op->getOperand(0), depth + 1);
    std::optional<Expr> right = left ? Compile(op->getOperand(1), depth + 1) : std::nullopt;
    return right ? Make(kind, *left, *right) : std::nullopt;
  };
  // Conditions are 0 and 1.
  if (value.getType().isInteger(1) && isa<arith::AndIOp>(op))
    return binary(Kind::kMin);
  if (value.getType().isInteger(1) && isa<arith::OrIOp>(op))
    return binary(Kind::kMax);
  if (!isIndex(op->getOperand(0)))
    return std::nullopt;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    std::optional<Expr> left = Compile(compare.getLhs(), depth + 1);
    std::optional<Expr> right = left ? Compile(compare.getRhs(), depth + 1) : std::nullopt;
    if (!right)
      return std::nullopt;
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return Make(Kind::kTest, *left, *right, Test::kEq);
    case arith::CmpIPredicate::ne:
      return Make(Kind::kTest, *left, *right, Test::kNe);
    case arith::CmpIPredicate::slt:
      return Make(Kind::kTest, *left, *right, Test::kLt);
    case arith::CmpIPredicate::sle:
      return Make(Kind::kTest, *left, *right, Test::kLe);
    case arith::CmpIPredicate::sgt:
      return Make(Kind::kTest, *right, *left, Test::kLt);
    case arith::CmpIPredicate::sge:
      return Make(Kind::kTest, *right, *left, Test::kLe);
    default:
      return std::nullopt;
    }
  }
  if (isa<arith::AddIOp>(op))
    return binary(Kind::kAdd);
  if (isa<arith::MulIOp>(op))
    return binary(Kind::kMul);
  if (isa<arith::MinSIOp>(op))
    return binary(Kind::kMin);
  if (isa<arith::MaxSIOp>(op))
    return binary(Kind::kMax);
  if (isa<arith::FloorDivSIOp>(op))
    return binary(Kind::kFloorDiv);
  if (isa<arith::SubIOp>(op)) {
    std::optional<Expr> left = Compile(op->getOperand(0), depth + 1);
    std::optional<Expr> right = left ? Compile(op->getOperand(1), depth + 1) : std::nullopt;
    std::optional<Expr> negated = right ? Make(Kind::kMul, *right, Constant(-1)) : std::nullopt;
    return negated ? Make(Kind::kAdd, *left, *negated) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> IterationSpace::Evaluate(Expr expr, const int64_t *point) const {
  const Node &node = nodes_[expr];
  if (node.kind == Kind::kConstant)
    return node.value;
  if (node.kind == Kind::kLoop)
    return point[node.value];
  std::optional<int64_t> left = Evaluate(node.left, point), right = Evaluate(node.right, point);
  if (!left || !right)
    return std::nullopt;
  int64_t a = *left, b = *right, result = 0;
  switch (node.kind) {
  case Kind::kAdd:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::kMul:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::kFloorDiv:
  case Kind::kCeilDiv:
  case Kind::kMod:
    // Those that affine maps may hold divide by positive numbers.
    if (b <= 0)
      return std::nullopt;
    return node.kind == Kind::kMod       ? llvm::mod(a, b)
           : node.kind == Kind::kCeilDiv ? llvm::divideCeilSigned(a, b)
                                         : llvm::divideFloorSigned(a, b);
  case Kind::kMin:
    return std::min(a, b);
  case Kind::kMax:
    return std::max(a, b);
  case Kind::kTest:
    return node.test == Test::kEq   ? a == b
           : node.test == Test::kNe ? a != b
           : node.test == Test::kLt ? a < b
                                    : a <= b;
  default:
    return std::nullopt;
  }
}

// Loops that depend on one another, directly or not, outermost first.
std::vector<std::vector<unsigned>> IterationSpace::Components() const {
  std::vector<unsigned> component(loops_.size());
  for (unsigned i = 0; i < loops_.size(); ++i) {
    component[i] = i;
    for (unsigned j = 0; j < i; ++j)
      if (loops_[i].needs >> j & 1)
        for (unsigned k = 0, old = component[j]; k < i; ++k)
          if (component[k] == old)
            component[k] = component[i];
  }
  std::map<unsigned, std::vector<unsigned>> members;
  for (unsigned i = 0; i < loops_.size(); ++i)
    members[component[i]].push_back(i);
  std::vector<std::vector<unsigned>> result;
  for (auto &[name, loops] : members)
    result.push_back(std::move(loops));
  return result;
}

std::optional<int64_t> IterationSpace::Trips(const Loop &loop, const int64_t *point,
                                             int64_t *low) const {
  std::optional<int64_t> first = Evaluate(loop.low, point), end = Evaluate(loop.high, point);
  int64_t length = 0;
  if (!first || !end || (*end > *first && __builtin_sub_overflow(*end, *first, &length)))
    return std::nullopt;
  *low = *first;
  return length / loop.step + (length % loop.step != 0);
}

std::optional<double> IterationSpace::Walk(const std::vector<unsigned> &component, size_t at,
                                           int64_t *point) {
  if (at == component.size())
    return 1;
  if (--work_left_ < 0)
    return std::nullopt;
  const Loop &loop = loops_[component[at]];
  int64_t low = 0;
  std::optional<int64_t> trips = Trips(loop, point, &low);
  if (!trips)
    return std::nullopt;
  bool needed =
      std::any_of(component.begin() + static_cast<ptrdiff_t>(at), component.end(),
                  [&](unsigned inner) { return loops_[inner].needs >> component[at] & 1; });
  if (!needed) {
    std::optional<double> inner = *trips ? Walk(component, at + 1, point) : 0;
    return inner ? std::optional(static_cast<double>(*trips) * *inner) : std::nullopt;
  }
  double sum = 0;
  for (int64_t i = 0; i < *trips; ++i) {
    point[component[at]] = low + i * loop.step;
    std::optional<double> inner = Walk(component, at + 1, point);
    if (!inner)
      return std::nullopt;
    sum += *inner;
  }
  return sum;
}

std::optional<double> IterationSpace::Count() {
  double product = 1;
  bool known = true;
  for (const std::vector<unsigned> &component : Components()) {
    std::vector<unsigned> key;
    for (unsigned loop : component)
      key.push_back(loops_[loop].id);
    auto found = known_.find(key);
    if (found == known_.end()) {
      std::vector<int64_t> point(loops_.size());
      found = known_.emplace(std::move(key), Walk(component, 0, point.data())).first;
    }
    known &= found->second.has_value();
    product *= found->second.value_or(1);
  }
  // Nothing is nothing, however often.
  return known || product == 0 ? std::optional(product) : std::nullopt;
}

double IterationSpace::Spread(const std::vector<unsigned> &component, size_t at,
                              int64_t *point) const {
  if (at == component.size())
    return 1;
  const Loop &loop = loops_[component[at]];
  int64_t low = 0;
  // What cannot be evaluated counts once.
  int64_t trips = Trips(loop, point, &low).value_or(1);
  int64_t samples = std::min(trips, at < 6 ? kSamples : 1);
  double sum = 0;
  for (int64_t i = 0; i < samples; ++i) {
    // The middle of each part.
    double at_trip = static_cast<double>(trips) * static_cast<double>(2 * i + 1) /
                     static_cast<double>(2 * samples);
    point[component[at]] =
        low + std::clamp<int64_t>(static_cast<int64_t>(at_trip), 0, trips - 1) * loop.step;
    sum += Spread(component, at + 1, point);
  }
  return samples == 0 ? 0 : sum * static_cast<double>(trips) / static_cast<double>(samples);
}

double IterationSpace::Sample() const {
  double product = 1;
  for (const std::vector<unsigned> &component : Components()) {
    std::vector<int64_t> point(loops_.size());
    product *= Spread(component, 0, point.data());
  }
  return product;
}

} // namespace pyasc::compiler::analysis
