// npu-plan: structured form -> planned.
//
// In: one asc.kernel function in structured form. Out: the module in stage "planned", one function
// a phase, the kernel erased. Steps are offered to the cube, the vector and the scalar planner in
// this order; see plan.h.
#include "compiler/target/ascend/plan.h"

#include "compiler/target/ascend/plan_chain.h"

#include "compiler/ir/refusal.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pyasc::npu {

//===------------------------------------------------------------------------------------------===//
// Steps
//===------------------------------------------------------------------------------------------===//

// Ops that compute no step: they are made again wherever a phase needs their result.
static bool isNoStep(Operation *op) {
  return isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp, memref::LoadOp,
             affine::AffineLoadOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op);
}

SmallVector<Operation *> stepsOf(Block &block) {
  SmallVector<Operation *> steps;
  for (Operation &op : block)
    if (!isNoStep(&op))
      steps.push_back(&op);
  return steps;
}

namespace {

// Which step of a block is the first after an op to write some memory.
class Writers {
public:
  Writers(const Planner &planner, Block &body) {
    size_t number = 0;
    for (Operation &op : body) {
      numbers[&op] = number++;
      if (isNoStep(&op))
        continue;
      Footprint footprint = footprintOf(planner, &op);
      if (footprint.unknown)
        anything.push_back(&op);
      for (Value root : footprint.writes)
        of[root].push_back(&op);
    }
  }
  // `root`: null when the memory is not known. Null: no step does.
  Operation *firstAfter(Operation *op, Value root) const {
    if (!root)
      return nextStep(op);
    Operation *known = next(of.lookup(root), op), *unknown = next(anything, op);
    if (!known || !unknown)
      return known ? known : unknown;
    return numbers.lookup(known) < numbers.lookup(unknown) ? known : unknown;
  }

private:
  Operation *next(ArrayRef<Operation *> steps, Operation *op) const {
    size_t number = numbers.lookup(op);
    auto after = llvm::partition_point(
        steps, [&](Operation *step) { return numbers.lookup(step) <= number; });
    return after == steps.end() ? nullptr : *after;
  }
  static Operation *nextStep(Operation *op) {
    do
      op = op->getNextNode();
    while (op && isNoStep(op));
    return op;
  }

  DenseMap<Operation *, size_t> numbers;
  DenseMap<Value, SmallVector<Operation *>> of;
  SmallVector<Operation *> anything;
};

} // namespace

void spillScalars(const Planner &planner, Block &body) {
  func::FuncOp kernel = planner.kernel();
  auto topLevel = [&](Operation *op) { return body.findAncestorOpInBlock(*op); };

  // What no step but the spill itself writes, whatever a step's footprint says.
  llvm::SmallDenseSet<Value> cells;
  auto spill = [&](OpResult value, auto &&needsCell) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (needsCell(topLevel(use.getOwner())))
        uses.push_back(&use);
    if (uses.empty())
      return;
    OpBuilder builder(kernel.getContext());
    builder.setInsertionPointToStart(&kernel.getBody().front());
    Location loc = value.getLoc();
    const bool isIndex = value.getType().isIndex(); // memory has no such elements
    Type type = isIndex ? builder.getI64Type() : value.getType();
    Value cell = builder.create<memref::AllocaOp>(loc, MemRefType::get({}, type));
    cells.insert(cell);
    builder.setInsertionPointAfter(value.getOwner());
    Value kept = isIndex ? builder.create<arith::IndexCastOp>(loc, type, value) : Value(value);
    builder.create<memref::StoreOp>(loc, kept, cell, ValueRange());
    for (OpOperand *use : uses) {
      builder.setInsertionPoint(topLevel(use->getOwner()));
      Value again = builder.create<memref::LoadOp>(loc, cell, ValueRange());
      use->set(isIndex ? builder.create<arith::IndexCastOp>(loc, value.getType(), again) : again);
    }
  };

  const Writers writers(planner, body);
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isNoStep(&op)) {
      for (OpResult result : op.getResults())
        spill(result, [](Operation *) { return true; });
      continue;
    }
    Value memref;
    if (auto load = dyn_cast<memref::LoadOp>(op))
      memref = load.getMemref();
    else if (auto load = dyn_cast<affine::AffineLoadOp>(op))
      memref = load.getMemref();
    else
      continue;
    if (cells.contains(memref))
      continue;
    FailureOr<MemRefView> view = planner.locate(memref);
    // The first step that may overwrite what was loaded; it may use the value itself.
    Operation *clobber = writers.firstAfter(&op, failed(view) ? Value() : view->root);
    if (!clobber)
      continue;
    // Values computed from the load are made again where they are used: look at those uses.
    SmallVector<Operation *> worklist{&op};
    llvm::SmallDenseSet<Operation *> derived{&op};
    bool late = false;
    while (!worklist.empty()) {
      for (Operation *user : worklist.pop_back_val()->getUsers()) {
        Operation *top = topLevel(user);
        if (isNoStep(top) && top == user) {
          if (derived.insert(user).second)
            worklist.push_back(user);
        } else if (!top->isBeforeInBlock(clobber) && top != clobber) {
          late = true;
        }
      }
    }
    // A step that writes what it was given has surely read it first only if it is a plain store.
    bool own = !isa<memref::StoreOp, affine::AffineStoreOp>(clobber) &&
               llvm::any_of(derived, [&](Operation *value) {
                 return llvm::any_of(value->getUsers(),
                                     [&](Operation *user) { return topLevel(user) == clobber; });
               });
    if (late || own)
      spill(cast<OpResult>(op.getResult(0)), [](Operation *) { return true; });
  }
}

