#include "profiler/sim/race.h"

#include <algorithm>

#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// The reader slots of each memory's cells.
constexpr Pipe kReadersOf[kNumSpaces][3] = {{},
                                            {Pipe::kV, Pipe::kMte3, Pipe::kS},
                                            {Pipe::kMte1, Pipe::kMte3, Pipe::kS},
                                            {Pipe::kM, Pipe::kS, Pipe::kS},
                                            {Pipe::kM, Pipe::kS, Pipe::kS},
                                            {Pipe::kM, Pipe::kFix, Pipe::kS}};
constexpr std::string_view kSpaceNames[kNumSpaces] = {"GM", "UB", "L1", "L0A", "L0B", "L0C"};

int SlotOf(Space space, Pipe pipe) {
  const auto &readers = kReadersOf[static_cast<int>(space)];
  for (int slot = 0; slot < 2; ++slot)
    if (readers[slot] == pipe)
      return slot;
  return 2;
}

} // namespace

RaceChecker::RaceChecker(CoreMemory &memory) {
  for (int space = 1; space < kNumSpaces; ++space)
    cells_[space].resize(memory.spaces[space].size() / kGranule);
  Reset();
}

void RaceChecker::Reset() {
  for (auto &cells : cells_)
    std::fill(cells.begin(), cells.end(), Cell{});
  for (Clock &clock : clocks_)
    clock.fill(0);
  drained_.fill(0);
}

void RaceChecker::Begin(Pipe pipe, uint32_t line) {
  pipe_ = pipe;
  line_ = line;
  ++clocks_[static_cast<int>(pipe)][static_cast<int>(pipe)];
}

std::string RaceChecker::Touch(const Access &access) {
  if (access.space == Space::kGm)
    return "";
  auto &cells = cells_[static_cast<int>(access.space)];
  const int me = static_cast<int>(pipe_);
  const Clock &clock = clocks_[me];
  const int slot = SlotOf(access.space, pipe_);
  const auto &readers = kReadersOf[static_cast<int>(access.space)];
  const bool own_reads_wait = pipe_ == Pipe::kV, own_writes_wait = pipe_ == Pipe::kMte2;
  for (int64_t run = 0; run < access.count; ++run) {
    const int64_t begin = access.start + run * access.stride;
    const int64_t last = (begin + access.length - 1) / kGranule;
    for (int64_t at = begin / kGranule; at <= last; ++at) {
      Cell &cell = cells[at];
      // Readers first: of a buffer that is filled again too early, they are the reason.
      for (int s = 0; access.write && s < kReaders; ++s)
        if (cell.read[s] > clock[static_cast<int>(readers[s])])
          return Conflict(access, at, cell, false, s);
      if (cell.written != 0) {
        const bool ordered = cell.writer != me
                                 ? cell.written <= clock[cell.writer]
                                 : cell.written == clock[me] || cell.written <= drained_[me] ||
                                       !(access.write ? own_writes_wait : own_reads_wait);
        if (!ordered)
          return Conflict(access, at, cell, true, 0);
      }
      if (!access.write) {
        cell.read[slot] = clock[me];
        cell.read_line = line_;
        continue;
      }
      cell.written = clock[me];
      cell.written_line = line_;
      cell.writer = static_cast<uint8_t>(me);
    }
  }
  return "";
}

std::string RaceChecker::TouchScalar(int64_t address, int64_t bytes, bool write, uint32_t line) {
  Begin(Pipe::kS, line);
  return Touch({.space = Space::kUb, .write = write, .start = address, .length = bytes});
}

std::string RaceChecker::Conflict(const Access &access, int64_t at, const Cell &cell,
                                  bool with_write, int reader) const {
  const Pipe other = with_write ? static_cast<Pipe>(cell.writer)
                                : kReadersOf[static_cast<int>(access.space)][reader];
  const uint32_t line = with_write ? cell.written_line : cell.read_line;
  const std::string what =
      other == pipe_ ? Cat("a barrier on pipe ", PipeName(pipe_), " is missing")
                     : Cat("a flag from ", PipeName(other), " to ", PipeName(pipe_), " is missing");
  return Cat(what, ": pipe ", PipeName(pipe_), access.write ? " writes " : " reads ",
             kSpaceNames[static_cast<int>(access.space)], " bytes ", access.start, "..",
             access.end(), " while pipe ", PipeName(other), " (line ", LineOf(line),
             ") may still be ", with_write ? "writing" : "reading", " at ", at * kGranule);
}

RaceChecker::Clock RaceChecker::Release(Pipe pipe) const { return clocks_[static_cast<int>(pipe)]; }

void RaceChecker::Acquire(Pipe pipe, const Clock &clock) {
  const int me = static_cast<int>(pipe);
  for (int q = 0; q < kNumPipes; ++q)
    if (q != me)
      clocks_[me][q] = std::max(clocks_[me][q], clock[q]);
    else // a flag that came round says that this much of the pipe's own work is done
      drained_[me] = std::max(drained_[me], clock[q]);
}

void RaceChecker::Barrier(Pipe pipe) {
  const int me = static_cast<int>(pipe);
  drained_[me] = clocks_[me][me];
}

void RaceChecker::BarrierAll() {
  Clock all;
  for (int q = 0; q < kNumPipes; ++q)
    all[q] = clocks_[q][q];
  for (int p = 0; p < kNumPipes; ++p)
    clocks_[p] = all;
  drained_ = all;
}

} // namespace pyasc::sim
