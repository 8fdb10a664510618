// Chains of steps through temporaries larger than L2 become blocks of rows.
//
// In: the steps of a kernel in structured form. Out: the same steps, where a run of them that works
// row by row on temporaries is repeated for block after block of rows, each with temporaries of its
// own size that stay in L2. So attention needs no square of scores, and layers after a product read
// it from L2. Rows are the first dimension of the temporaries; that no row depends on another is
// read off the indexing maps.
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

#include "compiler/target/ascend/contraction.h"
#include "compiler/target/ascend/plan.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// Blocks are whole tiles of the cube.
constexpr int64_t kRowUnit = 128;
// What the vector unit holds at once of each column of a row of 16 bits while it works on it: the
// row, the result, a tile of f32 and half of one.
constexpr int64_t kColumnBytes = 10;
// Each block is phases of its own, which have to be compiled and launched.
constexpr int64_t kMostBlocks = 16;

int64_t bytesOf(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.getNumElements() * npu::bytesOf(type.getElementType());
}

// A run of steps that share their rows.
struct Group {
  int64_t rows = 0;
  SmallVector<linalg::GenericOp> steps;
  SmallVector<unsigned> rowLoops; // of each step
  llvm::SmallSetVector<Value, 8> temporaries;
};

class RowStreamer {
public:
  RowStreamer(func::FuncOp kernel, const machine::Soc &soc, const llvm::DenseSet<Operation *> &kept)
      : kernel(kernel), soc(soc), kept(kept) {}