Footprint footprintOf(const Planner &planner, Operation *step) {
  Footprint result;
  auto add = [&](Value memref, bool write) {
    FailureOr<MemRefView> view = planner.locate(memref);
    if (failed(view))
      result.unknown = true;
    else
      (write ? result.writes : result.reads).insert(view->root);
  };
  step->walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects) {
      result.unknown |= !isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>();
      return;
    }
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances) {
      bool write = isa<MemoryEffects::Write>(instance.getEffect());
      if (!write && !isa<MemoryEffects::Read>(instance.getEffect()))
        continue;
      if (Value memref = instance.getValue())
        add(memref, write);
      else
        result.unknown = true;
    }
  });
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Planner
//===------------------------------------------------------------------------------------------===//

Planner::Planner(func::FuncOp kernel, const PlanOptions &options)
    : function(kernel), options(options) {}

int64_t Planner::cores(StringRef core) const {
  return core == "aic" ? soc().cube_cores : soc().vector_cores;
}

LogicalResult Planner::run() {
  spillScalars(*this, function.getBody().front());
  auto find = [&] { return stepsOf(function.getBody().front()); };
  if (options.use_cube)
    roundBehindContractions(find());
  if (options.use_cube && options.use_vector) {
    SmallVector<Operation *> found = find();
    llvm::DenseSet<Operation *> kept;
    for (const std::shared_ptr<RowChain> &chain : findChains(*this, found)) {
      chains[headOf(*chain)] = chain;
      for (Operation *member : membersOf(*chain))
        kept.insert(member);
    }
    streamRows(function, soc(), found, kept);
  }
  SmallVector<Operation *> steps = find();
  if (options.use_cube)
    foldAroundContractions(*this, steps);
  llvm::erase_if(steps, [&](Operation *step) { return isFolded(step); });

  llvm::DenseSet<Value> touched;
  for (Operation *step : steps) {
    Footprint footprint = footprintOf(*this, step);
    for (Value root : footprint.reads)
      readers[root].push_back(step);
    written.insert(footprint.writes.begin(), footprint.writes.end());
    touched.insert(footprint.reads.begin(), footprint.reads.end());
    touched.insert(footprint.writes.begin(), footprint.writes.end());
  }
  for (Value root : touched) {
    auto type = cast<MemRefType>(root.getType());
    touchedBytes += type.getNumElements() * bytesOf(type.getElementType());
  }

  for (ArrayRef<Operation *> rest = steps; !rest.empty();) {
    size_t taken = 0;
    std::string reasons;
    if (!offer(rest, taken, reasons))
      return rest.front()->emitError(ir::kRefusal) << " for the Ascend target: " << reasons;
    rest = rest.drop_front(taken);
  }

  // A kernel with nothing to do is a launch that does nothing.
  if (phases.empty())
    begin(function.getLoc(), "aiv", 1);
  shareWorkspaces();

  auto module = cast<ModuleOp>(function->getParentOp());
  Builder builder(module.getContext());
  module->setAttr(kSoc, builder.getStringAttr(soc().name));
  module->setAttr(kStage, builder.getStringAttr(kPlanned));
  module->setAttr(kWorkspaces, builder.getI64ArrayAttr(workspaceBytes));
  // Blocks of rows repeat what was said of the first.
  llvm::SetVector<Attribute> lowered;
  for (const Lowered &record : records) {
    auto position = record.loc->findInstanceOf<FileLineColLoc>();
    SmallVector<NamedAttribute> fields = {
        builder.getNamedAttr("file", position ? position.getFilename() : builder.getStringAttr("")),
        builder.getNamedAttr("line", builder.getI64IntegerAttr(position ? position.getLine() : 0)),
        builder.getNamedAttr("unit", builder.getStringAttr(record.unit)),
        builder.getNamedAttr("what", builder.getStringAttr(record.what)),
        builder.getNamedAttr("reason", builder.getStringAttr(record.reason)),
        builder.getNamedAttr("step", builder.getI64IntegerAttr(record.step))};
    if (record.cores > 0) {
      fields.push_back(builder.getNamedAttr("cores", builder.getI64IntegerAttr(record.cores)));
      fields.push_back(
          builder.getNamedAttr("cores_reason", builder.getStringAttr(record.coresReason)));
    }
    lowered.insert(builder.getDictionaryAttr(fields));
  }
  module->setAttr(kLowered, builder.getArrayAttr(lowered.getArrayRef()));
  function.erase();
  return success();
}

