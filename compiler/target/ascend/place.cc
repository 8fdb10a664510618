// npu-place: planned -> placed.
//
// In: buffers without addresses. Out: every buffer has one, a multiple of its space's alignment;
// buffers whose live ranges overlap share no byte, and where there is room nor do those of one
// loop. Larger buffers choose first, each the lowest place that is free while it lives, in UB one
// of the bank that it meets others in least. What does not fit is an error that names the largest
// holders.
#include <limits>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "compiler/ir/refusal.h"
#include "compiler/target/ascend/live_ranges.h"
#include "compiler/target/ascend/npu.h"
#include "compiler/target/ascend/passes.h"

using namespace mlir;

namespace pyasc::npu {

int64_t bytesOfSpace(Space space, const machine::Soc &soc) {
  switch (space) {
  case Space::gm:
    return soc.hbm_bytes;
  case Space::ub:
    return soc.ub_bytes;
  case Space::l1:
    return soc.l1_bytes;
  case Space::l0a:
    return soc.l0a_bytes;
  case Space::l0b:
    return soc.l0b_bytes;
  case Space::l0c:
    return soc.l0c_bytes;
  }
  llvm_unreachable("unknown space");
}

namespace {

constexpr size_t kHoldersToName = 4;

struct Placed {
  LiveRange range;
  int64_t begin, end; // bytes
};

// UB has banks in a pattern of 512 bytes, of which an instruction takes half at a time: what it
// reads together should begin in different halves.
constexpr int64_t kBankPattern = 512;

// The half that each buffer of UB should begin in; none for buffers that nothing is read with.
class BankHalves {
public:
  explicit BankHalves(func::FuncOp function) {
    // Operands that are read together differ first of all; then what an instruction writes where it
    // reads something else in the same half.
    for (bool together : {true, false})
      function.walk([&](InstructionOpInterface op) {
        if (op.getPipe() != Pipe::V)
          return;
        auto [reads, write] = buffersOf(op);
        // Otherwise what is read lies as what is written does, block by block.
        if (!together && write && (reads.size() > 1 || isa<VCastOp>(op.getOperation())))
          for (BufferOp read : reads)
            meet(read, write);
        if (together && isa<VBinaryOp, VColBinaryOp>(op.getOperation()) && reads.size() == 2)
          relate(reads[0], reads[1], 1);
        else if (!together && reads.size() == 1 && write)
          relate(reads[0], write, 0);
      });
    // Where others had their way with the halves.
    function.walk([&](InstructionOpInterface op) {
      if (op.getPipe() != Pipe::V || isa<VCastOp>(op.getOperation()))
        return;
      auto [reads, write] = buffersOf(op);
      if (reads.size() != 1 || !write)
        return;
      auto [rootA, halfA] = find(reads[0]);
      auto [rootB, halfB] = find(write);
      if (rootA == rootB && halfA != halfB)
        meet(reads[0], write);
    });
  }

  // How often an instruction writes one of the two while it reads the other where it is, in a
  // pattern of its own: these cost time when both are in one bank.
  int64_t meetings(BufferOp a, BufferOp b) const { return met.lookup({a, b}); }

  std::optional<int64_t> of(BufferOp buffer) {
    if (!nodes.contains(buffer))
      return std::nullopt;
    return find(buffer).second;
  }

private:
  struct Buffers {
    SmallVector<BufferOp, 2> reads;
    BufferOp write;
  };

  static Buffers buffersOf(InstructionOpInterface op) {
    Buffers result;
    for (const Access &access : op.getAccesses()) {
      Value memory = access.memory();
      if (auto slot = memory.getDefiningOp<SlotOp>())
        memory = slot.getBuffer();
      auto buffer = memory.getDefiningOp<BufferOp>();
      if (!buffer)
        continue;
      if (access.write)
        result.write = buffer;
      else
        result.reads.push_back(buffer);
    }
    return result;
  }

  void meet(BufferOp read, BufferOp write) {
    if (read == write)
      return;
    ++met[{read, write}];
    ++met[{write, read}];
  }

  // The representative and the half relative to it.
  std::pair<Operation *, int> find(Operation *buffer) {
    int half = 0;
    while (nodes[buffer].first != buffer) {
      half ^= nodes[buffer].second;
      buffer = nodes[buffer].first;
    }
    return {buffer, half};
  }

  void relate(BufferOp a, BufferOp b, int difference) {
    for (BufferOp buffer : {a, b})
      nodes.try_emplace(buffer, buffer.getOperation(), 0);
    auto [rootA, halfA] = find(a);
    auto [rootB, halfB] = find(b);
    if (rootA != rootB)
      nodes[rootB] = {rootA, halfA ^ halfB ^ difference};
  }

