// What the compiler and the simulator know of an Ascend SoC: sizes, rates and costs.
//
// The numbers live in socs/*.yaml, each with its unit, kind (documented, measured, fitted) and
// source; the files are compiled into the library. A SoC description never changes at run time.
//
// Rates are bytes per core clock cycle and core unless the name says otherwise.
#ifndef PYASC_COMPILER_MACHINE_MACHINE_H
#define PYASC_COMPILER_MACHINE_MACHINE_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pyasc::machine {

// cycles = fixed + elements / rate, with the rate of the element's width.
struct VectorCost {
  double elements_per_cycle_b8 = 0;
  double elements_per_cycle_b16 = 0;
  double elements_per_cycle_b32 = 0;
  // Added once an instruction.
  double fixed_cycles = 0;
};

// Multiply-adds a cycle of one cube core are 16 x 16 x k.
struct CubeCost {
  int k_fp16 = 0;
  int k_fp32 = 0;
  int k_int8 = 0;
  // Added to an mmad that follows another one without a gap, and to one that starts alone.
  double pipelined_cycles = 0;
  double isolated_cycles = 0;
  // A load into L0 while the cube works takes so much longer.
  double load_l0_factor = 0;
};

// One route for data. cycles of a transfer = bytes / bytes_per_cycle, plus costs a burst.
struct PathCost {
  double bytes_per_cycle = 0;
  // Least cycles that one instruction occupies the pipe; within L1 and L0 they are added.
  double instruction_cycles = 0;
  // To and from global memory: least cycles of one request, which is what a burst (row) has in one
  // line of L2.
  double request_cycles = 0;
};

struct GlobalMemoryCost {
  // Shared by all cores, bytes a nanosecond (GB/s).
  double hbm_read_gb_per_s = 0;
  double hbm_write_gb_per_s = 0;
  double l2_gb_per_s = 0;
  // A line that is read alone, not with its neighbours, costs so much more.
  double scattered_factor = 0;
  // HBM is so many channels; lines of L2 are spread over them.
  int hbm_channels = 0;
  // The least that an access past L2 moves.
  int64_t hbm_request_bytes = 0;
  // A read past L2 of a line that another core has read within so long takes so much longer.
  double same_line_factor = 0;
  double same_line_window_ns = 0;
  // From one request of a transfer to the next, while the core may have more under way.
  double issue_cycles = 0;
  // From a request to its data, when nothing else is under way: paid when the pipe was empty, later
  // requests hide behind earlier ones. Writes: until the pipe's instruction has ended.
  double hbm_latency_ns = 0;
  double l2_latency_ns = 0;
  // Requests of one transfer may be under way for so long before the next one waits for the first.
  double window_ns = 0;
  // Between the cores that are nearest to HBM and farthest from it.
  double latency_spread_ns = 0;
  double write_latency_ns = 0;
  // One core's share at most, from HBM (a miss) and from L2 (a hit; one that another core has used
  // last).
  double hbm_vector_bytes_per_cycle = 0;
  double hbm_cube_bytes_per_cycle = 0;
  double l2_read_bytes_per_cycle = 0;
  double l2_shared_read_bytes_per_cycle = 0;
  double l2_write_bytes_per_cycle = 0;
  // Of a channel that has read, before it writes a dirty line that leaves L2.
  double turnaround_ns = 0;
  // Such lines wait for a moment without reads, in queues of so many bytes in all. A write that
  // makes one go back waits while writing alone is so much behind.
  int64_t write_queue_bytes = 0;
  int64_t l2_line_bytes = 0;
  // Of an access by the scalar unit that misses its data cache.
  double scalar_latency_cycles = 0;
};

struct ScalarCost {
  double instruction_cycles = 0;
  double divide_cycles = 0;
  double float_cycles = 0;
  double ub_access_cycles = 0;
  double dcache_hit_cycles = 0;
  int64_t dcache_line_bytes = 0;
  int64_t dcache_cube_bytes = 0;
  int64_t dcache_vector_bytes = 0;
  // Instructions that a pipe's queue takes before the scalar unit waits.
  int queue_depth = 0;
  // From a flag's setting to the end of a wait for it.
  double flag_cycles = 0;
  // From a set between cores until the other core sees it.
  double cross_flag_cycles = 0;
  double barrier_cycles = 0;
};

