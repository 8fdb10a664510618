#include "compiler/sema/budget.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "mlir/IR/Operation.h"

namespace pyasc::sema {

namespace {

constexpr int64_t kMaxSteps = 2'000'000;
constexpr int64_t kMaxOperations = 50'000;
// Of all rounds together.
constexpr int64_t kMaxAllSteps = 2 * kMaxSteps;
// What is repeated fewer times does not make a kernel large.
constexpr int64_t kManyRepeats = 16;

// Steps that a proof takes the time of.
constexpr int64_t kProofWeight = 100;
// Plain operations that one with a body - a loop, a branch, a tensor operation - takes the time of
// in all that comes after: each is compared with its neighbours.
constexpr int64_t kBodyWeight = 40;

constexpr int kMaxAffineNodes = 96;
// Each // and % is a variable more for the proofs about an index, which take exponential time.
constexpr int kMaxAffineDivisions = 8;

// False once `e` has more nodes or divisions than are left. A tree of shared parts can be
// exponentially larger than its making was, so that it is never walked whole.
bool Fits(mlir::AffineExpr e, int &nodes, int &divisions) {
  if (--nodes < 0)
    return false;
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(e);
  if (!binary)
    return true;
  bool divides =
      e.getKind() != mlir::AffineExprKind::Add && e.getKind() != mlir::AffineExprKind::Mul;
  if (divides && --divisions < 0)
    return false;
  return Fits(binary.getLHS(), nodes, divisions) && Fits(binary.getRHS(), nodes, divisions);
}

} // namespace

bool IsSmallAffine(mlir::AffineExpr e) {
  int nodes = kMaxAffineNodes, divisions = kMaxAffineDivisions;
  return Fits(e, nodes, divisions);
}

bool IsSmallAffine(mlir::AffineExpr a, mlir::AffineExpr b) {
  int nodes = kMaxAffineNodes, divisions = kMaxAffineDivisions;
  return Fits(a, nodes, divisions) && Fits(b, nodes, divisions);
}

void Budget::BeginRound() {
  steps_ = operations_ = 0;
  repeats_.clear();
}

bool Budget::Spend(int64_t weight) {
  steps_ += weight;
  all_steps_ += weight;
  exhausted_ =
      exhausted_ || steps_ > kMaxSteps || operations_ > kMaxOperations || all_steps_ > kMaxAllSteps;
  return !exhausted_;
}

bool Budget::SpendProof() { return Spend(kProofWeight); }

void Budget::notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) {
  operations_ += op->getNumRegions() > 0 ? kBodyWeight : 1;
}

void Budget::Repeat(const void *what, Repeated kind, std::string_view name,
                    const diag::SourceRange &range) {
  Repeats &r = repeats_[what];
  if (r.count++ == 0) {
    r.kind = kind;
    r.name = name;
    r.range = range;
  }
}

void Budget::Report(diag::DiagnosticList &diags, const diag::SourceRange &here) {
  if (reported_)
    return;
  reported_ = true;
  if (steps_ <= kMaxSteps && operations_ <= kMaxOperations) {
    diags.Error("kernel-too-large", here,
                "this kernel is too large: to find the types of its variables and to split its "
                "loops takes too many rounds; start each variable with a value of the type that it "
                "ends with (s = 0.0, not s = 0), and keep slices inside their axes");
    return;
  }
  const std::string size =
      operations_ > kMaxOperations
          ? "more than " + std::to_string(kMaxOperations) + " operations come out of the kernel"
          : "the kernel takes more than " + std::to_string(kMaxSteps) + " steps to analyse";
  // The innermost of what is repeated has the largest number, and is what to change.
  std::vector<const Repeats *> most;
  for (const auto &[what, r] : repeats_)
    if (r.count >= kManyRepeats)
      most.push_back(&r);
  std::sort(most.begin(), most.end(), [](const Repeats *a, const Repeats *b) {
    return std::tuple(-a->count, a->range.file, a->range.line, a->range.column) <
           std::tuple(-b->count, b->range.file, b->range.line, b->range.column);
  });
  if (most.empty()) {
    diags.Error("kernel-too-large", here,
                "this kernel is too large: " + size +
                    "; split it into several kernels, or write what repeats as a loop");
    return;
  }
  auto times = [](const Repeats &r) {
    const std::string n = std::to_string(r.count);
    switch (r.kind) {
    case Repeated::Loop:
      return "this loop was unrolled into " + n + " iterations";
    case Repeated::Comprehension:
      return "this comprehension took " + n + " rounds";
    case Repeated::Function:
      break;
    }
    return "'" + r.name + "' was inlined " + n + " times";
  };
  auto way_out = [](Repeated kind) {
    switch (kind) {
    case Repeated::Loop:
      return "; loop over range instead, whose iterations are not written out";
    case Repeated::Comprehension:
      return "; fill a tensor in a loop over range instead";
    case Repeated::Function:
      break;
    }
    return "; keep its result in a variable, or call it in a loop over range";
  };
  const Repeats &first = *most[0];
  diag::DiagnosticBuilder d =
      diags.Error("kernel-too-large", first.range,
                  times(first) + " before the analysis stopped: " + size + way_out(first.kind));
  for (size_t i = 1; i < std::min<size_t>(most.size(), 3); ++i)
    d.Note(most[i]->range, times(*most[i]));
}

} // namespace pyasc::sema
