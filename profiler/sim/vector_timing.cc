// What a vector instruction takes.
//
// It works through its repeats of up to 256 bytes. In each, the 32-byte blocks of its operands
// meet the banks of UB: a bank group serves one read and one write at a time, so n reads (or n
// writes) of one group take n turns; and what is written, one repeat behind, must not be in a bank
// that is read.
#include <algorithm>
#include <array>

#include "profiler/sim/timing.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

constexpr int64_t kBlock = 32;
// The pattern of groups repeats after so many repeats at the latest.
constexpr int64_t kSampledRepeats = 16;

// "": there is no such instruction.
std::string_view CostName(const Descriptor &d) {
  constexpr std::string_view kBinary[] = {"add", "sub", "mul", "div", "max", "min", "and", "or"};
  constexpr std::string_view kUnary[] = {"exp",        "ln",   "abs", "sqrt", "rsqrt",
                                         "reciprocal", "relu", "not", "neg",  "copy"};
  constexpr std::string_view kScalar[] = {"adds", "muls", "maxs", "mins"};
  auto named = [&](const auto &names) {
    return d.sub < std::size(names) ? names[d.sub] : std::string_view();
  };
  switch (d.op) {
  case PipeOp::kVBinary:
    return named(kBinary);
  case PipeOp::kVUnary:
    return named(kUnary);
  case PipeOp::kVScalar:
    return named(kScalar);
  case PipeOp::kVDup:
    return "dup";
  case PipeOp::kVCast:
    return "cast";
  case PipeOp::kVCompare:
  case PipeOp::kVCompareS:
    return "compare";
  case PipeOp::kVSelect:
    return "select";
  case PipeOp::kVBroadcast:
    return "broadcast";
  case PipeOp::kVTranspose:
    return "transpose";
  case PipeOp::kVReduceBlock:
    return "reduce_block";
  case PipeOp::kVDeinterleave:
    return "gather_mask";
  default:
    return "reduce_repeat";
  }
}

double Rate(const machine::VectorCost &cost, int64_t size) {
  return size == 1   ? cost.elements_per_cycle_b8
         : size == 2 ? cost.elements_per_cycle_b16
         : size == 4 ? cost.elements_per_cycle_b32
                     : cost.elements_per_cycle_b32 / 2;
}

// How an operand is walked: blocks of a repeat, and repeats, in blocks from start to start.
struct Operand {
  int64_t address = 0;
  int64_t blocks = 8;
  int64_t block_stride = 1;
  int64_t repeat_stride = 8;

  bool contiguous() const { return blocks == 8 && block_stride == 1 && repeat_stride == 8; }
  // In blocks.
  int64_t At(int64_t repeat, int64_t block) const {
    return address / kBlock + repeat * repeat_stride + block * block_stride;
  }
};

struct Conflicts {
  // Turns that the reads and writes of a repeat take, and repeats whose reads meet a bank that is
  // written, both as means over the repeats.
  double turns = 1;
  double met = 0;
};

class Banks {
public:
  explicit Banks(const machine::Soc &soc)
      : groups_(soc.ub_bank_groups), bank_blocks_(soc.ub_bank_bytes * groups_ / kBlock) {}

  Conflicts Of(const Operand *reads, int num_reads, const Operand &write, int64_t repeats) const {
    bool contiguous = write.contiguous();
    for (int i = 0; i < num_reads; ++i)
      contiguous &= reads[i].contiguous();
    return contiguous ? OfContiguous(reads, num_reads, write)
                      : Sampled(reads, num_reads, write, repeats);
  }

private:
  int Group(int64_t block) const { return static_cast<int>(block % groups_); }
  int64_t Bank(int64_t block) const { return block / bank_blocks_; }

