// Which bytes hold something that was written: the sanitizer's second shadow.
//
// Reading what nobody wrote is no fault by itself: instructions work on whole blocks, and what pads
// them is never looked at. So definedness goes through copies and arithmetic, byte by byte, and is
// judged where it matters: what leaves for global memory, and what the scalar unit reads.
#ifndef PYASC_PROFILER_SIM_DEFINEDNESS_H
#define PYASC_PROFILER_SIM_DEFINEDNESS_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "profiler/sim/access.h"
#include "profiler/sim/memory.h"

namespace pyasc::sim {

// One bit a byte; and, for each block of 32 bytes, the site of the instruction that took undefined
// bytes into a computation whose result lies here (0: none did).
class DefinedBytes {
public:
  explicit DefinedBytes(int64_t bytes = 0) : bytes_(bytes), words_((bytes + 31) / 32) {}

  int64_t size() const { return bytes_; }
  // REQUIRES of all: 0 <= begin <= end <= size().
  bool All(int64_t begin, int64_t end) const;
  // Of [begin, end), where at least one is undefined: the first such run.
  std::pair<int64_t, int64_t> FirstUndefined(int64_t begin, int64_t end) const;
  bool Any(int64_t begin, int64_t end) const;
  void Set(int64_t begin, int64_t end) { Fill(begin, end, true); }
  void Clear(int64_t begin, int64_t end) { Fill(begin, end, false); }
  void Copy(int64_t to, const DefinedBytes &from, int64_t at, int64_t bytes);
  void ClearAll();

  uint32_t origin(int64_t at) const { return origins_.empty() ? 0 : origins_[at / 32]; }
  void SetOrigin(int64_t begin, int64_t end, uint32_t site);

private:
  void Fill(int64_t begin, int64_t end, bool value);
  int64_t bytes_;
  std::vector<uint32_t> words_;
  std::vector<uint32_t> origins_; // empty until there is one
};

// An instruction that lets undefined bytes matter.
struct UndefinedUse {
  sim_isa::Space space = sim_isa::Space::kUb;
  // From the memory's start; the GM address for GM.
  int64_t begin = 0;
  int64_t end = 0;
  // Where they entered; 0: here.
  uint32_t origin = 0;
};

// Definedness of one core's memories, and of the global memory that starts undefined.
class Definedness {
public:
  // `gm_of`: the definedness of the allocation that holds an address, with that allocation's own
  // address, or nullptr where all is defined.
  using GmOf = std::function<DefinedBytes *(int64_t address, int64_t &base)>;
  Definedness(CoreMemory &memory, GmOf gm_of);
  // A block starts.
  void Reset();

  // What the instruction does; the first use that matters. REQUIRES: within bounds.
  std::optional<UndefinedUse> Execute(const Operation &operation, std::span<const Access> accesses,
                                      uint32_t site);
  std::optional<UndefinedUse> ScalarLoad(sim_isa::Space space, int64_t address, int64_t bytes);
  void ScalarStore(sim_isa::Space space, int64_t address, int64_t bytes);

private:
  DefinedBytes &At(sim_isa::Space space) { return memories_[static_cast<int>(space)]; }
  // Copies definedness; undefined bytes come in here unless they have an origin.
  static void TakeIn(DefinedBytes &to, int64_t at, const DefinedBytes &from, int64_t source,
                     int64_t bytes, uint32_t site);
  void Load(const Operation &o, uint32_t site);
  void LoadNd2Nz(const Operation &o, uint32_t site);
  void LoadL0(const Operation &o, uint32_t site);
  void Mmad(const Operation &o, uint32_t site);
  std::optional<UndefinedUse> Store(const Operation &o);
  std::optional<UndefinedUse> Fixpipe(const Operation &o);
  void Vector(const Operation &o, std::span<const Access> accesses, uint32_t site);
  void VectorElements(const Operation &o, uint32_t site);
  std::optional<UndefinedUse> Use(sim_isa::Space space, int64_t begin, int64_t end);
  void WrittenToGm(int64_t address, int64_t bytes);

  std::array<DefinedBytes, sim_isa::kNumSpaces> memories_;
  GmOf gm_of_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_DEFINEDNESS_H
