#include "profiler/sim/shadow.h"

#include <algorithm>

namespace pyasc::sim {
namespace {

constexpr uint64_t kScalarPipe = static_cast<uint64_t>(sim_isa::Pipe::kS);

// Whether the program guarantees that `e` is over when the actor's access begins.
bool IsOver(const Epoch &e, bool e_writes, const Actor &a) {
  if (e.clock <= a.floor)
    return true;
  if (e.block != a.epoch.block)
    return a.view->Knows(e.block, static_cast<int>(e.pipe), e.clock);
  if (e.pipe != a.epoch.pipe)
    return e.clock <= a.view->own[e.pipe];
  if (e.clock == a.epoch.clock || e.clock <= a.drained || !e_writes || e.atomic)
    return true;
  return !(a.write ? a.own_writes_wait : a.own_reads_wait);
}

// Written by this core's scalar unit, and no flush that the actor knows of came after.
bool IsUnflushed(const Epoch &write, const Actor &a) {
  return write.clock > a.floor && write.pipe == kScalarPipe && write.block == a.epoch.block &&
         a.epoch.pipe != kScalarPipe && write.clock > a.view->flushed;
}

// How far apart the program issues the two: of several meetings the nearest is the cause.
uint32_t Distance(const Meeting &meeting, const Actor &a) {
  if (meeting.earlier.block != a.epoch.block)
    return ~uint32_t{0};
  return meeting.earlier.issue > a.epoch.issue ? meeting.earlier.issue - a.epoch.issue
                                               : a.epoch.issue - meeting.earlier.issue;
}

} // namespace

Shadow::Shadow(int64_t bytes, bool line_mode, bool keep_all_readers)
    : granule_(line_mode ? 64 : 32), line_mode_(line_mode), keep_all_readers_(keep_all_readers),
      bytes_(bytes), chunks_(bytes / (granule_ * kPageCells * kChunkPages) + 1) {}

bool Shadow::Touch(int64_t begin, int64_t length, const Actor &actor, Meeting &meeting) {
  bool found = false;
  const int64_t end = begin + length, page_bytes = granule_ * kPageCells;
  const uint64_t full = FullMask();
  auto take = [&](const Meeting &here, int64_t at, uint64_t met) {
    if (found && Distance(here, actor) >= Distance(meeting, actor))
      return;
    found = true;
    meeting = here;
    meeting.begin = at + std::countr_zero(met);
    meeting.end = at + 64 - std::countl_zero(met);
  };
  for (int64_t number = begin / page_bytes, from = number * page_bytes; from < end;
       ++number, from += page_bytes) {
    Page &page = PageAt(number);
    const int64_t to = std::min(from + page_bytes, end);
    const bool whole = begin <= from && end >= std::min(from + page_bytes, bytes_);
    Meeting here;
    if (whole && !page.cells) {
      if (TouchHistory(page.history, actor, here))
        take(here, from, full);
      continue;
    }
    Expand(page);
    const int64_t first = std::max<int64_t>(0, begin - from) / granule_;
    for (int64_t n = first, at = from + first * granule_; at < to; ++n, at += granule_) {
      uint64_t met = 0;
      if (TouchCell((*page.cells)[n], at, begin, end, actor, here, met))
        take(here, at, met);
    }
    if (whole && actor.write && !actor.epoch.atomic) {
      // Nothing is left of what was.
      page.history = (*page.cells)[0].history;
      page.cells.reset();
    }
  }
  return found;
}

bool Shadow::TouchCell(Cell &cell, int64_t at, int64_t begin, int64_t end, const Actor &actor,
                       Meeting &meeting, uint64_t &met) {
  const uint64_t full = FullMask();
  uint64_t mask = full;
  if (at < begin)
    mask &= full << (begin - at);
  if (at + granule_ > end)
    mask &= full >> (at + granule_ - end);
  met = mask;
  if (cell.groups < 0 && mask == full)
    return TouchHistory(cell.history, actor, meeting);
  bool meets = line_mode_ && actor.write && MeetsOnLine(cell, mask, actor, meeting, met);
  Meeting part;
  uint64_t part_met = 0;
  if (TouchPart(cell, mask, actor, part, part_met) && !meets) {
    meets = true;
    meeting = part;
    met = part_met;
  }
  return meets;
}

void Shadow::Expand(Page &page) {
  if (page.cells)
    return;
  page.cells = std::make_unique<std::array<Cell, kPageCells>>();
  for (Cell &cell : *page.cells) {
    cell.history = page.history;
    Unshare(cell.history);
  }
  DropReads(page.history);
}

void Shadow::Unshare(History &h) {
  if (h.more_reads < 0)
    return;
  const std::vector<Epoch> copy = more_[h.more_reads];
  h.more_reads = static_cast<int32_t>(more_.size());
  more_.push_back(copy);
}

bool Shadow::TouchHistory(History &h, const Actor &a, Meeting &meeting) {
  bool met = false;
  auto meets = [&](const Epoch &e, bool e_writes, Meeting::Kind kind) {
    const Meeting here = {kind, e, h.write, e_writes, 0, 0};
    if (!met || Distance(here, a) < Distance(meeting, a))
      meeting = here;
    met = true;
  };
  // Readers first: of a buffer that is filled again too early, they are the reason.
  auto look = [&](const Epoch &e) {
    const bool both_atomic = e.atomic && a.epoch.atomic;
    if ((a.write || e.atomic) && !both_atomic && !IsOver(e, e.atomic, a))
      meets(e, e.atomic, Meeting::Kind::kRace);
  };
  for (uint32_t n = 0; n < h.num_reads; ++n)
    look(h.reads[n]);
  if (h.more_reads >= 0)
    for (const Epoch &e : more_[h.more_reads])
      look(e);
  Epoch under;
  if (h.write.clock != 0) {
    if (!IsOver(h.write, true, a)) {
      if (!line_mode_ && a.write && h.write.SameActor(a.epoch))
        under = h.write;
      else
        meets(h.write, true, Meeting::Kind::kRace);
    } else if (line_mode_ && IsUnflushed(h.write, a)) {
      meets(h.write, true, Meeting::Kind::kUnflushed);
    }
  }
  // Where the order with another pipe is missing, that is the fault to tell.
  if (met)
    h.under = under = {};
  else if (!a.write && h.under.clock > a.floor)
    meets(h.under, true, Meeting::Kind::kOpen);
  if (a.write && !a.epoch.atomic) {
    DropReads(h);
    h.write = a.epoch;
    h.under = under;
  } else {
    AddRead(h, a);
  }
  return met;
}

void Shadow::AddRead(History &h, const Actor &a) {
  uint32_t kept = 0;
  bool two_blocks = false;
  for (uint32_t n = 0; n < h.num_reads; ++n) {
    const Epoch &e = h.reads[n];
    // What is over, or was this pipe's own, is replaced.
    if (e.clock <= a.floor || e.SameActor(a.epoch))
      continue;
    for (uint32_t m = 0; m < kept; ++m)
      two_blocks |= h.reads[m].block != e.block && h.reads[m].atomic == e.atomic &&
                    e.atomic == a.epoch.atomic;
    h.reads[kept++] = e;
  }
  h.num_reads = kept;
  if (two_blocks && !keep_all_readers_)
    return;
  if (h.num_reads < kInlineReads) {
    h.reads[h.num_reads++] = a.epoch;
    return;
  }
  if (!keep_all_readers_) {
    h.reads[kInlineReads - 1] = a.epoch;
    return;
  }
  if (h.more_reads < 0) {
    if (free_more_.empty()) {
      h.more_reads = static_cast<int32_t>(more_.size());
      more_.emplace_back();
    } else {
      h.more_reads = free_more_.back();
      free_more_.pop_back();
    }
  }
  std::vector<Epoch> &more = more_[h.more_reads];
  for (Epoch &e : more)
    if (e.SameActor(a.epoch)) {
      e = a.epoch;
      return;
    }
  more.push_back(a.epoch);
}

void Shadow::DropReads(History &h) {
  h.num_reads = 0;
  if (h.more_reads >= 0) {
    more_[h.more_reads].clear();
    free_more_.push_back(h.more_reads);
    h.more_reads = -1;
  }
}

bool Shadow::Same(const History &a, const History &b) const {
  auto same = [](const Epoch &x, const Epoch &y) {
    return x.clock == y.clock && x.SameActor(y) && x.site == y.site;
  };
  if (!same(a.write, b.write) || !same(a.under, b.under) || a.num_reads != b.num_reads ||
      a.more_reads >= 0 || b.more_reads >= 0)
    return false;
  for (uint32_t n = 0; n < a.num_reads; ++n)
    if (!same(a.reads[n], b.reads[n]))
      return false;
  return true;
}

bool Shadow::TouchPart(Cell &cell, uint64_t mask, const Actor &a, Meeting &meeting, uint64_t &met) {
  if (cell.groups < 0) {
    if (free_groups_.empty()) {
      cell.groups = static_cast<int32_t>(groups_.size());
      groups_.emplace_back();
    } else {
      cell.groups = free_groups_.back();
      free_groups_.pop_back();
    }
    groups_[cell.groups].push_back({FullMask(), cell.history});
    cell.history.more_reads = -1;
  }
  std::vector<Group> &groups = groups_[cell.groups];
  bool found = false;
  for (size_t n = 0, count = groups.size(); n < count; ++n) {
    const uint64_t inside = groups[n].mask & mask;
    if (inside == 0)
      continue;
    if (inside != groups[n].mask) { // split
      Group outside = groups[n];
      outside.mask &= ~mask;
      Unshare(outside.history);
      groups.push_back(outside);
      groups[n].mask = inside;
    }
    Meeting here;
    if (TouchHistory(groups[n].history, a, here) &&
        (!found || Distance(here, a) < Distance(meeting, a))) {
      found = true;
      meeting = here;
      met = inside;
    }
  }
  // Bytes with one history are one group again.
  for (size_t n = 0; n < groups.size(); ++n)
    for (size_t m = groups.size() - 1; m > n; --m)
      if (Same(groups[n].history, groups[m].history)) {
        groups[n].mask |= groups[m].mask;
        groups[m] = groups.back();
        groups.pop_back();
      }
  if (groups.size() == 1) {
    cell.history = groups[0].history;
    groups.clear();
    free_groups_.push_back(cell.groups);
    cell.groups = -1;
  }
  return found;
}

bool Shadow::WrittenSince(int64_t begin, int64_t length, bool whole_line, Tick since,
                          const Epoch &me, const View &view, Epoch &writer) const {
  const int64_t number = begin / granule_, page_number = number / kPageCells;
  const std::unique_ptr<Chunk> &chunk = chunks_[page_number / kChunkPages];
  if (!chunk)
    return false;
  const Page &page = (*chunk)[page_number % kChunkPages];
  const uint64_t mask =
      whole_line ? FullMask() : (FullMask() >> (granule_ - length)) << (begin % granule_);
  auto look = [&](const History &h, uint64_t bytes) {
    const Epoch &e = h.write;
    if ((bytes & mask) == 0 || e.clock <= since || (e.block == me.block && e.pipe == me.pipe))
      return false;
    if (e.block != me.block && !view.Knows(e.block, static_cast<int>(e.pipe), e.clock))
      return false;
    writer = e;
    return true;
  };
  if (!page.cells)
    return look(page.history, FullMask());
  const Cell &cell = (*page.cells)[number % kPageCells];
  if (cell.groups < 0)
    return look(cell.history, FullMask());
  for (const Group &group : groups_[cell.groups])
    if (look(group.history, group.mask))
      return true;
  return false;
}

bool Shadow::MeetsOnLine(const Cell &cell, uint64_t mask, const Actor &a, Meeting &meeting,
                         uint64_t &met) const {
  auto look = [&](const History &h, uint64_t bytes) {
    const Epoch &e = h.write;
    if (bytes == 0 || e.clock <= a.floor)
      return false;
    if (e.pipe != kScalarPipe && a.epoch.pipe != kScalarPipe)
      return false;
    // Ordered, the earlier side must have left its data cache, too.
    const bool unflushed = IsUnflushed(e, a);
    if (IsOver(e, true, a) && !unflushed)
      return false;
    if (e.block == a.epoch.block && !unflushed)
      return false; // the own core's other pipes: told as what they are
    meeting = {unflushed ? Meeting::Kind::kUnflushed : Meeting::Kind::kLine, e, {}, true, 0, 0};
    met = bytes;
    return true;
  };
  if (cell.groups < 0)
    return look(cell.history, FullMask() & ~mask);
  for (const Group &group : groups_[cell.groups])
    if (look(group.history, group.mask & ~mask))
      return true;
  return false;
}

} // namespace pyasc::sim