  // Eight blocks next to each other take eight groups: they meet eight others unless these are
  // just the other half. The repeat that is written is the one before.
  Conflicts OfContiguous(const Operand *reads, int num_reads, const Operand &write) const {
    Conflicts c;
    const int64_t half = groups_ / 2, w = write.address / kBlock;
    for (int i = 0; i < num_reads; ++i) {
      const int64_t a = reads[i].address / kBlock;
      for (int j = 0; j < i; ++j) {
        const int64_t b = reads[j].address / kBlock;
        if (a != b && Group(std::abs(a - b)) != half)
          c.turns = 2;
      }
      if (Bank(a) == Bank(w) && Group(std::abs(a - w)) != 0)
        c.met = 1;
    }
    return c;
  }

  Conflicts Sampled(const Operand *reads, int num_reads, const Operand &write,
                    int64_t repeats) const {
    Conflicts c;
    const int64_t sampled = std::min(repeats, kSampledRepeats);
    int64_t turns = 0, met = 0;
    for (int64_t r = 0; r < sampled; ++r) {
      std::array<int64_t, 32> seen;
      std::array<uint8_t, 64> read_of = {}, written = {};
      int n = 0;
      int most = 1;
      for (int i = 0; i < num_reads; ++i)
        for (int64_t b = 0; b < reads[i].blocks && n < 32; ++b) {
          const int64_t at = reads[i].At(r, b);
          if (std::find(seen.begin(), seen.begin() + n, at) != seen.begin() + n)
            continue; // read once
          seen[n++] = at;
          most = std::max<int>(most, ++read_of[Group(at)]);
        }
      bool meets = false;
      for (int64_t b = 0; b < write.blocks; ++b) {
        most = std::max<int>(most, ++written[Group(write.At(r, b))]);
        const int64_t before = write.At(r - 1, b);
        for (int k = 0; k < n && r > 0 && !meets; ++k)
          meets = Group(seen[k]) == Group(before) && Bank(seen[k]) == Bank(before);
      }
      turns += most;
      met += meets;
    }
    if (sampled > 0) {
      c.turns = static_cast<double>(turns) / static_cast<double>(sampled);
      c.met = static_cast<double>(met) / static_cast<double>(sampled);
    }
    return c;
  }

  int64_t groups_, bank_blocks_;
};

// The operands of an instruction and how many repeats it has.
struct Shape {
  Operand reads[2];
  int num_reads = 0;
  Operand write;
  int64_t repeats = 0;
};

Shape ShapeOf(const Operation &o, int64_t lanes, int64_t dst_size, int64_t src_size) {
  const Descriptor &d = *o.descriptor;
  const int64_t *v = o.v;
  Shape s;
  // Where count stands; in repeated form the repeats follow, then the strides of dst, a and b.
  auto walk = [&](int count_at, int num_reads, const int *read_at) {
    s.num_reads = num_reads;
    const int64_t repeats = v[count_at + 1];
    s.write.address = v[0];
    for (int i = 0; i < num_reads; ++i)
      s.reads[i].address = v[read_at[i]];
    if (repeats == 0) {
      s.repeats = CeilDiv(v[count_at], lanes);
      // The narrower side of a cast takes fewer blocks a repeat.
      s.write.blocks = s.write.repeat_stride = std::max<int64_t>(1, lanes * dst_size / kBlock);
      for (int i = 0; i < num_reads; ++i)
        s.reads[i].blocks = s.reads[i].repeat_stride =
            std::max<int64_t>(1, lanes * src_size / kBlock);
      return;
    }
    s.repeats = repeats;
    auto strided = [&](Operand &operand, int64_t size, int at) {
      operand.blocks = std::clamp<int64_t>(CeilDiv(v[count_at] * size, kBlock), 1, 8);
      operand.block_stride = v[at];
      operand.repeat_stride = v[at + 1];
    };
    strided(s.write, dst_size, count_at + 2);
    for (int i = 0; i < num_reads; ++i)
      strided(s.reads[i], src_size, count_at + 4 + 2 * i);
  };
  constexpr int kOne[] = {1}, kTwo[] = {1, 2};
  switch (d.op) {
  case PipeOp::kVBinary:
    walk(3, 2, kTwo);
    break;
  case PipeOp::kVUnary:
  case PipeOp::kVCast:
    walk(2, 1, kOne);
    break;
  case PipeOp::kVScalar:
    walk(3, 1, kOne);
    break;
  case PipeOp::kVDup:
    walk(2, 0, kOne);
    break;
  case PipeOp::kVReduceRepeat:
    s.repeats = v[3];
    break;
  case PipeOp::kVSelect:
    s.repeats = CeilDiv(v[4], lanes);
    break;
  case PipeOp::kVBroadcast:
    s.repeats = v[2];
    break;
  default:
    s.repeats = CeilDiv(v[3], lanes);
  }
  return s;
}

} // namespace