// Temporaries that no phase needs at the same time lie in the same memory: fewer bytes, and they
// stay in L2. The one that was free last is taken again first.
void Planner::shareWorkspaces() {
  struct Life {
    int64_t number;
    size_t first, last;
  };
  std::vector<Life> lives;
  DenseMap<int64_t, size_t> places;
  auto numberOf = [](func::FuncOp phase, unsigned argument) -> std::optional<int64_t> {
    auto binding = phase.getArgAttrOfType<StringAttr>(argument, kBinding);
    int64_t number;
    StringRef text = binding ? binding.getValue() : "";
    if (!text.consume_front("workspace:") || text.getAsInteger(10, number))
      return std::nullopt;
    return number;
  };
  size_t at = 0;
  for (auto [i, phase] : llvm::enumerate(phases)) {
    // Phases of a group run at the same time, those of a loop again after one another.
    auto shares = [&, i = i, phase = phase](StringRef name) {
      return phase->hasAttr(name) && phase->getAttr(name) == phases[i - 1]->getAttr(name);
    };
    bool together = i > 0 && (shares(kGroup) || shares(kLoop));
    at += i > 0 && !together;
    for (unsigned i = 0; i < phase.getNumArguments(); ++i)
      if (auto number = numberOf(phase, i)) {
        auto [found, isNew] = places.insert({*number, lives.size()});
        if (isNew)
          lives.push_back({*number, at, at});
        lives[found->second].last = at;
      }
  }
  // In the order of their first phases.
  struct Shared {
    int64_t bytes;
    size_t last;
  };
  std::vector<Shared> shared;
  DenseMap<int64_t, int64_t> renamed;
  for (const Life &life : lives) {
    int64_t bytes = workspaceBytes[life.number];
    std::optional<size_t> best;
    for (auto [i, candidate] : llvm::enumerate(shared)) {
      // A small temporary does not take the place of a large one.
      bool fits =
          candidate.last < life.first && bytes <= candidate.bytes && candidate.bytes <= 2 * bytes;
      if (fits && (!best || candidate.last > shared[*best].last))
        best = i;
    }
    if (!best) {
      best = shared.size();
      shared.push_back({bytes, 0});
    }
    shared[*best].last = life.last;
    renamed[life.number] = *best;
  }
  for (func::FuncOp phase : phases)
    for (unsigned i = 0; i < phase.getNumArguments(); ++i)
      if (auto number = numberOf(phase, i))
        phase.setArgAttr(
            i, kBinding,
            StringAttr::get(phase.getContext(), "workspace:" + Twine(renamed.at(*number))));
  workspaceBytes.clear();
  for (const Shared &one : shared)
    workspaceBytes.push_back(one.bytes);
}

bool Planner::streams(Value root, ArrayRef<Operation *> steps) const {
  auto found = readers.find(root);
  return touchedBytes > soc().l2_bytes && !written.contains(root) && found != readers.end() &&
         llvm::all_of(found->second,
                      [&](Operation *reader) { return llvm::is_contained(steps, reader); });
}

