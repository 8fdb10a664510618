// The scalar unit of one core: it runs a function's code until it needs the core's other parts.
#ifndef PYASC_PROFILER_SIM_SCALAR_UNIT_H
#define PYASC_PROFILER_SIM_SCALAR_UNIT_H

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "compiler/machine/machine.h"
#include "profiler/sim/memory.h"
#include "profiler/sim/program.h"
#include "profiler/sim/sanitizer.h"

namespace pyasc::sim {

// A function's code with what each instruction costs on a SoC.
struct ScalarCode {
  struct Instruction {
    uint16_t op, a, b, c;
    int64_t imm;
    // Apart from data cache misses.
    double cycles;
    uint32_t line;
    uint32_t line_slot; // in `lines`
  };
  // `costs` false: everything takes no time.
  ScalarCode(const Function &function, const machine::Soc &soc, bool costs);
  const Function *function;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> lines; // in order
  // Whether it reads or writes memory.
  bool touches_memory = false;
};

// What the scalar unit reaches.
struct ScalarPorts {
  GlobalMemory *gm = nullptr;
  DataCache *cache = nullptr;
  LocalMemory *ub = nullptr;
  // nullptr: nothing is checked.
  CoreChecker *checker = nullptr;
  // False: loads give 0 and stores do nothing (timing only).
  bool data = true;
  double miss_cycles = 0;
  // After each flush of the data cache; may be null.
  const std::function<void(int64_t block)> *on_flush = nullptr;
  int64_t first_block = 0;
};

class ScalarUnit {
public:
  enum class Stop { kHalt, kIssue, kFault, kLimit };

  // Starts a block. `arguments` fill the first registers.
  void Start(const ScalarCode &code, ScalarPorts ports, std::span<const uint64_t> arguments,
             int64_t block, int64_t num_blocks);
  // Runs on. kIssue: `issued` is the descriptor's number; the program counter is past it.
  // kFault: `fault` says what, `line` where. kLimit: more than `limit` instructions were executed.
  template <bool kCountLines> Stop Run();

  // Own clock, in cycles.
  double time = 0;
  int64_t issued = 0;
  uint32_t line = 0;
  std::string fault;
  FaultKind fault_kind = FaultKind::kOutOfBounds;
  // Executed instructions.
  int64_t instructions = 0;
  int64_t cache_misses = 0;
  int64_t limit = std::numeric_limits<int64_t>::max();
  // With kCountLines: how often each instruction was executed, and cycles that misses took there.
  std::vector<int64_t> counts;
  std::vector<double> miss_time;

  // The instruction that ran last.
  int64_t last_pc() const { return pc_ - 1; }
  int64_t reg(int n) const { return static_cast<int64_t>(registers_[n]); }

private:
  // The cached line of an access that costs nothing more and that nobody wants to know of, or
  // nullptr.
  DataCache::Line *Hit(uint64_t address, int64_t bytes) const {
    if (watched_ || address % static_cast<uint64_t>(bytes) != 0)
      return nullptr;
    DataCache::Line *line = ports_.cache->Lookup(address);
    const auto offset = static_cast<int64_t>(address % DataCache::kLineBytes);
    return line && offset + bytes <= line->limit ? line : nullptr;
  }
  template <typename T> bool LoadGm(uint64_t address, uint64_t &to);
  template <typename T> bool StoreGm(uint64_t address, uint64_t value);
  template <typename T> bool LoadUb(int64_t address, uint64_t &to);
  template <typename T> bool StoreUb(int64_t address, uint64_t value);
  DataCache::Line *Line(uint64_t address, int64_t bytes);
  bool CheckUb(int64_t address, int64_t bytes, bool write);

  const ScalarCode *code_ = nullptr;
  ScalarPorts ports_;
  // Accesses to GM are told to the checker, or made up.
  bool watched_ = false;
  int64_t pc_ = 0;
  int64_t block_ = 0;
  int64_t num_blocks_ = 0;
  std::vector<uint64_t> registers_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_SCALAR_UNIT_H
