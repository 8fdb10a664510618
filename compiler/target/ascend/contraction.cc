#include "compiler/target/ascend/contraction.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace pyasc::npu {

bool Contraction::isEmpty() const {
  return m.size == 0 || n.size == 0 || k.size == 0 || batches() == 0 || outerKs() == 0;
}

static int64_t product(ArrayRef<ContractionDim> dims) {
  int64_t result = 1;
  for (const ContractionDim &dim : dims)
    result *= dim.size;
  return result;
}

int64_t Contraction::batches() const { return product(batch); }
int64_t Contraction::outerKs() const { return product(outerK); }

// The block argument that a factor of the product is, through an extension.
static BlockArgument factorOf(Value value) {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  return dyn_cast<BlockArgument>(value);
}

bool isContraction(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      op->getNumResults() != 0)
    return false;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation())
      return false;
  Block &body = op.getRegion().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value out = body.getArgument(2);
  Value other = sum.getLhs() == out ? sum.getRhs() : sum.getRhs() == out ? sum.getLhs() : Value();
  auto product = other ? other.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product)
    return false;
  BlockArgument a = factorOf(product.getLhs()), b = factorOf(product.getRhs());
  return a && b && a != b && a.getOwner() == &body && b.getOwner() == &body && a != out && b != out;
}

// Merges dims[outer] into dims[inner] where walking both is one walk in every operand.
static void merge(SmallVector<ContractionDim> &dims) {
  auto mergeable = [](const ContractionDim &outer, const ContractionDim &inner) {
    for (int i = 0; i < 3; ++i)
      if (outer.strides[i] != inner.strides[i] * inner.size)
        return false;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t outer = 0; outer < dims.size() && !changed; ++outer)
      for (size_t inner = 0; inner < dims.size() && !changed; ++inner)
        if (outer != inner && mergeable(dims[outer], dims[inner])) {
          dims[inner].size *= dims[outer].size;
          dims.erase(dims.begin() + outer);
          changed = true;
        }
  }
}

// Takes the dimension that `better` prefers out of dims; a unit dimension when there is none.
template <typename Better>
static ContractionDim take(SmallVector<ContractionDim> &dims, Better better) {
  if (dims.empty())
    return {};
  auto best = std::max_element(dims.begin(), dims.end(),
                               [&](const auto &a, const auto &b) { return better(b, a); });
  ContractionDim result = *best;
  dims.erase(best);
  return result;
}

// Whether GM rows of an operand run along k: decided by which of the strides is one; with both
// possible, the way with fewer rows. Failure: neither.
static FailureOr<bool> rowsAlongK(const ContractionDim &extent, const ContractionDim &k,
                                  int operand) {
  bool plain = k.size == 1 || k.strides[operand] == 1;
  bool transposed = extent.size == 1 || extent.strides[operand] == 1;
  if (!plain && !transposed)
    return failure();
  return plain && transposed ? k.size < extent.size : transposed;
}

FailureOr<Contraction> analyseContraction(Planner &planner, linalg::GenericOp op,
                                          std::string &reason) {
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(op);
  if (failed(dims)) {
    reason = "the loops are no contraction";
    return failure();
  }
  // A reduction that only one input follows, or a parallel loop that no input follows, is in none
  // of the sets: the cube would run it once.
  llvm::SmallBitVector covered(op.getNumLoops());
  for (const auto *loops : {&dims->batch, &dims->m, &dims->n, &dims->k})
    for (unsigned loop : *loops)
      covered.set(loop);
  for (auto [loop, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    if (!covered.test(loop) && extent != 1) {
      reason = "a loop selects from one operand only";
      return failure();
    }
  Contraction result;
  result.op = op;
  Block &body = op.getRegion().front();
  auto elementOf = [&](int i) { return body.getArgument(i).getType(); };
  bool inputs = elementOf(0) == elementOf(1) &&
                (elementOf(0).isF16() || elementOf(0).isBF16() || elementOf(0).isF32());
  if (!inputs || !elementOf(2).isF32()) {
    reason = "the cube has no such combination of element types";
    return failure();
  }
  for (int i = 0; i < 3; ++i) {
    FailureOr<MemRefView> view = planner.locate(op->getOperand(i));
    if (failed(view)) {
      reason = "an operand's place in memory is not known";
      return failure();
    }
    result.views[i] = *view;
  }

  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto dimsOf = [&](ArrayRef<unsigned> loops) {
    SmallVector<ContractionDim> found;
    for (unsigned loop : loops) {
      ContractionDim dim{sizes[loop], {0, 0, 0}};
      for (int i = 0; i < 3; ++i) {
        AffineMap map = op.getIndexingMapsArray()[i];
        for (unsigned position = 0; position < map.getNumResults(); ++position)
          if (map.getDimPosition(position) == loop)
            dim.strides[i] = result.views[i].strides[position];
      }
      if (dim.size != 1)
        found.push_back(dim);
    }
    merge(found);
    return found;
  };
  SmallVector<ContractionDim> ms = dimsOf(dims->m), ns = dimsOf(dims->n), ks = dimsOf(dims->k);
  result.batch = dimsOf(dims->batch);

  // C leaves the cube in rows along n: swap when m is contiguous, or n is a single column.
  auto contiguous = [](ArrayRef<ContractionDim> some) {
    return llvm::any_of(some, [](auto &dim) { return dim.strides[Contraction::C] == 1; });
  };
  if (!contiguous(ns) && contiguous(ms)) {
    std::swap(result.views[Contraction::A], result.views[Contraction::B]);
    for (auto *some : {&ms, &ns, &ks, &result.batch})
      for (ContractionDim &dim : *some)
        std::swap(dim.strides[Contraction::A], dim.strides[Contraction::B]);
    std::swap(ms, ns);
  }
  auto bySize = [](const ContractionDim &a, const ContractionDim &b) { return a.size > b.size; };
  result.n = take(ns, [&](const ContractionDim &a, const ContractionDim &b) {
    bool aUnit = a.strides[Contraction::C] == 1, bUnit = b.strides[Contraction::C] == 1;
    return aUnit != bUnit ? aUnit : bySize(a, b);
  });
  result.m = take(ms, bySize);
  result.k = take(ks, bySize);
  result.outerK = std::move(ks);
  result.batch.append(ms);
  result.batch.append(ns);

  if (result.n.size > 1 && result.n.strides[Contraction::C] != 1) {
    reason = "the result has no contiguous dimension";
    return failure();
  }
  FailureOr<bool> a = rowsAlongK(result.m, result.k, Contraction::A);
  FailureOr<bool> b = rowsAlongK(result.n, result.k, Contraction::B);
  if (failed(a) || failed(b)) {
    reason = "an operand has no contiguous dimension";
    return failure();
  }
  result.transposeA = *a;
  result.transposeB = *b;
  return result;
}

} // namespace pyasc::npu
