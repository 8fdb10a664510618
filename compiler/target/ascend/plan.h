// Planning: the steps of a kernel in structured form become phases of the npu dialect.
//
// plan.cc walks the steps in program order and offers each to the cube, the vector and the scalar
// planner in turn. A planner that takes steps builds one or more phases for them with a Phase; the
// phases run one after the other, so a step may rely on everything that earlier steps wrote to GM.
#ifndef PYASC_COMPILER_TARGET_ASCEND_PLAN_H
#define PYASC_COMPILER_TARGET_ASCEND_PLAN_H

#include <memory>
#include <string>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include "compiler/machine/machine.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"

namespace pyasc::npu {

// Where a memref of the kernel lies before it has a phase: `root` is a kernel argument or a
// memref.alloc / memref.alloca at the kernel's top level; strides and static offsets in elements.
struct MemRefView {
  mlir::Value root;
  // offset + the sum of scaled dynamic terms (kernel values of type index).
  int64_t offset = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
  mlir::Type element;

  // The same elements in the same order.
  bool operator==(const MemRefView &other) const;
};

// A MemRefView inside a phase: flat GM memory and a start in elements.
struct GmView {
  mlir::Value memory;
  mlir::Value offset;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
  mlir::Type element;
};

class Planner;
struct RowChain;

// One function of the planned module under construction.
class Phase {
public:
  // Inserts before the function's return at first; planners move it into loops.
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Location loc;
  // Kernel values that the planner itself has made in this phase (loop variables, results).
  mlir::IRMapping values;

  // An index constant; at the insertion point (canonicalisation moves it up).
  mlir::Value index(int64_t value);
  mlir::Value constant(mlir::TypedAttr value);
  // A buffer in the entry block, wherever the builder is.
  mlir::Value buffer(int64_t elements, mlir::Type element, Space space, int64_t depth = 1);
  // The flat GM memory of a kernel argument or temporary: an argument of the function.
  mlir::Value memory(mlir::Value root);
  // A memref of the kernel: failure when it is not made of arguments, allocs, subviews and
  // reshapes with identity layouts.
  mlir::FailureOr<GmView> view(mlir::Value memref);
  mlir::FailureOr<GmView> view(const MemRefView &view);
  // A workspace of the planner's own (partials of reductions, copies): every call a new one.
  mlir::Value workspace(int64_t elements, mlir::Type element);
  // A scalar of the kernel: from `values`, a scalar argument, or by cloning the pure ops and loads
  // that make it, at the insertion point. Failure when it cannot be made again here.
  mlir::FailureOr<mlir::Value> scalar(mlir::Value value);

  // offset + sum(i * stride) as arith ops.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t factor);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, int64_t divisor);

private:
  friend class Planner;
  Phase(Planner &planner, mlir::func::FuncOp function, mlir::Location loc);
  mlir::Value argument(mlir::Type type, const llvm::Twine &binding, mlir::Location loc);

  Planner *planner;
  llvm::StringMap<mlir::Value> arguments;
};

// How one statement was lowered, for the compile report.
struct Lowered {
  mlir::Location loc;
  std::string unit;   // "cube", "vector", "transfer", "scalar"
  std::string what;   // "contraction 1024x1024x1024 f32"
  std::string reason; // why no better unit; "" on the preferred one
  // Scalar and transfer steps: cores that share the step, and what keeps it from being all of them.
  int64_t cores = 0;
  std::string coresReason = {};
  // The step's number (asc.step); the planner fills it in. -1: it has none.
  int64_t step = -1;
};

class Planner {
public:
  Planner(mlir::func::FuncOp kernel, const PlanOptions &options);

  mlir::func::FuncOp kernel() const { return function; }
  const machine::Soc &soc() const { return *options.soc; }

  // Starts a phase on `blocks` cores. core is "aic" or "aiv". REQUIRES: blocks >= 1.
  Phase begin(mlir::Location loc, llvm::StringRef core, int64_t blocks);
  // Cores of the SoC for a kind of phase.
  int64_t cores(llvm::StringRef core) const;

  // Where a memref of the kernel lies; failure as Phase::view.
  mlir::FailureOr<MemRefView> locate(mlir::Value memref) const;

  // Whether a phase for these steps should read the tensor past L2: only they touch it, they read
  // only, and the kernel's tensors are larger than L2, so that keeping it would drive out others.
  bool streams(mlir::Value root, llvm::ArrayRef<mlir::Operation *> steps) const;

  // What a unit has planned for `steps` is theirs: the phases and records made since.
  void attribute(llvm::ArrayRef<mlir::Operation *> steps, size_t phasesBefore,
                 size_t recordsBefore);
  void record(Lowered lowered) { records.push_back(std::move(lowered)); }
  // Whether nothing but these steps, and folded ones, uses the tensor.
  bool usedOnlyBy(mlir::Value root, llvm::ArrayRef<mlir::Operation *> steps) const;
  // The chain (plan_chain.h) that a product heads, or null.
  const RowChain *chainOf(mlir::Operation *product) const {
    auto found = chains.find(product);
    return found == chains.end() ? nullptr : found->second.get();
  }
  // A temporary that cores hand tiles over in: flags between them see to it that nobody touches a
  // tile that another one is at.
  void markRing(mlir::Value root) { rings.insert(root); }
  // A new number for npu.group.
  int64_t nextGroup() { return ++groups; }