// Whether `accepts` holds for all that use the tensor, directly or through views.
static bool allUsers(Value root, llvm::function_ref<bool(Operation *)> accepts) {
  SmallVector<Operation *> users(root.getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (user->getNumResults() == 1 && isa<MemRefType>(user->getResult(0).getType()))
      users.append(user->user_begin(), user->user_end());
    else if (!accepts(user))
      return false;
  }
  return true;
}

bool Planner::usedOnlyBy(Value root, ArrayRef<Operation *> steps) const {
  return allUsers(
      root, [&](Operation *user) { return llvm::is_contained(steps, user) || isFolded(user); });
}

bool isTemporary(Value root, ArrayRef<Operation *> steps) {
  auto alloc = root.getDefiningOp<memref::AllocOp>();
  return alloc && alloc->getBlock() == steps.front()->getBlock() &&
         allUsers(root, [&](Operation *user) { return llvm::is_contained(steps, user); });
}

// The steps that may share a phase with the first as far as the scalars go that they are given: a
// phase loads them at its start, on every core, and so before it writes anything.
static ArrayRef<Operation *> withScalarsAtHand(const Planner &planner,
                                               ArrayRef<Operation *> steps) {
  constexpr size_t kMost = 64; // no group is longer
  steps = steps.take_front(kMost);
  llvm::SmallDenseSet<Value> written;
  for (auto [number, step] : llvm::enumerate(steps)) {
    llvm::SetVector<Value> used(step->operand_begin(), step->operand_end());
    getUsedValuesDefinedAbove(step->getRegions(), used);
    for (size_t i = 0; number > 0 && i < used.size(); ++i) {
      Operation *op = used[i].getDefiningOp();
      if (!op)
        continue;
      Value memref;
      if (auto load = dyn_cast<memref::LoadOp>(op))
        memref = load.getMemref();
      else if (auto load = dyn_cast<affine::AffineLoadOp>(op))
        memref = load.getMemref();
      FailureOr<MemRefView> view = memref ? planner.locate(memref) : FailureOr<MemRefView>();
      if (memref && (failed(view) || written.contains(view->root)))
        return steps.take_front(number);
      if (memref || isMemoryEffectFree(op))
        used.insert(op->operand_begin(), op->operand_end());
    }
    Footprint footprint = footprintOf(planner, step);
    if (footprint.unknown)
      return steps.take_front(number + 1);
    written.insert(footprint.writes.begin(), footprint.writes.end());
  }
  return steps;
}

static size_t planLoop(Planner &planner, ArrayRef<Operation *> steps, std::string &reason) {
  return planner.planLoop(steps.front(), reason);
}

bool Planner::offer(ArrayRef<Operation *> steps, size_t &taken, std::string &reasons) {
  using Plan = size_t (*)(Planner &, ArrayRef<Operation *>, std::string &);
  struct Unit {
    StringRef name;
    bool enabled;
    Plan plan;
    bool isQuiet = false; // says nothing of being switched off
  };
  // Inside a loop of phases only what does one step after the other.
  const bool isInLoop = rounds.has_value();
  const Unit units[] = {
      {"cube and vector", options.use_cube && options.use_vector && !isInLoop, planFused, true},
      {"cube", options.use_cube, planContraction},
      {"vector", options.use_vector, planVector},
      {"loop", (options.use_cube || options.use_vector) && !isInLoop, npu::planLoop, true},
      {"scalar", true, planScalar}};
  for (const Unit &unit : units) {
    std::string reason = unit.isQuiet ? "" : "switched off";
    auto workspacesBefore = workspaces;
    size_t bytesBefore = workspaceBytes.size(), phasesBefore = phases.size(),
           recordsBefore = records.size();
    ArrayRef<Operation *> offered =
        unit.plan == planFused || unit.plan == planVector ? withScalarsAtHand(*this, steps) : steps;
    taken = unit.enabled ? unit.plan(*this, offered, reason) : 0;
    if (taken > 0) {
      // The better units' reasons belong to the first record that this one made.
      if (records.size() > recordsBefore && records[recordsBefore].reason.empty() &&
          records[recordsBefore].unit != "transfer" && unit.plan != npu::planLoop)
        records[recordsBefore].reason = reasons;
      attribute(offered.take_front(taken), phasesBefore, recordsBefore);
      return true;
    }
    while (phases.size() > phasesBefore)
      phases.pop_back_val().erase();
    records.truncate(recordsBefore);
    workspaceBytes.truncate(bytesBefore);
    workspaces = std::move(workspacesBefore);
    if (!reason.empty())
      reasons += (reasons.empty() ? "" : "; ") + unit.name.str() + ": " + reason;
  }
  return false;
}

