#include "compiler/target/ascend/contraction.h"

#include <functional>

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
int64_t Contraction::tapCount() const { return product(taps); }

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
  if (!op.getIndexingMapsArray().back().isProjectedPermutation())
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

bool isRounding(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op->getNumResults() != 0 ||
      op.getNumReductionLoops() != 0)
    return false;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isIdentity())
      return false;
  Block &body = op.getRegion().front();
  auto truncation = body.getTerminator()->getOperand(0).getDefiningOp<arith::TruncFOp>();
  return truncation && truncation.getIn() == body.getArgument(0) &&
         (truncation.getType().isF16() || truncation.getType().isBF16());
}

// Elements come one by one when an operand is packed: what that takes beside the products.
static bool isWorthPacking(const Contraction &c, int operand, const machine::Soc &soc) {
  Type element = c.views[operand].element;
  if (!element.isF16() && !element.isF32())
    return false;
  double elements = 1, products = 1;
  auto count = [&](const ContractionDim &dim) {
    products *= dim.size;
    if (dim.strides[operand] != 0)
      elements *= dim.size;
  };
  for (const ContractionDim *dim : {&c.m, &c.n, &c.k})
    count(*dim);
  for (const auto *dims : {&c.batch, &c.outerK})
    llvm::for_each(*dims, count);
  double rate = element.isF16() ? soc.cube.k_fp16 : soc.cube.k_fp32;
  double cube = products / (256 * rate) / soc.cube_cores;
  // The reduction that packs takes seven cycles an element.
  return elements * 7 / soc.vector_cores <= cube;
}

// Elements that a step of each loop moves through an operand; nothing where an index is no sum of
// multiples of loops.
static std::optional<SmallVector<int64_t>> stridesOf(AffineMap map, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> result(map.getNumDims(), 0);
  std::function<bool(AffineExpr, int64_t)> add = [&](AffineExpr expr, int64_t factor) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      result[dim.getPosition()] += factor;
      return true;
    }
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue() == 0;
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (binary && expr.getKind() == AffineExprKind::Add)
      return add(binary.getLHS(), factor) && add(binary.getRHS(), factor);
    auto scale =
        binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr(nullptr);
    return scale && expr.getKind() == AffineExprKind::Mul && scale.getValue() >= 0 &&
           add(binary.getLHS(), factor * scale.getValue());
  };
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
    if (!add(expr, stride))
      return std::nullopt;
  return result;
}

// Takes all of `ks` as one k that is dense in one operand; false when it is in neither, or when the
// other one has no rows along m (n).
static bool gatherK(Contraction &c, SmallVector<ContractionDim> ks) {
  constexpr int64_t kMostTaps = 16384; // rows that a load leaves out
  for (int dense : {Contraction::A, Contraction::B}) {
    const int other = Contraction::A + Contraction::B - dense;
    const ContractionDim &extent = other == Contraction::A ? c.m : c.n;
    llvm::sort(ks, [&](const ContractionDim &a, const ContractionDim &b) {
      return a.strides[dense] > b.strides[dense];
    });
    int64_t size = 1;
    bool isDense = true;
    for (const ContractionDim &dim : llvm::reverse(ks)) {
      isDense &= dim.strides[dense] == size;
      size *= dim.size;
    }
    const ContractionDim &own = dense == Contraction::A ? c.m : c.n;
    if (!isDense || (own.size > 1 && own.strides[dense] < size) ||
        (extent.size > 1 && extent.strides[other] != 1))
      continue;
    c.gathered = other;
    c.k = {size, {}};
    c.k.strides[dense] = 1;
    // The outermost loop makes the rows of a load, which may not overlap.
    const ContractionDim &outermost = ks.front();
    const bool rows = outermost.strides[other] >= extent.size;
    if (rows)
      c.k.strides[other] = outermost.strides[other];
    c.taps.assign(ks.begin() + (rows ? 1 : 0), ks.end());
    if (c.tapCount() > kMostTaps)
      return false;
    c.outerK.clear();
    (other == Contraction::A ? c.transposeA : c.transposeB) = true;
    return true;
  }
  return false;
}