  // A step that another step's phase does too: the driver skips it.
  void fold(mlir::Operation *step) { folded.insert(step); }
  bool isFolded(mlir::Operation *step) const { return folded.contains(step); }
  // The contraction may overwrite `destination` (its own output, or a 16-bit copy of it) where it
  // would add to its output.
  void overwrite(mlir::Operation *contraction, mlir::Value destination) {
    destinations[contraction] = destination;
  }
  mlir::Value overwritten(mlir::Operation *contraction) const {
    return destinations.lookup(contraction);
  }

  // A loop that is launched round after round.
  struct Rounds {
    mlir::Value variable;
    int64_t start, step, count;
  };
  // Set while the body of such a loop is planned.
  const std::optional<Rounds> &loopRounds() const { return rounds; }

  // The planner of loops around steps (plan_loop.cc): 1 when it has taken the step, or 0 with the
  // reason; no reason where the loop is not of its kind. What it began, the caller removes.
  size_t planLoop(mlir::Operation *step, std::string &reason);

  // Plans the whole kernel into its module and erases it.
  mlir::LogicalResult run();

private:
  friend class Phase;
  int64_t workspaceOf(mlir::Value root);
  int64_t newWorkspace(int64_t bytes);
  void shareWorkspaces();
  // Offers the steps to the planners; false with the reasons when none takes the first.
  bool offer(llvm::ArrayRef<mlir::Operation *> steps, size_t &taken, std::string &reasons);

  mlir::func::FuncOp function;
  PlanOptions options;
  llvm::DenseMap<mlir::Value, int64_t> workspaces;
  llvm::SmallVector<int64_t> workspaceBytes;
  llvm::SmallVector<mlir::func::FuncOp> phases;
  llvm::SmallVector<Lowered> records;
  llvm::DenseSet<mlir::Operation *> folded;
  llvm::DenseMap<mlir::Operation *, mlir::Value> destinations;
  // The steps that touch each tensor, and all tensors' bytes.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 2>> readers;
  llvm::DenseSet<mlir::Value> written;
  int64_t touchedBytes = 0;
  int64_t groups = 0;
  int64_t loops = 0;
  std::optional<Rounds> rounds;
  llvm::DenseSet<mlir::Value> rings;
  llvm::DenseMap<mlir::Operation *, std::shared_ptr<RowChain>> chains;
};

// The operations of a block that do something: no views, allocs, loads and pure computations, which
// are made again wherever a phase needs them.
llvm::SmallVector<mlir::Operation *> stepsOf(mlir::Block &block);

// What the block's steps are given may be made anew where each of them runs: a value that a later
// step uses, although a step between wrote the memory that it was loaded from, or that a step
// itself results in, goes through a cell. `body`: the kernel's top level, or a loop's body there.
void spillScalars(const Planner &planner, mlir::Block &body);

// Whether the step is a loop that Planner::planLoop might take: other planners leave it to it.
bool mayBeRounds(const Planner &planner, mlir::Operation *step);

// Whether the tensor is one of the kernel's own that nothing but these steps uses, and that begins
// anew when they run: then it need not reach global memory. Folded steps do not count among them,
// unlike in Planner::usedOnlyBy.
bool isTemporary(mlir::Value root, llvm::ArrayRef<mlir::Operation *> steps);

// The memrefs that a step reads and writes, by root (kernel argument or alloc).
struct Footprint {
  llvm::SmallDenseSet<mlir::Value, 4> reads;
  llvm::SmallDenseSet<mlir::Value, 4> writes;
  // Some access could not be traced to a root.
  bool unknown = false;
};
Footprint footprintOf(const Planner &planner, mlir::Operation *step);

// The planners. Each plans a non-empty prefix of `steps` (ops at the kernel's top level, in program
// order, without views, allocs and scalar computations), records what it did with
// Planner::record and returns how many steps it took; or returns 0 with the reason, and whatever it
// began is removed. Where cube and vector differ in what they accept, that is a reason, no error.

// Called once before all: where the steps that read a product all round it first, it is rounded as
// it leaves the cube.
void roundBehindContractions(llvm::ArrayRef<mlir::Operation *> steps);
// Called once after that: repeats chains of steps block by block of rows, where their temporaries
// are larger than L2. The steps given become others, but for those of `kept`.
void streamRows(mlir::func::FuncOp kernel, const machine::Soc &soc,
                llvm::ArrayRef<mlir::Operation *> steps,
                const llvm::DenseSet<mlir::Operation *> &kept);
// Called once before the first step: folds steps (zero fills, casts) into contractions.
void foldAroundContractions(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps);
// A product with the operation behind it, cube and vector cores together; the other planners take
// what it does not.
size_t planFused(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps, std::string &reason);
size_t planContraction(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps,
                       std::string &reason);
size_t planVector(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps, std::string &reason);
// The last resort: 0 is a compile error that shows the reason to the user.
size_t planScalar(Planner &planner, llvm::ArrayRef<mlir::Operation *> steps, std::string &reason);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_PLAN_H