struct LaunchCost {
  // Around the kernel, and from a core's start to its first instruction: of one block and of a
  // block on every core; between the two they grow with the number of blocks.
  double head_us = 0;
  double full_head_us = 0;
  double start_us = 0;
  double full_start_us = 0;
  // The last block starts this much after the first, when all cores take part.
  double cube_stagger_us = 0;
  double vector_stagger_us = 0;
};

// How far the timing model is off on published measurements of chips of the family; as
// tests/calibration/run.py prints it, which also holds it to these figures.
struct Calibration {
  int rows = 0;
  // Of the rows' total times, and of their pipes' times; fractions.
  double median_error = 0;
  double worst_error = 0;
  double pipe_median_error = 0;
  double pipe_worst_error = 0;
  // "Ascend 910B1 and 910B4".
  std::string chips;
};

struct Soc {
  std::string name;     // "ascend910b3"
  std::string product;  // "Ascend910B3"
  std::string npu_arch; // "dav-c220"

  int cube_cores = 0;
  int vector_cores = 0;
  double clock_ghz = 0;

  // What a kernel may use of each core's memories.
  int64_t ub_bytes = 0;
  int64_t l1_bytes = 0;
  int64_t l0a_bytes = 0;
  int64_t l0b_bytes = 0;
  int64_t l0c_bytes = 0;
  // All of these memories, which hand-written programs may use.
  int64_t ub_physical_bytes = 0;
  int64_t l1_physical_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t hbm_bytes = 0;
  // Addresses of buffers are multiples of these.
  int64_t ub_align = 0;
  int64_t l1_align = 0;
  int64_t l0ab_align = 0;
  int64_t l0c_align = 0;
  // Event ids of a pair of pipes are 0 .. event_ids - 1.
  int event_ids = 0;
  // A vector instruction works on this much a repeat, on at most max_repeat repeats.
  int64_t vector_repeat_bytes = 0;
  int max_repeat = 0;
  // From this size on, a transfer reaches its path's full rate.
  int64_t good_transfer_bytes = 0;

  GlobalMemoryCost gm;
  // "gm_to_ub", "ub_to_gm", "gm_to_l1", "l1_to_l0a", "l1_to_l0b", "l0c_to_gm".
  std::map<std::string, PathCost, std::less<>> paths;
  // "add", "sub", "mul", "div", "max", "min", "and", "or", "exp", "ln", "abs", "sqrt", "rsqrt",
  // "reciprocal", "relu", "not", "neg", "adds", "muls", "maxs", "mins", "dup", "cast", "compare",
  // "select", "reduce_repeat", "reduce_block", "copy", "broadcast".
  std::map<std::string, VectorCost, std::less<>> vector;
  // UB banks: an access's group is address / 32 % groups, its bank also has address / 65536.
  int ub_bank_groups = 0;
  int64_t ub_bank_bytes = 0;
  // Cycles more a repeat when a source meets the destination of the repeat before in one bank.
  double read_write_conflict_cycles = 0;
  // Until the result of a vector instruction that no other follows at once.
  double vector_isolated_cycles = 0;
  CubeCost cube;
  ScalarCost scalar;
  LaunchCost launch;
  Calibration calibration;

  // REQUIRES: the path (or operation) is one of those named above.
  const PathCost &path(std::string_view name) const;
  const VectorCost &vector_op(std::string_view name) const;
  double cycles_to_us(double cycles) const { return cycles / (clock_ghz * 1e3); }
  double ns_to_cycles(double ns) const { return ns * clock_ghz; }
};

// "ascend910b3" when a request names none.
inline constexpr std::string_view kDefaultSoc = "ascend910b3";

// The description of a SoC, alive for ever; nullptr when there is none of that name. Thread-safe.
const Soc *FindSoc(std::string_view name);

// Every SoC's name, sorted.
const std::vector<std::string> &SocNames();

} // namespace pyasc::machine

#endif // PYASC_COMPILER_MACHINE_MACHINE_H
