// Finds what a program does wrong whatever the timing: races, missing flags and barriers, reads of
// what nobody wrote. The engine tells it what happens; it keeps what the program guarantees
// (order.h), who touched memory last (shadow.h) and what is defined (definedness.h), and collects
// findings.
//
// One Sanitizer lives for a launch, one CoreChecker for each core of a phase. Kinds and what they
// mean: docs/sanitizer.md.
#ifndef PYASC_PROFILER_SIM_SANITIZER_H
#define PYASC_PROFILER_SIM_SANITIZER_H

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/sim/access.h"
#include "profiler/sim/definedness.h"
#include "profiler/sim/memory.h"
#include "profiler/sim/order.h"
#include "profiler/sim/program.h"
#include "profiler/sim/shadow.h"
#include "pyasc/v1/execution.pb.h"

namespace pyasc::sim {

class Sanitizer {
public:
  // kOnChip: races on a core's own memories; the first finding ends the run. kAll: everything, and
  // the run goes on as far as it can.
  enum class Level { kOnChip, kAll };

  Sanitizer(Level level, GlobalMemory &gm);

  bool all() const { return level_ == Level::kAll; }

  // How messages call an allocation. `undefined`: nobody has written it before the launch.
  void Name(uint64_t address, std::string name, bool undefined);

  // Every phase starts after all of the one before; called for each function of a phase.
  void BeginPhase(const Function &function, bool cores_synchronise);
  // Blocks of all functions of a phase are told apart by this number.
  static uint32_t BlockId(int part, int64_t block) {
    return static_cast<uint32_t>(part) << kPartShift | static_cast<uint32_t>(block);
  }
  static constexpr int kPartShift = 28;

  // What tells that one finding follows from another.
  struct Cause {
    // Of a race, what the program does second, and first; of undefined bytes, who took them in.
    uint32_t site = 0, other_site = 0;
    // When the scalar unit issued them, in order.
    uint32_t issue = 0, other_issue = 0;
    // Of a flag that is set and not waited for.
    std::string_view from = {}, to = {};
    int64_t id = 0;
    bool between_cores = false;
    // What should wait is a cube core.
    bool cube = false;
    // Of a race: its second side did wait for a flag in between, for one that was set too often.
    bool waited = false;
    // Of a race: a flag for it is set, only the wait is not there.
    bool wait_missing = false;

    bool IsFlag() const { return between_cores || !from.empty(); }
  };
  // A finding of one kind at one pair of lines is kept once, and counted.
  void Add(v1::Finding finding, const Cause &cause);
  // After the launch: drops what only follows from other findings.
  void KeepRootCauses();
  const std::vector<v1::Finding> &findings() const { return findings_; }
  // Different findings at most; further ones are dropped.
  static constexpr size_t kMaxFindings = 200;

  // For messages.
  struct Site {
    uint32_t line = 0;
    std::string_view instruction;
    sim_isa::Pipe pipe = sim_isa::Pipe::kS;
    bool cube = false;
  };
  Site SiteOf(uint32_t site) const;
  uint32_t SiteOf(const Operation &operation) const;
  uint32_t FirstScalarSite(const Function &function) const;
  v1::MemoryAccess AccessOf(const Epoch &epoch, bool write, sim_isa::Space space, int64_t begin,
                            int64_t end) const;
  // Names the space, the buffer and the range within it.
  void Place(sim_isa::Space space, int64_t begin, int64_t end, v1::MemoryAccess &access) const;

private:
  friend class CoreChecker;
  struct Tensor {
    std::string name;
    int64_t bytes = 0;
    std::unique_ptr<Shadow> shadow;
    std::unique_ptr<DefinedBytes> defined; // null: all is
  };
  Tick Next() { return ++tick_; }
  // The tensor that holds the address, with its own, or nullptr.
  Tensor *TensorAt(int64_t address, int64_t &base);
  void FindExplainedReads(std::vector<bool> &follows) const;
  void FindSameFlags(std::vector<bool> &follows) const;
  void FindMissingWaits(std::vector<bool> &follows);
  void FindWhatComesTooEarly(size_t root, std::vector<bool> &follows) const;
  void FindCoveredRaces(std::vector<bool> &follows) const;
  std::vector<size_t> RacesOf(const Cause &flag) const;
  // Which function's.
  size_t CodeOf(uint32_t site) const;

  // Tells launches apart.
  const uint64_t number_;
  Level level_;
  GlobalMemory &gm_;
  Tick tick_ = 0;
  Tick phase_floor_ = 0;
  bool cores_synchronise_ = false;
  std::map<uint64_t, Tensor> tensors_;
  std::map<uint64_t, Tensor>::iterator last_tensor_ = tensors_.end();