void Planner::attribute(ArrayRef<Operation *> steps, size_t phasesBefore, size_t recordsBefore) {
  auto numberOf = [](Operation *step) {
    auto number = step->getAttrOfType<IntegerAttr>("asc.step");
    return number ? number.getInt() : -1;
  };
  llvm::SetVector<int64_t> numbers;
  // Of one place the records come in the order of the steps.
  DenseMap<Attribute, SmallVector<int64_t>> at;
  for (Operation *step : steps)
    if (int64_t number = numberOf(step); number >= 0) {
      numbers.insert(number);
      at[LocationAttr(step->getLoc())].push_back(number);
    }
  DenseMap<Attribute, size_t> next;
  for (size_t i = recordsBefore; i < records.size(); ++i) {
    auto found = at.find(LocationAttr(records[i].loc));
    if (found == at.end())
      continue;
    size_t &place = next[LocationAttr(records[i].loc)];
    records[i].step = found->second[std::min(place, found->second.size() - 1)];
    ++place;
  }
  if (numbers.empty())
    return;
  Builder builder(function.getContext());
  for (size_t i = phasesBefore; i < phases.size(); ++i)
    phases[i]->setAttr(kSteps, builder.getI64ArrayAttr(numbers.getArrayRef()));
}

Phase Planner::begin(Location loc, StringRef core, int64_t blocks) {
  OpBuilder builder(function);
  std::string name = function.getName().str() + "_" + std::to_string(phases.size());
  auto phase = builder.create<func::FuncOp>(loc, name, builder.getFunctionType({}, {}));
  phase->setAttr(kCore, builder.getStringAttr(core));
  phase->setAttr(kBlocks, builder.getI64IntegerAttr(blocks));
  Block *entry = phase.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  builder.create<func::ReturnOp>(loc);
  phases.push_back(phase);
  return Phase(*this, phase, loc);
}

int64_t Planner::newWorkspace(int64_t bytes) {
  workspaceBytes.push_back(bytes);
  return workspaceBytes.size() - 1;
}

int64_t Planner::workspaceOf(Value root) {
  auto found = workspaces.find(root);
  if (found != workspaces.end())
    return found->second;
  auto type = cast<MemRefType>(root.getType());
  int64_t workspace = newWorkspace(type.getNumElements() * bytesOf(type.getElementType()));
  workspaces[root] = workspace;
  return workspace;
}

bool MemRefView::operator==(const MemRefView &other) const {
  if (root != other.root || offset != other.offset || terms != other.terms ||
      sizes != other.sizes || element != other.element)
    return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1 && strides[i] != other.strides[i])
      return false;
  return true;
}

// Adds value * factor to where the view begins, as multiples of values that are no sums: equal
// places have equal terms wherever a loop variable and constants make them.
static void addTerm(MemRefView &view, Value value, int64_t factor) {
  if (std::optional<int64_t> fixed = getConstantIntValue(value)) {
    view.offset += *fixed * factor;
    return;
  }
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    SmallVector<int64_t> coefficients; // of the operands, then the constant
    AffineMap map = apply.getAffineMap();
    if (succeeded(getFlattenedAffineExpr(map.getResult(0), map.getNumDims(), map.getNumSymbols(),
                                         &coefficients)) &&
        coefficients.size() == apply.getMapOperands().size() + 1) {
      for (auto [operand, coefficient] : llvm::zip(apply.getMapOperands(), coefficients))
        if (coefficient != 0)
          addTerm(view, operand, coefficient * factor);
      view.offset += coefficients.back() * factor;
      return;
    }
  }
  auto known = llvm::find_if(view.terms, [&](const auto &term) { return term.first == value; });
  if (known == view.terms.end())
    view.terms.push_back({value, factor});
  else if ((known->second += factor) == 0)
    view.terms.erase(known);
}