  DenseMap<Operation *, std::pair<Operation *, int>> nodes;
  DenseMap<std::pair<Operation *, Operation *>, int64_t> met;
};

// What is looked after besides room; a part of it is given up where there is too little of that.
struct Wishes {
  // Buffers of one loop share no byte at all: all of them, or those that find the room. Where they
  // do share, one part of an iteration waits until another has left what they share.
  enum Apart { none, some, all } apart = none;
  BankHalves *halves = nullptr;
  int64_t bank = 0; // bytes that lie in one bank of UB, apart from its groups; 0: any bank will do
};

// The lowest address from `start` on where `bytes` are free throughout the range, or `apart` from
// all buffers of the same loops, a multiple of `align` and `phase` bytes.
int64_t lowestFree(ArrayRef<Placed> placed, const LiveRange &range, int64_t bytes, int64_t align,
                   int64_t phase, bool apart, int64_t start) {
  auto aligned = [&](int64_t address) {
    return (std::max<int64_t>(address - phase, 0) + align - 1) / align * align + phase;
  };
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (const Placed &other : placed)
    if (apart ? other.range.sharesLoop(range) : other.range.overlaps(range))
      taken.push_back({other.begin, other.end});
  llvm::sort(taken);
  int64_t address = aligned(start);
  for (auto [begin, end] : taken) {
    if (end <= start)
      continue;
    if (address + bytes <= begin)
      break;
    address = std::max(address, aligned(end));
  }
  return address;
}

// Whether all fit; else where `placed` ends is the first of `ranges` that does not.
bool place(MutableArrayRef<LiveRange> ranges, Space space, int64_t capacity, const Wishes &wishes,
           SmallVector<Placed> &placed) {
  placed.clear();
  for (LiveRange &range : ranges) {
    int64_t bytes = range.buffer.totalBytes();
    int64_t align = alignmentOf(space), phase = 0;
    if (auto half = wishes.halves ? wishes.halves->of(range.buffer) : std::nullopt) {
      align = kBankPattern;
      phase = *half * kBankPattern / 2;
    }
    auto meetings = [&](int64_t begin) {
      int64_t sum = 0;
      for (const Placed &other : placed)
        if (begin / wishes.bank <= (other.end - 1) / wishes.bank &&
            other.begin / wishes.bank <= (begin + bytes - 1) / wishes.bank)
          sum += wishes.halves->meetings(range.buffer, LiveRange(other.range).buffer);
      return sum;
    };
    // The lowest of the banks with the fewest meetings; none: it does not fit.
    auto choose = [&](bool apart) -> std::optional<int64_t> {
      std::optional<int64_t> best;
      int64_t least = std::numeric_limits<int64_t>::max();
      for (int64_t start = 0; start < capacity && least > 0; start += wishes.bank) {
        int64_t address = lowestFree(placed, range, bytes, align, phase, apart, start);
        if (address + bytes > capacity)
          break;
        int64_t met = wishes.bank > 0 ? meetings(address) : 0;
        if (met < least) {
          best = address;
          least = met;
        }
      }
      return best;
    };
    std::optional<int64_t> address;
    if (wishes.apart != Wishes::none)
      address = choose(/*apart=*/true);
    if (!address && wishes.apart != Wishes::all)
      address = choose(/*apart=*/false);
    if (!address)
      return false;
    placed.push_back({range, *address, *address + bytes});
  }
  return true;
}

LogicalResult placeSpace(Space space, SmallVector<LiveRange> ranges, int64_t capacity,
                         BankHalves *halves, int64_t bank) {
  llvm::stable_sort(ranges, [](LiveRange a, LiveRange b) {
    return a.buffer.totalBytes() > b.buffer.totalBytes();
  });
  // Room goes before speed.
  SmallVector<Wishes, 5> choices{{Wishes::some}};
  // What meets in a bank costs more than what waits for its bytes.
  if (halves)
    choices = {{Wishes::all, halves, bank},
               {Wishes::none, halves, bank},
               {Wishes::some, halves},
               {Wishes::none, halves}};
  choices.push_back({});
  SmallVector<Placed> placed;
  for (const Wishes &wishes : choices)
    if (place(ranges, space, capacity, wishes, placed)) {
      for (Placed &each : placed)
        each.range.buffer.setAddr(each.begin);
      return success();
    }
  LiveRange &homeless = ranges[placed.size()];
  InFlightDiagnostic error = homeless.buffer.emitError(ir::kRefusal)
                             << ": the buffers of this step need more " << stringifySpace(space)
                             << " than the " << capacity << " bytes of a core; "
                             << homeless.buffer.totalBytes() << " bytes more do not fit";
  size_t named = 0;
  for (const Placed &holder : placed)
    if (holder.range.overlaps(homeless) && named++ < kHoldersToName)
      error.attachNote(LiveRange(holder.range).buffer.getLoc())
          << holder.end - holder.begin << " bytes are held at the same time for this";
  return error;
}

struct PlacePass : PassWrapper<PlacePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)
  StringRef getArgument() const override { return "npu-place"; }
  StringRef getDescription() const override { return "Give on-chip buffers their addresses"; }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto name = module->getAttrOfType<StringAttr>(kSoc);
    const machine::Soc *soc = name ? machine::FindSoc(name.getValue()) : nullptr;
    if (!soc || module->getAttr(kStage) != StringAttr::get(&getContext(), kPlanned)) {
      module.emitError("npu-place needs a planned module");
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>()) {
      SmallVector<LiveRange> ranges = liveRangesOf(function);
      BankHalves halves(function);
      for (Space space : {Space::ub, Space::l1, Space::l0a, Space::l0b, Space::l0c}) {
        SmallVector<LiveRange> here;
        for (LiveRange &range : ranges)
          if (range.buffer.getSpace() == space)
            here.push_back(range);
        if (failed(placeSpace(space, here, bytesOfSpace(space, *soc),
                              space == Space::ub ? &halves : nullptr,
                              soc->ub_bank_bytes * soc->ub_bank_groups)))
          return signalPassFailure();
      }
    }
    module->setAttr(kStage, StringAttr::get(&getContext(), kPlaced));
  }
};

} // namespace

std::unique_ptr<Pass> createPlacePass() { return std::make_unique<PlacePass>(); }

} // namespace pyasc::npu