  struct Code {
    const Function *function = nullptr;
    uint32_t first_site = 0;
    std::vector<uint32_t> descriptor_lines;
  };
  std::vector<Code> codes_;
  std::vector<v1::Finding> findings_;
  std::vector<Cause> causes_; // of each
  std::map<std::string, size_t> index_;
};

// What the program guarantees on one core, and who touched its memories.
class CoreChecker {
public:
  explicit CoreChecker(CoreMemory &memory);

  // A block starts on the core.
  void Begin(Sanitizer *sanitizer, const Function *function, int part, int64_t block);
  bool on() const { return sanitizer_ != nullptr; }
  // Whether Scalar does anything about global memory.
  bool watches_gm() const { return sanitizer_ && sanitizer_->all(); }

  // What the scalar unit knows when it issues an instruction; Enter is told when a pipe takes it.
  std::shared_ptr<const View> Issue() const { return issued_; }
  // Its number in the order of issue.
  uint32_t NextIssue() { return ++issues_; }
  void Enter(sim_isa::Pipe pipe, const std::shared_ptr<const View> &issued);

  // A pipe starts an instruction. REQUIRES: its accesses are within bounds.
  void Run(const Operation &operation, sim_isa::Pipe pipe, uint32_t issue,
           std::span<const Access> accesses);
  // The scalar unit reads or writes. `line_filled`: when its cache took the line from GM.
  void Scalar(sim_isa::Space space, int64_t address, int64_t bytes, bool write, int64_t pc,
              Tick line_filled);
  void Flush();
  Tick Now() const { return sanitizer_ ? sanitizer_->tick_ : 0; }

  // What a flag carries: everything that happened before it was set.
  const View &Release(sim_isa::Pipe pipe);
  void Acquire(sim_isa::Pipe pipe, const View &view);
  // `to` has taken a flag from `from`, by a wait that was issued as number `issue`.
  void Waited(sim_isa::Pipe from, sim_isa::Pipe to, uint32_t issue) {
    Waits &waits = waits_[static_cast<int>(from)][static_cast<int>(to)];
    waits.issues[waits.next++ % waits.issues.size()] = issue;
  }
  // The pipe is drained.
  void Barrier(sim_isa::Pipe pipe);
  // All pipes are drained and wait for each other.
  void BarrierAll();
  // What a flag between cores carries.
  View Export(sim_isa::Pipe pipe);
  void Import(sim_isa::Pipe pipe, const View &view);

  // Whether `view` of this core has seen `pipe` at `tick`.
  bool Seen(sim_isa::Pipe by, sim_isa::Pipe pipe, Tick tick) const {
    return by == pipe || views_[static_cast<int>(by)].own[static_cast<int>(pipe)] >= tick;
  }
  // A moment of the pipe that Seen can be asked about.
  Tick Mark(sim_isa::Pipe pipe);

private:
  // `own_reads_wait`: what the pipe itself wrote may be read after a barrier only.
  void Touch(const Access &access, sim_isa::Pipe pipe, uint32_t site, uint32_t issue, bool atomic,
             bool own_reads_wait);
  void CheckStale(const Access &access, uint32_t site, Tick line_filled);
  void Report(const Meeting &meeting, const Access &access, const Actor &actor);
  void ReportUse(const UndefinedUse &use, const Access *where, sim_isa::Pipe pipe, uint32_t site);

  CoreMemory &memory_;
  Sanitizer *sanitizer_ = nullptr;
  uint64_t launch_ = 0;
  uint32_t block_ = 0;
  uint32_t first_scalar_site_ = 0;
  uint32_t issues_ = 0;
  Tick floor_ = 0;
  // The scalar unit's tick has been handed on, so its next access needs another.
  bool scalar_told_ = true;
  std::array<std::unique_ptr<Shadow>, sim_isa::kNumSpaces> shadows_;
  std::unique_ptr<Definedness> defined_;
  std::array<View, sim_isa::kNumPipes> views_;
  // Instructions of a pipe that its last barrier, or a flag that came round, has drained.
  PipeTicks drained_ = {};
  // The last waits for flags of two pipes.
  struct Waits {
    std::array<uint32_t, 16> issues = {};
    uint32_t next = 0;
  };
  std::array<std::array<Waits, sim_isa::kNumPipes>, sim_isa::kNumPipes> waits_ = {};
  std::shared_ptr<const View> issued_;
  std::array<std::shared_ptr<const View>, sim_isa::kNumPipes> entered_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_SANITIZER_H
