// Who touched a memory last: for each granule (32 bytes on the chip, a cache line of 64 in global
// memory) the last write and the reads since, byte by byte where accesses cover parts of it. Pages
// that accesses cover whole have one history for all of their granules.
//
// Memory is bounded by that of the memory that is watched: nothing grows with the trace.
#ifndef PYASC_PROFILER_SIM_SHADOW_H
#define PYASC_PROFILER_SIM_SHADOW_H

#include <bit>
#include <memory>
#include <vector>

#include "profiler/sim/order.h"

namespace pyasc::sim {

// One access, as memory remembers it.
struct Epoch {
  uint64_t clock : 40 = 0; // 0: none
  uint64_t pipe : 4 = 0;
  uint64_t atomic : 1 = 0;
  uint32_t block = 0;
  uint32_t site = 0;
  // In which order the block's scalar unit issued it.
  uint32_t issue = 0;

  bool SameActor(const Epoch &other) const {
    return block == other.block && pipe == other.pipe && atomic == other.atomic;
  }
};

// The access that is being made.
struct Actor {
  Epoch epoch;
  bool write = false;
  const View *view = nullptr;
  // What happened up to here is over: before the block, or before the phase.
  Tick floor = 0;
  // Own instructions up to here are done.
  Tick drained = 0;
  // Whether the pipe's own earlier writes need a barrier before this read, or this write.
  bool own_reads_wait = false;
  bool own_writes_wait = false;
};

struct Meeting {
  enum class Kind {
    kRace,      // the same bytes
    kLine,      // other bytes of a cache line, one side through a data cache
    kUnflushed, // written by the own scalar unit, still in its data cache
    kOpen       // read: one pipe's two writes of it, `earlier` and `later`, have no order
  } kind = Kind::kRace;
  Epoch earlier;
  Epoch later = {};
  bool earlier_write = false;
  // The bytes that both touch, from the memory's start; for kLine those of the earlier access.
  int64_t begin = 0;
  int64_t end = 0;
};

class Shadow {
public:
  // `line_mode`: granules are cache lines of 64 bytes, else blocks of 32.
  // `keep_all_readers`: needed where an order between cores exists; else two cores' reads say that
  // no write can be ordered after both.
  Shadow(int64_t bytes, bool line_mode, bool keep_all_readers);

  // Records the access and returns the first meeting that nothing orders, if any.
  bool Touch(int64_t begin, int64_t length, const Actor &actor, Meeting &meeting);
  // Whether others have written there after tick `since`, as far as `view` knows of it; with
  // `whole_line` anywhere in its cache line. REQUIRES: within one cache line.
  bool WrittenSince(int64_t begin, int64_t length, bool whole_line, Tick since, const Epoch &me,
                    const View &view, Epoch &writer) const;

private:
  static constexpr int kInlineReads = 3;
  static constexpr int64_t kPageCells = 16;
  static constexpr int64_t kChunkPages = 64;
  struct History {
    Epoch write;
    // On the chip: a write by the same pipe that need not be over when `write` begins. No fault
    // unless somebody reads what is left.
    Epoch under;
    Epoch reads[kInlineReads];
    uint32_t num_reads = 0;
    int32_t more_reads = -1; // in more_
  };
  struct Group {
    uint64_t mask = 0;
    History history;
  };
  struct Cell {
    History history;
    int32_t groups = -1; // in groups_; -1: one history for all bytes
  };
  struct Page {
    // Of all cells, unless `cells` tell them apart.
    History history;
    std::unique_ptr<std::array<Cell, kPageCells>> cells;
  };
  using Chunk = std::array<Page, kChunkPages>;

  Page &PageAt(int64_t number) {
    std::unique_ptr<Chunk> &chunk = chunks_[number / kChunkPages];
    if (!chunk)
      chunk = std::make_unique<Chunk>();
    return (*chunk)[number % kChunkPages];
  }
  void Expand(Page &page);
  uint64_t FullMask() const { return granule_ == 64 ? ~uint64_t{0} : (uint64_t{1} << 32) - 1; }
  // The cell at byte `at`, as far as [begin, end) covers it; `met`: the bytes that meet.
  bool TouchCell(Cell &cell, int64_t at, int64_t begin, int64_t end, const Actor &actor,
                 Meeting &meeting, uint64_t &met);
  bool TouchHistory(History &h, const Actor &actor, Meeting &meeting);
  bool TouchPart(Cell &cell, uint64_t mask, const Actor &actor, Meeting &meeting, uint64_t &met);
  bool MeetsOnLine(const Cell &cell, uint64_t mask, const Actor &actor, Meeting &meeting,
                   uint64_t &met) const;
  void AddRead(History &h, const Actor &actor);
  void DropReads(History &h);
  // Gives a history that was copied its own list of further reads.
  void Unshare(History &h);
  bool Same(const History &a, const History &b) const;

  int64_t granule_;
  bool line_mode_;
  bool keep_all_readers_;
  int64_t bytes_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::vector<Group>> groups_;
  std::vector<int32_t> free_groups_;
  std::vector<std::vector<Epoch>> more_;
  std::vector<int32_t> free_more_;
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_SHADOW_H
