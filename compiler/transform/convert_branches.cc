#include "compiler/transform/convert_branches.h"

#include <optional>
#include <string>

#include "compiler/transform/affine_pieces.h"
#include "compiler/transform/cells.h"
#include "compiler/transform/element.h"
#include "compiler/transform/nest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace pyasc {

using namespace mlir;
using affine::AffineForOp;

namespace {

// Larger bodies are not worth computing in vain or writing down several times.
constexpr size_t kMaxOps = 96;
constexpr unsigned kMaxClamps = 15;

// One element that the branch writes. Values are looked up when they are needed: hoisting replaces
// some.
struct Assignment {
  Operation *stores[2] = {}; // by side: then, else; null where that side leaves it alone

  Element element() const { return *Element::of(stores[0] ? stores[0] : stores[1]); }
};

class BranchConverter {
public:
  explicit BranchConverter(AffineForOp root) : root(root) {}

  void run() {
    SmallVector<scf::IfOp> branches;
    root.walk<WalkOrder::PostOrder>([&](scf::IfOp branch) { branches.push_back(branch); });
    for (scf::IfOp branch : branches) {
      reason.clear();
      if (branch.getNumResults() == 0 && (toSelections(branch) || toGuards(branch)))
        continue;
      if (reason.empty())
        reason = "it has a value";
      branch->setAttr(kBranchReason, StringAttr::get(branch.getContext(), reason));
    }
    splitClamps(*root.getBody());
    root.walk([&](Block *block) { forwardCells(*block); });
  }

private:
  bool stays(std::string why) {
    reason = std::move(why);
    return false;
  }

  // ---- selections

  bool toSelections(scf::IfOp branch) {
    SmallVector<Assignment> assignments;
    Block *sides[2] = {branch.thenBlock(), branch.elseBlock()};
    for (int side : {0, 1})
      if (sides[side] && !collect(branch, *sides[side], side, sides[1 - side], assignments))
        return false;

    OpBuilder builder(branch);
    for (Block *side : sides)
      if (side)
        hoist(*side, branch);
    for (Assignment &assignment : assignments) {
      Element element = assignment.element();
      Location loc = element.op->getLoc();
      Value values[2];
      for (int side : {0, 1})
        values[side] = assignment.stores[side] ? storedValue(assignment.stores[side])
                                               : currentValue(element, branch, builder);
      element.store(builder, loc,
                    select(builder, loc, branch.getCondition(), values[0], values[1]));
    }
    branch.erase();
    return true;
  }