FailureOr<MemRefView> Planner::locate(Value memref) const {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type || !type.hasStaticShape())
    return failure();
  Operation *op = memref.getDefiningOp();
  if (!op ? memref.getParentBlock() == &kernel().getBody().front()
          : isa<memref::AllocOp, memref::AllocaOp>(op)) {
    if (!type.getLayout().isIdentity())
      return failure();
    MemRefView view;
    view.root = memref;
    view.sizes = llvm::to_vector(type.getShape());
    view.element = type.getElementType();
    view.strides.resize(view.sizes.size());
    int64_t stride = 1;
    for (int64_t i = view.sizes.size() - 1; i >= 0; --i) {
      view.strides[i] = stride;
      stride *= view.sizes[i];
    }
    return view;
  }
  if (auto cast = dyn_cast_or_null<memref::CastOp>(op))
    return locate(cast.getSource());
  if (auto subview = dyn_cast_or_null<memref::SubViewOp>(op)) {
    FailureOr<MemRefView> view = locate(subview.getSource());
    if (failed(view))
      return failure();
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    SmallVector<int64_t> sizes, strides;
    for (auto [i, offset, size, stride] : llvm::enumerate(
             subview.getMixedOffsets(), subview.getMixedSizes(), subview.getMixedStrides())) {
      std::optional<int64_t> fixedSize = getConstantIntValue(size);
      std::optional<int64_t> fixedStride = getConstantIntValue(stride);
      if (!fixedSize || !fixedStride)
        return failure();
      if (std::optional<int64_t> fixed = getConstantIntValue(offset))
        view->offset += *fixed * view->strides[i];
      else
        addTerm(*view, cast<Value>(offset), view->strides[i]);
      if (dropped[i])
        continue;
      sizes.push_back(*fixedSize);
      strides.push_back(view->strides[i] * *fixedStride);
    }
    view->sizes = std::move(sizes);
    view->strides = std::move(strides);
    return view;
  }
  // Reshapes of dense memory.
  if (isa_and_nonnull<memref::CollapseShapeOp, memref::ExpandShapeOp>(op)) {
    FailureOr<MemRefView> view = locate(op->getOperand(0));
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(view) || failed(getStridesAndOffset(type, strides, offset)) ||
        llvm::is_contained(strides, ShapedType::kDynamic))
      return failure();
    view->sizes = llvm::to_vector(type.getShape());
    view->strides = std::move(strides);
    return view;
  }
  return failure();
}

//===------------------------------------------------------------------------------------------===//
// Phase
//===------------------------------------------------------------------------------------------===//

Phase::Phase(Planner &planner, func::FuncOp function, Location loc)
    : builder(function.getBody().front().getTerminator()), function(function), loc(loc),
      planner(&planner) {}

Value Phase::index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

Value Phase::constant(TypedAttr value) { return builder.create<arith::ConstantOp>(loc, value); }

Value Phase::buffer(int64_t elements, Type element, Space space, int64_t depth) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  return builder.create<BufferOp>(loc, memoryType(elements, element, space), depth, IntegerAttr());
}

Value Phase::argument(Type type, const Twine &binding, Location loc) {
  std::string name = binding.str();
  Value &argument = arguments[name];
  if (argument)
    return argument;
  unsigned number = function.getNumArguments();
  function.insertArgument(number, type, DictionaryAttr(), loc);
  function.setArgAttr(number, kBinding, builder.getStringAttr(name));
  return argument = function.getArgument(number);
}

// "parameter:2", "result:0", "error" or "prints" of a kernel argument.
static std::string bindingOf(func::FuncOp kernel, BlockArgument argument) {
  unsigned results = 0;
  for (unsigned i = 0; i < argument.getArgNumber(); ++i)
    results += kernel.getArgAttr(i, "asc.result") != nullptr;
  if (kernel.getArgAttr(argument.getArgNumber(), "asc.error_buffer"))
    return "error";
  if (kernel.getArgAttr(argument.getArgNumber(), "asc.print_log"))
    return "prints";
  if (kernel.getArgAttr(argument.getArgNumber(), "asc.result"))
    return "result:" + std::to_string(results);
  return "parameter:" + std::to_string(argument.getArgNumber());
}

Value Phase::memory(Value root) {
  auto type = cast<MemRefType>(root.getType());
  MemRefType flat = memoryType(type.getNumElements(), type.getElementType(), Space::gm);
  auto kernelArgument = dyn_cast<BlockArgument>(root);
  if (kernelArgument)
    return argument(flat, bindingOf(planner->kernel(), kernelArgument), root.getLoc());
  Value memory = argument(flat, "workspace:" + Twine(planner->workspaceOf(root)), root.getLoc());
  if (planner->rings.contains(root))
    function.setArgAttr(cast<BlockArgument>(memory).getArgNumber(), kRing, builder.getUnitAttr());
  return memory;
}