  void run(ArrayRef<Operation *> steps) {
    for (size_t from = 0; from < steps.size();) {
      // Generics that follow each other.
      SmallVector<linalg::GenericOp> run;
      while (from + run.size() < steps.size())
        if (auto op = dyn_cast<linalg::GenericOp>(steps[from + run.size()]);
            op && !kept.contains(op))
          run.push_back(op);
        else
          break;
      from += run.size() + 1;
      for (size_t first = 0; first < run.size();) {
        Group group = groupAt(ArrayRef(run).drop_front(first));
        first += std::max<size_t>(group.steps.size(), 1);
        if (group.steps.size() > 1)
          stream(group);
      }
    }
  }

private:
  // The loop of a step that walks `rows` rows of its result, if each row of what is written depends
  // on that loop alone.
  std::optional<unsigned> rowLoopOf(linalg::GenericOp op, int64_t rows) const {
    if (op->getNumResults() != 0 || !op.getBody()->getOps<linalg::IndexOp>().empty())
      return std::nullopt;
    std::optional<unsigned> loop;
    for (OpOperand &out : op.getDpsInitsMutable()) {
      AffineMap map = op.getMatchingIndexingMap(&out);
      auto first = map.getNumResults() > 0 ? dyn_cast<AffineDimExpr>(map.getResult(0))
                                           : AffineDimExpr(nullptr);
      if (!first || (loop && *loop != first.getPosition()))
        return std::nullopt;
      loop = first.getPosition();
    }
    if (!loop || op.getStaticLoopRanges()[*loop] != rows ||
        op.getIteratorTypesArray()[*loop] != utils::IteratorType::parallel)
      return std::nullopt;
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<MemRefType>(operand.get().getType());
      if (!type || !type.hasStaticShape())
        return std::nullopt;
      unsigned uses = 0;
      for (AffineExpr result : op.getMatchingIndexingMap(&operand).getResults()) {
        if (!result.isFunctionOfDim(*loop))
          continue;
        if (!isa<AffineDimExpr>(result) || ++uses > 1)
          return std::nullopt;
      }
    }
    return loop;
  }

  static bool isIdentityMemory(Value memref) {
    Operation *op = memref.getDefiningOp();
    return !op || isa<memref::AllocOp>(op);
  }

  static bool walksRows(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto first = map.getNumResults() > 0 ? dyn_cast<AffineDimExpr>(map.getResult(0))
                                         : AffineDimExpr(nullptr);
    return first && first.getPosition() == loop && isIdentityMemory(operand.get());
  }

  // The longest group that starts with the first step.
  Group groupAt(ArrayRef<linalg::GenericOp> run) const {
    Group group;
    linalg::GenericOp head = run[0];
    auto out = cast<MemRefType>(head.getDpsInits()[0].getType());
    if (out.getRank() == 0 || !out.hasStaticShape())
      return group;
    group.rows = out.getDimSize(0);
    for (linalg::GenericOp op : run) {
      std::optional<unsigned> loop = rowLoopOf(op, group.rows);
      if (!loop)
        break;
      group.steps.push_back(op);
      group.rowLoops.push_back(*loop);
    }
    // Whatever the group writes it may only touch row by row; the steps from the first on that
    // does otherwise leave it.
    for (bool changed = true; changed;) {
      changed = false;
      llvm::DenseSet<Value> written;
      for (linalg::GenericOp op : group.steps)
        for (Value value : op.getDpsInits())
          written.insert(rootOf(value));
      for (auto [i, op] : llvm::enumerate(group.steps)) {
        bool fine = true;
        for (OpOperand &operand : op->getOpOperands())
          if (written.contains(rootOf(operand.get())))
            fine &= walksRows(op, operand, group.rowLoops[i]);
        if (fine)
          continue;
        group.steps.truncate(i);
        group.rowLoops.truncate(i);
        changed = true;
        break;
      }
    }
    for (linalg::GenericOp op : group.steps)
      for (Value value : op.getDpsInits())
        if (value.getDefiningOp<memref::AllocOp>() &&
            llvm::all_of(value.getUsers(), [&](Operation *user) {
              auto generic = dyn_cast<linalg::GenericOp>(user);
              return generic && llvm::is_contained(group.steps, generic);
            }))
          group.temporaries.insert(value);
    return group;
  }

  static Value rootOf(Value memref) {
    while (Operation *op = memref.getDefiningOp()) {
      if (!isa<memref::SubViewOp, memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(
              op))
        break;
      memref = op->getOperand(0);
    }
    return memref;
  }

  // Bytes of the temporaries that will lie in global memory: those between cube and vector cores,
  // and some more where rows are too long for the vector unit to go through them in one piece.
  int64_t exchangedBytes(const Group &group) const {
    int64_t largest = 0, all = 0, exchanged = 0;
    bool isLong = false;
    for (Value temporary : group.temporaries) {
      if (isHandedOver(temporary, group))
        continue;
      auto type = cast<MemRefType>(temporary.getType());
      all += bytesOf(temporary);
      largest = std::max(largest, bytesOf(temporary));
      isLong |=
          type.getNumElements() / std::max<int64_t>(group.rows, 1) * kColumnBytes > soc.ub_bytes;
      bool cube = false, vector = false;
      for (Operation *user : temporary.getUsers()) {
        auto op = cast<linalg::GenericOp>(user);
        // What a rounding reads stays on the cube core, what it writes comes from there.
        if (!isFolded(op))
          (isContraction(op) ? cube : vector) = true;
        else if (op.getNumDpsInputs() == 1 && op.getDpsInits()[0] == temporary)
          cube = true;
      }
      if (cube && vector)
        exchanged += bytesOf(temporary);
    }
    // Step by step: what one reads and what it writes.
    return isLong ? std::min(all, exchanged + 2 * largest) : exchanged;
  }

  // Fills and roundings around a product are part of it: they hand nothing on by themselves.
  static bool isFolded(linalg::GenericOp op) {
    if (op.getNumDpsInputs() == 0)
      return true;
    return op.getNumDpsInputs() == 1 && isRounding(op) &&
           llvm::any_of(op.getDpsInputs()[0].getUsers(), [](Operation *user) {
             auto product = dyn_cast<linalg::GenericOp>(user);
             return product && isContraction(product);
           });
  }

  // A plain product, perhaps rounded, that one operation reads element by element for a result of
  // the kernel: it goes tile by tile through a ring (plan_fused.cc).
  static bool isHandedOver(Value temporary, const Group &group) {
    linalg::GenericOp reader;
    bool plain = true;
    for (OpOperand &use : temporary.getUses()) {
      auto op = cast<linalg::GenericOp>(use.getOwner());
      if (isContraction(op) && op.isDpsInit(&use)) {
        plain &= op.getNumLoops() == 3;
        continue;
      }
      if (isFolded(op))
        continue;
      plain &= !reader && op.getNumReductionLoops() == 0 && op.isDpsInput(&use) &&
               op.getMatchingIndexingMap(&use).isIdentity();
      reader = op;
    }
    return plain && reader && llvm::none_of(reader.getDpsInits(), [&](Value result) {
             return group.temporaries.contains(result);
           });
  }

  void stream(const Group &group) {
    // What the group reads again and again wants room as well.
    int64_t room = soc.l2_bytes / 2;
    int64_t bytes = exchangedBytes(group);
    if (bytes <= room || group.rows < 2 * kRowUnit)
      return;
    int64_t parts = std::min((bytes + room - 1) / room, kMostBlocks);
    int64_t block = (group.rows + parts - 1) / parts;
    block = std::max(kRowUnit, block / kRowUnit * kRowUnit);
    for (int64_t start = 0; start < group.rows; start += block)
      emitBlock(group, start, std::min(block, group.rows - start));
    for (linalg::GenericOp op : group.steps)
      op.erase();
    for (Value temporary : group.temporaries)
      temporary.getDefiningOp()->erase();
  }

  void emitBlock(const Group &group, int64_t start, int64_t rows) {
    OpBuilder builder(group.steps.front());
    DenseMap<Value, Value> own;
    for (Value temporary : group.temporaries) {
      auto type = cast<MemRefType>(temporary.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = rows;
      own[temporary] = builder.create<memref::AllocOp>(
          temporary.getLoc(), MemRefType::get(shape, type.getElementType()));
    }
    for (auto [step, loop] : llvm::zip_equal(group.steps, group.rowLoops)) {
      linalg::GenericOp op = step;
      auto copy = cast<linalg::GenericOp>(builder.clone(*op));
      builder.setInsertionPoint(copy);
      for (OpOperand &operand : copy->getOpOperands()) {
        Value memref = operand.get();
        if (Value mine = own.lookup(memref)) {
          operand.set(mine);
          continue;
        }
        auto type = cast<MemRefType>(memref.getType());
        SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), sizes,
            strides(type.getRank(), builder.getIndexAttr(1));
        for (int64_t extent : type.getShape())
          sizes.push_back(builder.getIndexAttr(extent));
        bool walks = false;
        for (auto [position, result] :
             llvm::enumerate(copy.getMatchingIndexingMap(&operand).getResults()))
          if (auto dim = dyn_cast<AffineDimExpr>(result); dim && dim.getPosition() == loop) {
            offsets[position] = builder.getIndexAttr(start);
            sizes[position] = builder.getIndexAttr(rows);
            walks = true;
          }
        if (walks)
          operand.set(
              builder.create<memref::SubViewOp>(copy.getLoc(), memref, offsets, sizes, strides));
      }
      builder.setInsertionPointAfter(copy);
    }
  }

  func::FuncOp kernel;
  const machine::Soc &soc;
  const llvm::DenseSet<Operation *> &kept;
};