  // Whether everything on this side may run whatever the condition says; what it assigns.
  bool collect(scf::IfOp branch, Block &block, int side, Block *other,
               SmallVector<Assignment> &assignments) {
    if (block.getOperations().size() > kMaxOps)
      return stays("it is too long");
    SmallVector<Value> written; // on this side so far
    for (Operation &op : block.without_terminator()) {
      std::optional<Element> element = Element::of(&op);
      if (element) {
        if (!isAlwaysInside(*element, branch, other))
          return stays("without its test " + describeBuffer(element->memref) +
                       " might be read or written out of bounds");
        Value buffer = rootBuffer(element->memref);
        bool isOverwritten =
            llvm::any_of(written, [&](Value known) { return !areDistinctBuffers(known, buffer); });
        if (isOverwritten)
          return stays("it uses " + describeBuffer(buffer) + " again after assigning to it");
        if (!element->isStore)
          continue;
        written.push_back(buffer);
        if (!addAssignment(*element, side, assignments))
          return stays("its sides assign to different elements of " + describeBuffer(buffer));
      } else if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op) || !isSpeculatable(&op)) {
        return stays(describeObstacle(op));
      }
    }
    return true;
  }

  static std::string describeObstacle(Operation &op) {
    StringRef name = op.getName().getStringRef();
    if (name == "asc.check")
      return "an index in it has to be checked when it runs";
    if (isa<scf::IfOp, affine::AffineIfOp>(op))
      return "another branch stands in it";
    if (isa<scf::ForOp, scf::WhileOp, AffineForOp>(op))
      return "a loop stands in it";
    return "it does more than assign values";
  }

  bool addAssignment(const Element &element, int side, SmallVector<Assignment> &assignments) {
    for (Assignment &known : assignments) {
      if (areDistinctBuffers(rootBuffer(known.element().memref), rootBuffer(element.memref)))
        continue;
      if (!known.element().isSameAs(element) || known.stores[side])
        return false;
      known.stores[side] = element.op;
      return true;
    }
    Assignment assignment;
    assignment.stores[side] = element.op;
    assignments.push_back(assignment);
    return true;
  }

  // Whether an access lies in its buffer even where the branch would not have made it.
  bool isAlwaysInside(const Element &element, scf::IfOp branch, Block *other) {
    if (element.isInBounds())
      return true;
    auto touchesSame = [&](Operation &op) {
      std::optional<Element> known = Element::of(&op);
      return known && known->isSameAs(element);
    };
    if (other && llvm::any_of(other->without_terminator(), touchesSame))
      return true;
    for (Operation *at = branch; at != root; at = at->getParentOp())
      for (Operation *before = at->getPrevNode(); before; before = before->getPrevNode())
        if (touchesSame(*before))
          return true;
    return false;
  }

  // Moves all but the stores before the branch; what was loaded there already is not loaded again.
  void hoist(Block &side, scf::IfOp branch) {
    for (Operation &op : llvm::make_early_inc_range(side.without_terminator())) {
      std::optional<Element> element = Element::of(&op);
      if (element && element->isStore)
        continue;
      Value known = element ? knownValue(*element, branch) : Value();
      if (!known) {
        op.moveBefore(branch);
        continue;
      }
      op.getResult(0).replaceAllUsesWith(known);
      op.erase();
    }
  }

  // What a load before `place`, in the same block, says of the element; null: nothing.
  Value knownValue(const Element &element, Operation *place) {
    for (Operation *at = place->getPrevNode(); at; at = at->getPrevNode()) {
      if (at->getNumRegions() != 0)
        return {};
      std::optional<Element> known = Element::of(at);
      if (known && known->isSameAs(element))
        return known->isStore ? known->stored() : at->getResult(0);
      if (known && !known->isStore)
        continue;
      if (known && areDistinctBuffers(rootBuffer(known->memref), rootBuffer(element.memref)))
        continue;
      if (!isMemoryEffectFree(at))
        return {};
    }
    return {};
  }

  Value currentValue(const Element &element, Operation *place, OpBuilder &builder) {
    if (Value known = knownValue(element, place))
      return known;
    return element.load(builder, element.op->getLoc());
  }

  static Value select(OpBuilder &builder, Location loc, Value condition, Value yes, Value no) {
    if (yes == no)
      return yes;
    if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
      bool straight = compare.getLhs() == yes && compare.getRhs() == no;
      bool crossed = compare.getLhs() == no && compare.getRhs() == yes;
      using Predicate = arith::CmpIPredicate;
      if (straight || crossed) {
        switch (compare.getPredicate()) {
        case Predicate::sgt:
        case Predicate::sge:
          return straight ? builder.create<arith::MaxSIOp>(loc, yes, no).getResult()
                          : builder.create<arith::MinSIOp>(loc, yes, no).getResult();
        case Predicate::slt:
        case Predicate::sle:
          return straight ? builder.create<arith::MinSIOp>(loc, yes, no).getResult()
                          : builder.create<arith::MaxSIOp>(loc, yes, no).getResult();
        case Predicate::ugt:
        case Predicate::uge:
          return straight ? builder.create<arith::MaxUIOp>(loc, yes, no).getResult()
                          : builder.create<arith::MinUIOp>(loc, yes, no).getResult();
        case Predicate::ult:
        case Predicate::ule:
          return straight ? builder.create<arith::MinUIOp>(loc, yes, no).getResult()
                          : builder.create<arith::MaxUIOp>(loc, yes, no).getResult();
        default:
          break;
        }
      }
    }
    return builder.create<arith::SelectOp>(loc, condition, yes, no);
  }

  // ---- guards

  bool toGuards(scf::IfOp branch) {
    AffinePieces pieces;
    auto holds = pieces.of(branch.getCondition(), /*negated=*/false);
    auto fails = pieces.of(branch.getCondition(), /*negated=*/true);
    if (!holds || !fails)
      return false;
    auto count = [](Block *block) { return block ? block->getOperations().size() : 0; };
    if (count(branch.thenBlock()) * holds->size() + count(branch.elseBlock()) * fails->size() >
        2 * kMaxOps)
      return false;
    OpBuilder builder(branch);
    auto emit = [&](Block *block, ArrayRef<AffinePieces::Piece> alternatives) {
      if (!block || block->without_terminator().empty())
        return;
      for (const AffinePieces::Piece &piece : alternatives)
        fill(pieces.guard(builder, branch.getLoc(), piece), block->without_terminator(), {});
    };
    emit(branch.thenBlock(), *holds);
    emit(branch.elseBlock(), *fails);
    branch.erase();
    return true;
  }

  template <typename Range> void fill(affine::AffineIfOp guard, Range ops, IRMapping mapping) {
    OpBuilder inside = OpBuilder::atBlockTerminator(guard.getThenBlock());
    for (Operation &op : ops)
      inside.clone(op, mapping);
  }

  // ---- clamped indices

  // The first affine.min or .max of two terms in the block that an access is indexed by.
  static Operation *findClamp(Block &block) {
    for (Operation &op : block) {
      AffineMap map;
      if (auto least = dyn_cast<affine::AffineMinOp>(op))
        map = least.getMap();
      else if (auto most = dyn_cast<affine::AffineMaxOp>(op))
        map = most.getMap();
      if (map && map.getNumResults() == 2 && indexesMemory(op.getResult(0), 0))
        return &op;
    }
    return nullptr;
  }

  static bool indexesMemory(Value value, int depth) {
    return depth < 4 && llvm::any_of(
                            value.getUsers(),
                            [&](Operation *user) {
                              if (std::optional<Element> element = Element::of(user))
                                return !element->isStore || element->stored() != value;
                              return user->getNumResults() == 1 &&
                                     user->getResult(0).getType().isIndex() &&
                                     indexesMemory(user->getResult(0), depth + 1);
                            });
  }

  void splitClamps(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          splitClamps(inner);
    Operation *clamp = findClamp(block);
    if (!clamp || block.getTerminator()->getNumOperands() != 0 || clamps == kMaxClamps ||
        block.getOperations().size() > kMaxOps)
      return;
    ++clamps;
    auto rest =
        llvm::make_range(std::next(clamp->getIterator()), block.getTerminator()->getIterator());
    bool isMax = isa<affine::AffineMaxOp>(clamp);
    AffineMap map = isMax ? cast<affine::AffineMaxOp>(clamp).getMap()
                          : cast<affine::AffineMinOp>(clamp).getMap();
    OpBuilder builder(block.getTerminator());
    SmallVector<affine::AffineIfOp> guards;
    for (unsigned chosen : {0u, 1u}) {
      // The first where they are equal.
      AffineExpr mine = map.getResult(chosen), other = map.getResult(1 - chosen);
      AffineExpr room = isMax ? mine - other : other - mine;
      IntegerSet set =
          IntegerSet::get(map.getNumDims(), map.getNumSymbols(), {room - int64_t(chosen)}, {false});
      guards.push_back(
          builder.create<affine::AffineIfOp>(clamp->getLoc(), set, clamp->getOperands(), false));
      OpBuilder inside = OpBuilder::atBlockTerminator(guards.back().getThenBlock());
      IRMapping mapping;
      auto term = AffineMap::get(map.getNumDims(), map.getNumSymbols(), mine);
      Value value =
          inside.create<affine::AffineApplyOp>(clamp->getLoc(), term, clamp->getOperands());
      mapping.map(clamp->getResult(0), value);
      auto end = Block::iterator(guards.front());
      for (Operation &op : llvm::make_range(rest.begin(), end))
        inside.clone(op, mapping);
    }
    SmallVector<Operation *> replaced;
    for (Operation *op = clamp; op != guards.front(); op = op->getNextNode())
      replaced.push_back(op);
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (affine::AffineIfOp guard : guards)
      splitClamps(*guard.getThenBlock());
  }

  // ---- cells

  // A variable that was assigned on both sides is now assigned in straight-line code: its loads
  // see what was stored, and stores that are overwritten unseen go.
  void forwardCells(Block &block) {
    llvm::DenseMap<Value, Value> known;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.getNumRegions() != 0) {
        op.walk([&](Operation *inner) { known.erase(storedCell(inner)); });
      } else if (Value cell = storedCell(&op); cell && isCell(cell)) {
        known[cell] = storedValue(&op);
      } else if (Value value = known.lookup(loadedCell(&op))) {
        op.getResult(0).replaceAllUsesWith(value);
        op.erase();
      }
    }
    llvm::DenseSet<Value> overwritten;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (op.getNumRegions() != 0)
        overwritten.clear();
      else if (Value cell = storedCell(&op);
               cell && isCell(cell) && !overwritten.insert(cell).second)
        op.erase();
      else if (Value read = loadedCell(&op))
        overwritten.erase(read);
    }
  }

  AffineForOp root;
  std::string reason;
  unsigned clamps = 0;
};

} // namespace

void convertBranches(AffineForOp loop) { BranchConverter(loop).run(); }

} // namespace pyasc