Value Phase::workspace(int64_t elements, Type element) {
  int64_t number = planner->newWorkspace(elements * bytesOf(element));
  return argument(memoryType(elements, element, Space::gm), "workspace:" + Twine(number), loc);
}

FailureOr<GmView> Phase::view(Value memref) {
  FailureOr<MemRefView> located = planner->locate(memref);
  if (failed(located))
    return failure();
  return view(*located);
}

FailureOr<GmView> Phase::view(const MemRefView &located) {
  GmView result{memory(located.root), index(located.offset), located.sizes, located.strides,
                located.element};
  for (auto [term, factor] : located.terms) {
    FailureOr<Value> value = scalar(term);
    if (failed(value))
      return failure();
    result.offset = add(result.offset, mul(*value, factor));
  }
  return result;
}

FailureOr<Value> Phase::scalar(Value value) {
  if (Value mapped = values.lookupOrNull(value))
    return mapped;
  if (planner->loopRounds() && value == planner->loopRounds()->variable)
    return argument(value.getType(), kLoopVariable, value.getLoc());
  if (auto kernelArgument = dyn_cast<BlockArgument>(value)) {
    if (kernelArgument.getOwner() != &planner->kernel().getBody().front() ||
        isa<MemRefType>(value.getType()))
      return failure();
    return argument(value.getType(), bindingOf(planner->kernel(), kernelArgument), value.getLoc());
  }
  Operation *op = value.getDefiningOp();
  Value memref;
  SmallVector<Value> indices;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    memref = load.getMemref();
    indices = llvm::to_vector(load.getIndices());
  } else if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
    memref = load.getMemref();
    SmallVector<Value> operands;
    for (Value operand : load.getMapOperands()) {
      FailureOr<Value> made = scalar(operand);
      if (failed(made))
        return failure();
      operands.push_back(*made);
    }
    FailureOr<GmView> from = view(memref);
    auto coordinates =
        affine::expandAffineMap(builder, op->getLoc(), load.getAffineMap(), operands);
    if (failed(from) || (!coordinates && load.getAffineMap().getNumResults() > 0))
      return failure();
    Value offset = from->offset;
    if (coordinates)
      for (auto [coordinate, stride] : llvm::zip(*coordinates, from->strides))
        offset = add(offset, mul(coordinate, stride));
    return builder.create<memref::LoadOp>(op->getLoc(), from->memory, offset).getResult();
  }
  if (memref) {
    FailureOr<GmView> from = view(memref);
    if (failed(from))
      return failure();
    Value offset = from->offset;
    for (auto [coordinate, stride] : llvm::zip(indices, from->strides)) {
      FailureOr<Value> made = scalar(coordinate);
      if (failed(made))
        return failure();
      offset = add(offset, mul(*made, stride));
    }
    return builder.create<memref::LoadOp>(op->getLoc(), from->memory, offset).getResult();
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    SmallVector<Value> operands;
    for (Value operand : apply.getMapOperands()) {
      FailureOr<Value> made = scalar(operand);
      if (failed(made))
        return failure();
      operands.push_back(*made);
    }
    auto expanded = affine::expandAffineMap(builder, op->getLoc(), apply.getAffineMap(), operands);
    if (!expanded)
      return failure();
    return expanded->front();
  }
  if (!isMemoryEffectFree(op) || op->getNumRegions() > 0 ||
      isa<affine::AffineDialect>(op->getDialect()))
    return failure();
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> made = scalar(operand);
    if (failed(made))
      return failure();
    mapping.map(operand, *made);
  }
  return builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
}

Value Phase::add(Value a, Value b) {
  if (constantOf(a) == 0)
    return b;
  if (constantOf(b) == 0)
    return a;
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value Phase::mul(Value a, int64_t factor) {
  if (factor == 1)
    return a;
  return builder.createOrFold<arith::MulIOp>(loc, a, index(factor));
}

Value Phase::min(Value a, Value b) { return builder.createOrFold<arith::MinSIOp>(loc, a, b); }

Value Phase::ceilDiv(Value a, int64_t divisor) {
  return builder.createOrFold<arith::CeilDivUIOp>(loc, a, index(divisor));
}

} // namespace pyasc::npu