// The 16-bit type that an operation rounds an input to before anything else; null: to none.
Type roundedTo(linalg::GenericOp op, OpOperand &input) {
  Value argument = op.getMatchingBlockArgument(&input);
  Type type;
  for (Operation *user : argument.getUsers()) {
    auto rounding = dyn_cast<arith::TruncFOp>(user);
    if (!rounding || (type && rounding.getType() != type))
      return {};
    type = rounding.getType();
  }
  return type;
}

} // namespace

void roundBehindContractions(ArrayRef<Operation *> steps) {
  for (Operation *step : steps) {
    auto product = dyn_cast<linalg::GenericOp>(step);
    if (!product || !isContraction(product))
      continue;
    Value sum = product.getDpsInits()[0];
    if (!sum.getDefiningOp<memref::AllocOp>())
      continue;
    // What comes after must all round first, to one type; before, there may be fills.
    Type type;
    SmallVector<OpOperand *> readers;
    bool fine = true;
    for (OpOperand &use : sum.getUses()) {
      auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (user == product)
        continue;
      if (!user || user->getBlock() != product->getBlock()) {
        fine = false;
        break;
      }
      if (user->isBeforeInBlock(product)) {
        fine &= user.getNumDpsInputs() == 0;
        continue;
      }
      Type to = user.isDpsInput(&use) && !isRounding(user) ? roundedTo(user, use) : Type();
      fine &= to && (!type || to == type);
      type = to;
      readers.push_back(&use);
    }
    if (!fine || readers.empty())
      continue;
    OpBuilder builder(product);
    builder.setInsertionPointAfter(product);
    Location loc = product.getLoc();
    auto shape = cast<MemRefType>(sum.getType()).getShape();
    Value rounded = builder.create<memref::AllocOp>(loc, MemRefType::get(shape, type));
    AffineMap map = builder.getMultiDimIdentityMap(shape.size());
    SmallVector<utils::IteratorType> loops(shape.size(), utils::IteratorType::parallel);
    builder.create<linalg::GenericOp>(
        loc, TypeRange{}, ValueRange{sum}, ValueRange{rounded}, ArrayRef<AffineMap>{map, map},
        loops, [&](OpBuilder &inner, Location where, ValueRange arguments) {
          Value result = inner.create<arith::TruncFOp>(where, type, arguments[0]);
          inner.create<linalg::YieldOp>(where, result);
        });
    for (OpOperand *reader : readers) {
      auto user = cast<linalg::GenericOp>(reader->getOwner());
      BlockArgument argument = user.getMatchingBlockArgument(reader);
      for (Operation *rounding : llvm::make_early_inc_range(argument.getUsers())) {
        rounding->getResult(0).replaceAllUsesWith(argument);
        rounding->erase();
      }
      argument.setType(type);
      reader->set(rounded);
    }
  }
}

void streamRows(func::FuncOp kernel, const machine::Soc &soc, ArrayRef<Operation *> steps,
                const llvm::DenseSet<Operation *> &kept) {
  RowStreamer(kernel, soc, kept).run(steps);
}

} // namespace pyasc::npu
