#include "profiler/sim/timing.h"

#include <algorithm>

namespace pyasc::sim {
namespace {

using namespace sim_isa;

std::string_view VectorCostName(const Descriptor &d) {
  constexpr std::string_view kBinary[] = {"add", "sub", "mul", "div", "max", "min", "and", "or"};
  constexpr std::string_view kUnary[] = {"exp",        "ln",   "abs", "sqrt", "rsqrt",
                                         "reciprocal", "relu", "not", "neg",  "copy"};
  constexpr std::string_view kScalar[] = {"adds", "muls", "maxs", "mins"};
  switch (d.op) {
  case PipeOp::kVBinary:
    return kBinary[d.sub];
  case PipeOp::kVUnary:
    return kUnary[d.sub];
  case PipeOp::kVScalar:
    return kScalar[d.sub];
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

double VectorCycles(const Operation &o, const machine::Soc &soc) {
  const Descriptor &d = *o.descriptor;
  const machine::VectorCost &cost = soc.vector_op(VectorCostName(d));
  int64_t size = TypeBytes(d.type);
  if (d.op == PipeOp::kVCast)
    size = std::max<int64_t>(size, TypeBytes(d.src_type));
  const int64_t lanes = soc.vector_repeat_bytes / size;
  // Where count and repeats stand among the fields.
  const int count_at = d.op == PipeOp::kVBinary || d.op == PipeOp::kVScalar ||
                               d.op == PipeOp::kVCompare || d.op == PipeOp::kVCompareS ||
                               d.op == PipeOp::kVReduce
                           ? 3
                       : d.op == PipeOp::kVSelect ? 4
                                                  : 2;
  if (d.op == PipeOp::kVBroadcast)
    return cost.fixed_cycles + static_cast<double>(o.v[2]);
  const bool repeated_form = d.op != PipeOp::kVCompare && d.op != PipeOp::kVCompareS &&
                             d.op != PipeOp::kVSelect && d.op != PipeOp::kVReduce;
  int64_t repeats = repeated_form ? o.v[count_at + 1] : 0;
  if (repeats == 0)
    repeats = CeilDiv(o.v[count_at], lanes);
  // A repeat takes its time whatever its mask.
  double per_repeat = static_cast<double>(lanes) / Rate(cost, size);
  if (d.op == PipeOp::kVBinary && o.v[1] != o.v[2] && (o.v[1] - o.v[2]) % 512 == 0)
    per_repeat += soc.read_conflict_cycles;
  double cycles = cost.fixed_cycles + static_cast<double>(repeats) * per_repeat;
  if (d.op == PipeOp::kVReduce)
    for (int64_t n = CeilDiv(o.v[3], lanes); n > 1; n = CeilDiv(n, lanes))
      cycles += cost.fixed_cycles + static_cast<double>(CeilDiv(n, lanes)) * per_repeat;
  return cycles;
}

Cost CubeCost(const Operation &o, const machine::Soc &soc) {
  const Type type = o.descriptor->type;
  const int k = TypeBytes(type) == 4   ? soc.cube.k_fp32
                : TypeBytes(type) == 1 ? soc.cube.k_int8
                                       : soc.cube.k_fp16;
  const auto cycles =
      static_cast<double>(CeilDiv(o.v[3], 16) * CeilDiv(o.v[4], 16) * CeilDiv(o.v[5], k));
  return {cycles + soc.cube.pipelined_cycles, soc.cube.isolated_cycles - soc.cube.pipelined_cycles};
}

// The greatest prime that is not above n: with a prime number of sets both contiguous lines and
// the columns of a matrix spread over all of them.
int64_t PrimeBelow(int64_t n) {
  for (;; --n) {
    bool prime = n > 1;
    for (int64_t d = 2; d * d <= n && prime; ++d)
      prime = n % d != 0;
    if (prime || n <= 2)
      return n;
  }
}

} // namespace

std::string_view PathName(Path path) {
  constexpr std::string_view kNames[kNumPaths] = {"gm_to_ub",  "ub_to_gm",  "gm_to_l1", "l1_to_l0a",
                                                  "l1_to_l0b", "l0c_to_gm", "l2_read",  "l2_write",
                                                  "hbm_read",  "hbm_write"};
  return kNames[static_cast<int>(path)];
}

double PathPeak(Path path, const machine::Soc &soc, int64_t cores) {
  switch (path) {
  case Path::kL2Read:
  case Path::kL2Write:
    return soc.gm.l2_gb_per_s;
  case Path::kHbmRead:
    return soc.gm.hbm_read_gb_per_s;
  case Path::kHbmWrite:
    return soc.gm.hbm_write_gb_per_s;
  default:
    return soc.path(PathName(path)).bytes_per_cycle * soc.clock_ghz * static_cast<double>(cores);
  }
}

MemorySystem::MemorySystem(const machine::Soc &soc)
    : soc_(soc), hbm_bytes_per_cycle_(soc.gm.hbm_read_gb_per_s / soc.clock_ghz),
      l2_bytes_per_cycle_(soc.gm.l2_gb_per_s / soc.clock_ghz),
      path_free_(std::max(soc.cube_cores, soc.vector_cores)),
      num_sets_(PrimeBelow(soc.l2_bytes / soc.gm.l2_line_bytes / kWays)),
      entries_(num_sets_ * kWays) {}

void MemorySystem::Restart() {
  hbm_free_ = 0;
  l2_free_ = 0;
  std::fill(path_free_.begin(), path_free_.end(), std::array<double, 2>{});
}

void MemorySystem::Touch(uint64_t line, bool write, int core, Lines &lines) {
  const uint64_t tag = generation_ << 40 | line;
  Entry *set = &entries_[line % num_sets_ * kWays];
  Entry *victim = set;
  ++clock_;
  for (int way = 0; way < kWays; ++way) {
    Entry &e = set[way];
    if (e.tag == tag) {
      e.owner != core ? ++lines.shared_hit : ++lines.hit;
      e.owner = static_cast<uint8_t>(core);
      e.last_use = clock_;
      e.dirty |= write;
      return;
    }
    const bool live = e.tag >> 40 == generation_;
    const bool victim_live = victim->tag >> 40 == generation_;
    if (victim_live && (!live || e.last_use < victim->last_use))
      victim = &e;
  }
  if (victim->tag >> 40 == generation_ && victim->dirty)
    ++lines.written_back;
  *victim = {tag, clock_, static_cast<uint8_t>(core), write};
  ++lines.miss;
}

double MemorySystem::Transfer(double now, const Access &access,
                              const GlobalMemory::Allocation &allocation, double bytes_per_cycle,
                              int core, bool cube, Traffic &traffic) {
  const auto line_bytes = static_cast<uint64_t>(soc_.gm.l2_line_bytes);
  Lines lines;
  uint64_t last = ~uint64_t{0};
  for (int64_t run = 0; run < access.count; ++run) {
    const uint64_t offset =
        static_cast<uint64_t>(access.start + run * access.stride) - allocation.address;
    const uint64_t first = offset / line_bytes;
    const uint64_t end = (offset + static_cast<uint64_t>(access.length) - 1) / line_bytes;
    for (uint64_t line = first; line <= end; ++line) {
      if (line != last) // neighbouring runs of one instruction share the line
        Touch(allocation.l2_line + line, access.write, core, lines);
      last = line;
    }
  }
  const int64_t hits = lines.hit + lines.shared_hit;
  const auto size = static_cast<double>(line_bytes);
  traffic.l2_hits += hits;
  traffic.l2_misses += lines.miss;
  auto &bytes = traffic.bytes;
  bytes[static_cast<int>(access.write ? Path::kL2Write : Path::kL2Read)] += access.bytes();
  if (!access.write)
    bytes[static_cast<int>(Path::kHbmRead)] += lines.miss * static_cast<int64_t>(line_bytes);
  bytes[static_cast<int>(Path::kHbmWrite)] += lines.written_back * static_cast<int64_t>(line_bytes);

  // The core's own limits: bytes that hit, that another core has brought, lines that miss.
  const auto total = static_cast<double>(access.bytes());
  const double per_line = total / static_cast<double>(std::max<int64_t>(hits + lines.miss, 1));
  double own = total / bytes_per_cycle;
  if (access.write) {
    own = std::max(own, total / soc_.gm.l2_write_bytes_per_cycle);
  } else {
    const double hbm_rate =
        cube ? soc_.gm.hbm_cube_bytes_per_cycle : soc_.gm.hbm_vector_bytes_per_cycle;
    own =
        std::max(own, static_cast<double>(lines.hit) * per_line / soc_.gm.l2_read_bytes_per_cycle +
                          static_cast<double>(lines.shared_hit) * per_line /
                              soc_.gm.l2_shared_read_bytes_per_cycle +
                          static_cast<double>(lines.miss) * size / hbm_rate);
  }
  double &path_free = path_free_[core][access.write];
  double end = std::max(path_free, now) + own;
  // What all cores share.
  l2_free_ = std::max(l2_free_, now) + total / l2_bytes_per_cycle_;
  end = std::max(end, l2_free_);
  const double read = access.write ? 0 : static_cast<double>(lines.miss) * size;
  const double written = static_cast<double>(lines.written_back) * size * soc_.gm.write_back_factor;
  if (read + written > 0) {
    hbm_free_ = std::max(hbm_free_, now) + (read + written) / hbm_bytes_per_cycle_;
    // A read waits for its lines; lines on their way out wait in buffers, as long as these last.
    const double buffered =
        access.write ? static_cast<double>(soc_.gm.write_back_buffer_bytes) / hbm_bytes_per_cycle_
                     : 0;
    end = std::max(end, hbm_free_ - buffered);
  }
  path_free = end;
  return end;
}

Cost CostOf(const Operation &o, const std::vector<Access> &accesses,
            const GlobalMemory::Allocation *allocation, const machine::Soc &soc, int core,
            double now, MemorySystem &memory, Traffic &traffic) {
  const Descriptor &d = *o.descriptor;
  if (accesses.empty()) // nothing to move or compute
    return {soc.scalar.instruction_cycles, 0};
  auto count = [&](Path path, int64_t bytes) { traffic.bytes[static_cast<int>(path)] += bytes; };
  // Requests are issued burst by burst, up to one latency ahead of the data.
  auto through_gm = [&](Path name, const Access &gm, bool cube, double row_cycles) {
    const machine::PathCost &path = soc.path(PathName(name));
    count(name, gm.bytes());
    const double issue =
        std::max(path.instruction_cycles,
                 static_cast<double>(gm.count) * std::max(path.burst_cycles, row_cycles));
    const double latency = soc.ns_to_cycles(path.latency_ns);
    const double data =
        memory.Transfer(now, gm, *allocation, path.bytes_per_cycle, core, cube, traffic) - now;
    Cost cost;
    cost.occupancy = std::max(issue, data - latency);
    cost.latency = std::max(issue, data) + latency - cost.occupancy;
    return cost;
  };
  switch (d.op) {
  case PipeOp::kLoad: {
    const bool cube = d.space == Space::kL1;
    return through_gm(cube ? Path::kGmToL1 : Path::kGmToUb, accesses[0], cube, 0);
  }
  case PipeOp::kLoadNd2Nz:
    return through_gm(Path::kGmToL1, accesses[0], true, soc.nd2nz_row_cycles);
  case PipeOp::kStore:
    return through_gm(Path::kUbToGm, accesses[0], false, 0);
  case PipeOp::kFixpipe:
    return through_gm(Path::kL0CToGm, accesses[1], true, 0);
  case PipeOp::kLoadL0: {
    const Path path = d.space == Space::kL0A ? Path::kL1ToL0A : Path::kL1ToL0B;
    const machine::PathCost &cost = soc.path(PathName(path));
    count(path, accesses[1].bytes());
    return {cost.instruction_cycles +
                static_cast<double>(accesses[1].bytes()) / cost.bytes_per_cycle,
            soc.ns_to_cycles(cost.latency_ns)};
  }
  case PipeOp::kMmad:
    return CubeCost(o, soc);
  default:
    return {VectorCycles(o, soc), 0};
  }
}

} // namespace pyasc::sim