void CostTable::FillVector() {
  for (PipeOp op : {PipeOp::kVBinary, PipeOp::kVUnary, PipeOp::kVScalar, PipeOp::kVDup,
                    PipeOp::kVCast, PipeOp::kVCompare, PipeOp::kVCompareS, PipeOp::kVSelect,
                    PipeOp::kVReduce, PipeOp::kVReduceRepeat, PipeOp::kVBroadcast,
                    PipeOp::kVTranspose, PipeOp::kVReduceBlock, PipeOp::kVDeinterleave})
    for (int sub = 0; sub < kMaxSubs; ++sub) {
      Descriptor d;
      d.op = op;
      d.sub = static_cast<uint8_t>(sub);
      if (const std::string_view name = CostName(d); !name.empty())
        vector_[static_cast<int>(op)][sub] = &soc.vector_op(name);
    }
}

Cost VectorCost(const Operation &o, const CostTable &costs) {
  const Descriptor &d = *o.descriptor;
  const machine::Soc &soc = costs.soc;
  const machine::VectorCost &cost = costs.vector(d);
  const int64_t dst_size = TypeBytes(d.type);
  const int64_t src_size = d.op == PipeOp::kVCast ? TypeBytes(d.src_type) : dst_size;
  const int64_t size = std::max(dst_size, src_size);
  const int64_t lanes = soc.vector_repeat_bytes / size;
  const Cost isolated = {0, soc.vector_isolated_cycles};
  if (d.op == PipeOp::kVBroadcast)
    return {cost.fixed_cycles + static_cast<double>(o.v[2]), isolated.latency};
  if (d.op == PipeOp::kVReduceBlock)
    return {cost.fixed_cycles + static_cast<double>(o.v[2] * lanes) / Rate(cost, size),
            isolated.latency};
  if (d.op == PipeOp::kVDeinterleave) {
    const int64_t read = CeilDiv(o.v[2], lanes) * lanes;
    return {cost.fixed_cycles + static_cast<double>(read) / Rate(cost, size), isolated.latency};
  }
  // 16 blocks of 32 bytes a repeat, from and to any banks.
  if (d.op == PipeOp::kVTranspose) {
    const int64_t elements = o.v[2] * 16 * (kBlock / size);
    return {cost.fixed_cycles + static_cast<double>(elements) / Rate(cost, size), isolated.latency};
  }
  const Shape shape = ShapeOf(o, lanes, dst_size, src_size);
  Conflicts conflicts;
  if (shape.num_reads > 0 || d.op == PipeOp::kVDup)
    conflicts = Banks(soc).Of(shape.reads, shape.num_reads, shape.write, shape.repeats);
  // A repeat takes its time whatever its mask.
  const double per_repeat = static_cast<double>(lanes) / Rate(cost, size) * conflicts.turns +
                            conflicts.met * soc.read_write_conflict_cycles;
  double cycles = cost.fixed_cycles + static_cast<double>(shape.repeats) * per_repeat;
  if (d.op == PipeOp::kVReduce)
    for (int64_t n = CeilDiv(o.v[3], lanes); n > 1; n = CeilDiv(n, lanes))
      cycles += cost.fixed_cycles + static_cast<double>(CeilDiv(n, lanes)) * per_repeat;
  return {cycles, isolated.latency};
}

} // namespace pyasc::sim
