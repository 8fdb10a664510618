#include "profiler/sim/timing.h"

#include <algorithm>

namespace pyasc::sim {
namespace {

using namespace sim_isa;

Cost CubeCost(const Operation &o, const machine::Soc &soc) {
  const Type type = o.descriptor->type;
  const int k = TypeBytes(type) == 4   ? soc.cube.k_fp32
                : TypeBytes(type) == 1 ? soc.cube.k_int8
                                       : soc.cube.k_fp16;
  const auto cycles =
      static_cast<double>(CeilDiv(o.v[3], 16) * CeilDiv(o.v[4], 16) * CeilDiv(o.v[5], k));
  return {cycles + soc.cube.pipelined_cycles, soc.cube.isolated_cycles - soc.cube.pipelined_cycles};
}

} // namespace

CostTable::CostTable(const machine::Soc &soc) : soc(soc) {
  for (Path path : {Path::kGmToUb, Path::kUbToGm, Path::kGmToL1, Path::kL1ToL0A, Path::kL1ToL0B,
                    Path::kL0CToGm})
    paths_[static_cast<int>(path)] = &soc.path(PathName(path));
  FillVector();
}

Path CostTable::RouteOf(const Descriptor &d) {
  switch (d.op) {
  case PipeOp::kLoad:
    return d.space == Space::kL1 ? Path::kGmToL1 : Path::kGmToUb;
  case PipeOp::kLoadNd2Nz:
    return Path::kGmToL1;
  case PipeOp::kStore:
    return Path::kUbToGm;
  default:
    return Path::kL0CToGm;
  }
}

bool ReachesGm(PipeOp op) {
  return op == PipeOp::kLoad || op == PipeOp::kLoadNd2Nz || op == PipeOp::kStore ||
         op == PipeOp::kFixpipe;
}

void StartTransfer(const Operation &o, const Access &gm, const GlobalMemory::Allocation &allocation,
                   const CostTable &costs, int core, double now, Traffic &traffic, Transfer &t) {
  const Descriptor &d = *o.descriptor;
  const machine::Soc &soc = costs.soc;
  const machine::PathCost &path = costs.path(d);
  traffic.bytes[static_cast<int>(CostTable::RouteOf(d))] += gm.bytes();
  traffic.bytes[static_cast<int>(gm.write ? Path::kL2Write : Path::kL2Read)] += gm.bytes();
  t.access = gm;
  t.start = allocation.l2_line * static_cast<uint64_t>(soc.gm.l2_line_bytes) +
            (static_cast<uint64_t>(gm.start) - allocation.address);
  t.core = core;
  t.bypass = !gm.write && (d.aux & 1) != 0;
  t.bytes_per_cycle = path.bytes_per_cycle;
  t.request_cycles = path.request_cycles;
  t.hbm_bytes_per_cycle =
      d.space == Space::kUb ? soc.gm.hbm_vector_bytes_per_cycle : soc.gm.hbm_cube_bytes_per_cycle;
  t.scattered = gm.count > 1 && gm.length <= soc.gm.l2_line_bytes;
  t.issue = t.arrival = now;
}

Cost CostOf(const Operation &o, const std::vector<Access> &accesses, const CostTable &costs,
            bool cube_busy, Traffic &traffic) {
  const Descriptor &d = *o.descriptor;
  const machine::Soc &soc = costs.soc;
  if (accesses.empty()) // nothing to move or compute
    return {soc.scalar.instruction_cycles, 0};
  switch (d.op) {
  case PipeOp::kLoadL0: {
    const Path path = d.space == Space::kL0A ? Path::kL1ToL0A : Path::kL1ToL0B;
    const machine::PathCost &cost = costs.path(path);
    traffic.bytes[static_cast<int>(path)] += accesses[1].bytes();
    const double cycles =
        cost.instruction_cycles + static_cast<double>(accesses[1].bytes()) / cost.bytes_per_cycle;
    return {cube_busy ? cycles * soc.cube.load_l0_factor : cycles, 0};
  }
  case PipeOp::kMmad:
    return CubeCost(o, soc);
  default:
    return VectorCost(o, costs);
  }
}

} // namespace pyasc::sim