size_t tapsOf(Planner &planner, ArrayRef<Operation *> steps,
              SmallVectorImpl<ContractionDim> &dims) {
  constexpr size_t kMost = 256;
  auto viewsOf = [&](linalg::GenericOp op) -> std::optional<std::array<MemRefView, 3>> {
    std::array<MemRefView, 3> views;
    for (int i = 0; i < 3; ++i) {
      FailureOr<MemRefView> view = planner.locate(op->getOperand(i));
      if (failed(view))
        return std::nullopt;
      views[i] = *view;
    }
    return views;
  };
  auto head = cast<linalg::GenericOp>(steps.front());
  const auto first = viewsOf(head);
  if (!first || (*first)[0].root == (*first)[2].root || (*first)[1].root == (*first)[2].root)
    return 1;
  // Where the operands of each step lie, from those of the first on.
  SmallVector<std::array<int64_t, 2>> places;
  for (Operation *step : steps.take_front(kMost)) {
    auto op = dyn_cast<linalg::GenericOp>(step);
    if (!op || !isContraction(op) || (op != head && planner.overwritten(op)) ||
        op.getIndexingMaps() != head.getIndexingMaps() ||
        op.getIteratorTypes() != head.getIteratorTypes() ||
        op.getStaticLoopRanges() != head.getStaticLoopRanges())
      break;
    auto views = viewsOf(op);
    if (!views || !((*views)[2] == (*first)[2]))
      break;
    std::array<int64_t, 2> place;
    for (int i = 0; i < 2; ++i) {
      place[i] = (*views)[i].offset - (*first)[i].offset;
      (*views)[i].offset = (*first)[i].offset;
    }
    if (!((*views)[0] == (*first)[0]) || !((*views)[1] == (*first)[1]) || place[0] < 0 ||
        place[1] < 0)
      break;
    places.push_back(place);
  }
  // Blocks of the places so far, a step apart, make the next dimension.
  size_t covered = 1;
  while (covered < places.size()) {
    const std::array<int64_t, 2> step = places[covered];
    auto follows = [&](size_t block) {
      for (size_t i = 0; i < covered; ++i)
        for (int operand = 0; operand < 2; ++operand)
          if (places[block * covered + i][operand] !=
              places[i][operand] + static_cast<int64_t>(block) * step[operand])
            return false;
      return true;
    };
    size_t blocks = 1;
    while ((blocks + 1) * covered <= places.size() && follows(blocks))
      ++blocks;
    if (blocks == 1 || (step[0] == 0 && step[1] == 0))
      break;
    dims.insert(dims.begin(), {static_cast<int64_t>(blocks), {step[0], step[1], 0}});
    covered *= blocks;
  }
  return covered;
}

FailureOr<Contraction> analyseContraction(Planner &planner, linalg::GenericOp op,
                                          std::string &reason, ArrayRef<ContractionDim> together) {
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

  // What a loop is follows from the operands that it moves along.
  std::array<SmallVector<int64_t>, 3> strides;
  for (int i = 0; i < 3; ++i) {
    auto found = stridesOf(op.getIndexingMapsArray()[i], result.views[i].strides);
    if (!found) {
      reason = "the loops are no contraction";
      return failure();
    }
    strides[i] = *found;
  }
  SmallVector<ContractionDim> ms, ns, ks;
  for (auto [loop, size] : llvm::enumerate(op.getStaticLoopRanges())) {
    if (size == 1)
      continue;
    ContractionDim dim{size, {strides[0][loop], strides[1][loop], strides[2][loop]}};
    // Strides of empty tensors say nothing.
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    bool a = maps[0].isFunctionOfDim(loop), b = maps[1].isFunctionOfDim(loop);
    bool isReduction = op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
    // The cube would run such a loop once.
    if (isReduction ? !a || !b : !a && !b) {
      reason = "a loop selects from one operand only";
      return failure();
    }
    (isReduction ? ks : !b ? ms : !a ? ns : result.batch).push_back(dim);
  }
  ks.append(together.begin(), together.end());
  for (auto *some : {&ms, &ns, &ks, &result.batch})
    merge(*some);

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
  const SmallVector<ContractionDim> allKs = ks;
  result.k = take(ks, bySize);
  result.outerK = std::move(ks);
  result.batch.append(ms);
  result.batch.append(ns);

  if (result.isEmpty())
    return result;
  if (result.n.size > 1 && result.n.strides[Contraction::C] != 1) {
    reason = "the result has no contiguous dimension";
    return failure();
  }
  FailureOr<bool> a = rowsAlongK(result.m, result.k, Contraction::A);
  FailureOr<bool> b = rowsAlongK(result.n, result.k, Contraction::B);
  result.packA = failed(a);
  result.packB = failed(b);
  // Windows whose rows overlap are no matrix that a transfer can walk.
  auto overlaps = [&](const ContractionDim &extent, FailureOr<bool> alongK, int operand) {
    if (failed(alongK))
      return false;
    const ContractionDim &rows = *alongK ? result.k : extent, &row = *alongK ? extent : result.k;
    return rows.size > 1 && row.size > 1 && rows.strides[operand] < row.size;
  };
  const bool overlap =
      overlaps(result.m, a, Contraction::A) || overlaps(result.n, b, Contraction::B);
  if (allKs.size() > 1 && (overlap || result.packA || result.packB)) {
    Contraction gathering = result;
    gathering.packA = gathering.packB = false;
    if (gatherK(gathering, allKs))
      return gathering;
  }
  if (overlap) {
    reason = "the rows of an operand overlap";
    return failure();
  }
  for (int operand : {Contraction::A, Contraction::B})
    if ((operand == Contraction::A ? result.packA : result.packB) &&
        !isWorthPacking(result, operand, planner.soc())) {
      reason = "an operand has no contiguous dimension";
      return failure();
    }
  result.transposeA = succeeded(a) && *a;
  result.transposeB = succeeded(b) && *b;
  return result;
}

std::string describeContraction(const Contraction &c) {
  std::string what = "contraction " + std::to_string(c.m.size) + "x" + std::to_string(c.n.size) +
                     "x" + std::to_string(c.k.size * c.outerKs()) + " ";
  llvm::raw_string_ostream(what) << c.views[Contraction::A].element;
  return what;
}

} // namespace pyasc::npu
