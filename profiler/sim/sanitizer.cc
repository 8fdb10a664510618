#include "profiler/sim/sanitizer.h"

#include <algorithm>
#include <atomic>

#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

constexpr std::string_view kSpaceNames[kNumSpaces] = {"GM", "UB", "L1", "L0A", "L0B", "L0C"};

void SetLine(uint32_t packed, v1::SourceRange *range) {
  range->set_file(FileOf(packed));
  range->set_line(LineOf(packed));
}

// An Mmad that adds to its result reads what the one before wrote. With so few blocks of 16 x 16
// that one may not be done (documented for Mmad: a barrier on M is needed below 10).
constexpr int64_t kSmallMmadBlocks = 10;

bool IsSmallMmad(const Operation &o) {
  return o.descriptor->op == PipeOp::kMmad &&
         CeilDiv(o.v[3], 16) * CeilDiv(o.v[4], 16) < kSmallMmadBlocks;
}

std::string_view Verb(bool write) { return write ? "writes" : "reads"; }

} // namespace

// ----------------------------------------------------------------------------------- the launch

Sanitizer::Sanitizer(Level level, GlobalMemory &gm)
    : number_([] {
        static std::atomic<uint64_t> launches = 0;
        return ++launches;
      }()),
      level_(level), gm_(gm) {}

void Sanitizer::Name(uint64_t address, std::string name, bool undefined) {
  const GlobalMemory::Allocation *allocation = gm_.Find(address, 0);
  if (!allocation)
    return;
  Tensor &tensor = tensors_[allocation->address];
  tensor.name = std::move(name);
  tensor.bytes = allocation->size;
  if (undefined && all())
    tensor.defined = std::make_unique<DefinedBytes>(allocation->size);
}

void Sanitizer::BeginPhase(const Function &function, bool cores_synchronise) {
  phase_floor_ = Next();
  if (cores_synchronise && !cores_synchronise_)
    for (auto &[address, tensor] : tensors_)
      tensor.shadow.reset();
  cores_synchronise_ = cores_synchronise;
  if (std::any_of(codes_.begin(), codes_.end(),
                  [&](const Code &code) { return code.function == &function; }))
    return;
  Code code;
  code.function = &function;
  code.first_site = codes_.empty()
                        ? 1
                        : codes_.back().first_site +
                              static_cast<uint32_t>(codes_.back().function->descriptors.size() +
                                                    codes_.back().function->code.size());
  code.descriptor_lines.resize(function.descriptors.size());
  for (size_t pc = 0; pc < function.code.size(); ++pc)
    if (function.code[pc].op == ScalarOp::kIssue)
      code.descriptor_lines[function.code[pc].imm] = function.lines[pc];
  codes_.push_back(std::move(code));
}

uint32_t Sanitizer::SiteOf(const Operation &operation) const {
  for (const Code &code : codes_) {
    const Descriptor *first = code.function->descriptors.data();
    if (operation.descriptor >= first &&
        operation.descriptor < first + code.function->descriptors.size())
      return code.first_site + static_cast<uint32_t>(operation.descriptor - first);
  }
  return 0;
}

uint32_t Sanitizer::FirstScalarSite(const Function &function) const {
  for (const Code &code : codes_)
    if (code.function == &function)
      return code.first_site + static_cast<uint32_t>(function.descriptors.size());
  return 0;
}

Sanitizer::Site Sanitizer::SiteOf(uint32_t site) const {
  for (const Code &code : codes_) {
    if (site < code.first_site)
      break;
    const size_t number = site - code.first_site, issues = code.function->descriptors.size();
    if (number < issues)
      return {code.descriptor_lines[number], PipeOpName(code.function->descriptors[number].op),
              code.function->descriptors[number].pipe, code.function->cube};
    if (number - issues < code.function->code.size()) {
      const Instruction &i = code.function->code[number - issues];
      return {code.function->lines[number - issues],
              InfoOf(i.op).form == Form::kStore ? "scalar store" : "scalar load", Pipe::kS,
              code.function->cube};
    }
  }
  return {};
}

Sanitizer::Tensor *Sanitizer::TensorAt(int64_t address, int64_t &base) {
  auto holds = [&](std::map<uint64_t, Tensor>::iterator it) {
    return it != tensors_.end() && address >= static_cast<int64_t>(it->first) &&
           address <= static_cast<int64_t>(it->first) + it->second.bytes;
  };
  if (!holds(last_tensor_)) {
    auto it = tensors_.upper_bound(static_cast<uint64_t>(address));
    if (it == tensors_.begin() || !holds(--it))
      return nullptr;
    last_tensor_ = it;
  }
  base = static_cast<int64_t>(last_tensor_->first);
  return &last_tensor_->second;
}

void Sanitizer::Place(Space space, int64_t begin, int64_t end, v1::MemoryAccess &access) const {
  access.set_memory(std::string(kSpaceNames[static_cast<int>(space)]));
  if (space == Space::kGm) {
    auto it = tensors_.upper_bound(static_cast<uint64_t>(begin));
    if (it != tensors_.begin()) {
      --it;
      access.set_buffer(it->second.name);
      begin -= static_cast<int64_t>(it->first);
      end -= static_cast<int64_t>(it->first);
    }
  } else {
    // Buffers whose lives do not meet may share bytes: either may be meant.
    std::vector<std::string_view> names;
    for (const Code &code : codes_)
      for (const v1::SimBuffer &buffer : code.function->buffers)
        if (buffer.space() == static_cast<uint32_t>(space) && begin >= buffer.address() &&
            begin < buffer.address() + buffer.bytes() && !buffer.name().empty() &&
            std::find(names.begin(), names.end(), buffer.name()) == names.end())
          names.push_back(buffer.name());
    std::string all;
    for (size_t n = 0; n < std::min<size_t>(names.size(), 3); ++n)
      all += Cat(n ? " or " : "", names[n]);
    access.set_buffer(all);
  }
  access.set_begin(begin);
  access.set_end(end);
}

v1::MemoryAccess Sanitizer::AccessOf(const Epoch &epoch, bool write, Space space, int64_t begin,
                                     int64_t end) const {
  v1::MemoryAccess access;
  const Site site = SiteOf(epoch.site);
  access.set_core(epoch.block & ((1u << Sanitizer::kPartShift) - 1));
  access.set_core_kind(site.cube ? "aic" : "aiv");
  access.set_pipe(std::string(PipeName(static_cast<Pipe>(static_cast<int>(epoch.pipe)))));
  access.set_instruction(std::string(site.instruction));
  access.set_write(write);
  SetLine(site.line, access.mutable_range());
  Place(space, begin, end, access);
  return access;
}

void Sanitizer::Add(v1::Finding finding, const Cause &cause) {
  const std::string key =
      Cat(finding.kind(), " ", finding.range().file(), ":", finding.range().line(), " ",
          finding.access().pipe(), " ", finding.access().instruction(), " ",
          finding.other().range().file(), ":", finding.other().range().line(), " ",
          finding.other().pipe(), " ", finding.other().instruction(), " ",
          finding.kind() == "double-set" || finding.kind() == "flag-not-waited" ? finding.message()
                                                                                : "");
  auto it = index_.find(key);
  if (it != index_.end()) {
    v1::Finding &known = findings_[it->second];
    known.set_count(known.count() + 1);
    return;
  }
  if (findings_.size() >= kMaxFindings)
    return;
  index_.emplace(key, findings_.size());
  finding.set_count(1);
  findings_.push_back(std::move(finding));
  causes_.push_back(cause);
}

// ------------------------------------------------------------------------------------- one core

CoreChecker::CoreChecker(CoreMemory &memory) : memory_(memory) {}

void CoreChecker::Begin(Sanitizer *sanitizer, const Function *function, int part, int64_t block) {
  sanitizer_ = sanitizer;
  block_ = Sanitizer::BlockId(part, block);
  if (!sanitizer)
    return;
  const bool fresh = launch_ != sanitizer->number_;
  launch_ = sanitizer->number_;
  if (fresh) { // ticks of another launch say nothing
    for (int space = 1; space < kNumSpaces; ++space)
      shadows_[space] = std::make_unique<Shadow>(memory_.spaces[space].size(), false, false);
    defined_.reset();
  }
  floor_ = sanitizer->Next();
  first_scalar_site_ = sanitizer->FirstScalarSite(*function);
  scalar_told_ = true;
  issues_ = 0;
  for (View &view : views_)
    view = {};
  drained_ = {};
  waits_ = {};
  issued_.reset();
  entered_ = {};
  if (!sanitizer->all())
    return;
  if (!defined_)
    defined_ = std::make_unique<Definedness>(
        memory_, [this](int64_t address, int64_t &base) -> DefinedBytes * {
          Sanitizer::Tensor *tensor = sanitizer_->TensorAt(address, base);
          return tensor ? tensor->defined.get() : nullptr;
        });
  defined_->Reset();
}

void CoreChecker::Enter(Pipe pipe, const std::shared_ptr<const View> &issued) {
  const int me = static_cast<int>(pipe);
  if (!issued || issued == entered_[me])
    return;
  entered_[me] = issued;
  // What the scalar unit waited for is over; what it did itself, only a flag tells.
  for (int q = 1; q < kNumPipes; ++q)
    if (q != me)
      views_[me].own[q] = std::max(views_[me].own[q], issued->own[q]);
    else
      drained_[me] = std::max(drained_[me], issued->own[q]);
  views_[me].JoinForeign(issued->foreign);
}

void CoreChecker::Run(const Operation &operation, Pipe pipe, uint32_t issue,
                      std::span<const Access> accesses) {
  const int me = static_cast<int>(pipe);
  views_[me].own[me] = sanitizer_->Next();
  const uint32_t site = sanitizer_->SiteOf(operation);
  const bool atomic = (operation.descriptor->op == PipeOp::kStore ||
                       operation.descriptor->op == PipeOp::kFixpipe) &&
                      operation.descriptor->sub != static_cast<uint8_t>(Atomic::kNone);
  for (const Access &access : accesses)
    Touch(access, pipe, site, issue, atomic && access.space == Space::kGm,
          pipe == Pipe::kV || IsSmallMmad(operation));
  if (!defined_)
    return;
  if (auto use = defined_->Execute(operation, accesses, site)) {
    const Access *where = nullptr;
    for (const Access &access : accesses)
      if (!access.write && access.space == use->space)
        where = &access;
    ReportUse(*use, where, pipe, site);
  }
}

void CoreChecker::Touch(const Access &access, Pipe pipe, uint32_t site, uint32_t issue, bool atomic,
                        bool own_reads_wait) {
  const int me = static_cast<int>(pipe);
  Actor actor;
  actor.epoch.clock = views_[me].own[me];
  actor.epoch.pipe = static_cast<uint64_t>(me);
  actor.epoch.atomic = atomic;
  actor.epoch.block = block_;
  actor.epoch.site = site;
  actor.epoch.issue = issue;
  actor.write = access.write;
  actor.view = &views_[me];
  actor.drained = drained_[me];
  Shadow *shadow = shadows_[static_cast<int>(access.space)].get();
  int64_t base = 0;
  if (access.space == Space::kGm) {
    if (!sanitizer_->all())
      return;
    actor.floor = sanitizer_->phase_floor_;
    // Stores follow each other by a barrier only.
    actor.own_writes_wait = pipe == Pipe::kMte3 || pipe == Pipe::kFix;
    Sanitizer::Tensor *tensor = sanitizer_->TensorAt(access.start, base);
    if (!tensor)
      return;
    if (!tensor->shadow)
      tensor->shadow =
          std::make_unique<Shadow>(tensor->bytes, true, sanitizer_->cores_synchronise_);
    shadow = tensor->shadow.get();
  } else {
    actor.floor = floor_;
    actor.own_reads_wait = own_reads_wait;
    actor.own_writes_wait = pipe == Pipe::kMte2;
  }
  Meeting meeting;
  bool met = false;
  for (int64_t run = 0; run < access.count; ++run) {
    Meeting here;
    if (shadow->Touch(access.start - base + run * access.stride, access.length, actor, here) &&
        !met) {
      met = true;
      meeting = here;
      meeting.begin += base;
      meeting.end += base;
    }
  }
  if (met)
    Report(meeting, access, actor);
}

void CoreChecker::Report(const Meeting &meeting, const Access &access, const Actor &actor) {
  const bool same_core = meeting.earlier.block == actor.epoch.block;
  // What the program does first is the first, however the pipes happened to run.
  const bool swapped = same_core && meeting.earlier.issue > actor.epoch.issue &&
                       meeting.kind == Meeting::Kind::kRace;
  // Of two writes without an order the read that shows it is not the place to mend.
  const bool open = meeting.kind == Meeting::Kind::kOpen;
  v1::MemoryAccess here =
      open ? sanitizer_->AccessOf(meeting.later, true, access.space, meeting.begin, meeting.end)
           : sanitizer_->AccessOf(actor.epoch, access.write, access.space, access.start,
                                  access.end());
  v1::MemoryAccess there = sanitizer_->AccessOf(meeting.earlier, meeting.earlier_write,
                                                access.space, meeting.begin, meeting.end);
  if (swapped)
    std::swap(here, there);
  v1::Finding f;
  *f.mutable_access() = here;
  *f.mutable_other() = there;
  *f.mutable_range() = here.range();
  const std::string &mine = here.pipe(), &other = there.pipe();
  const std::string where = Cat(here.memory(), here.buffer().empty() ? "" : " ", here.buffer());
  const uint32_t line = there.range().line();
  const std::string pair = Cat(
      "pipe ", mine, " ", Verb(here.write()), " ", where, " bytes ", here.begin(), "..", here.end(),
      " while ", same_core ? "" : Cat(there.core_kind(), " block ", there.core(), "'s "), "pipe ",
      other, " (line ", line, ") may still be ", there.write() ? "writing" : "reading", " at ",
      there.begin());
  switch (meeting.kind) {
  case Meeting::Kind::kUnflushed:
    f.set_kind("missing-cache-flush");
    f.set_message(Cat("pipe ", mine, " ", Verb(access.write), " ", where, " bytes ",
                      f.access().begin(), "..", f.access().end(),
                      ", where the scalar unit's data cache may still hold what line ", line,
                      " stored"));
    f.set_advice("flush the data cache (npu.dcache_flush) after the scalar stores, before the flag "
                 "that the pipe waits for");
    break;
  case Meeting::Kind::kLine:
    f.set_kind("shared-cache-line");
    f.set_message(Cat("blocks ", f.access().core(), " and ", f.other().core(),
                      " write parts of one cache line of ", where, ": bytes ", f.access().begin(),
                      "..", f.access().end(), " here, ", f.other().begin(), "..", f.other().end(),
                      " in line ", line, "; the data cache writes lines back whole"));
    f.set_advice("give each core whole lines of 64 bytes, or write through UB and npu.store");
    break;
  case Meeting::Kind::kOpen:
  case Meeting::Kind::kRace:
    if (!same_core) {
      f.set_kind("core-race");
      f.set_message(Cat("blocks race for global memory: ", pair));
      f.set_advice(
          "let the blocks work on ranges apart, add with atomic stores, or order them by a "
          "flag between cores or a phase of its own");
    } else if (open || meeting.earlier.pipe == actor.epoch.pipe) {
      f.set_kind("missing-barrier");
      f.set_message(Cat("a barrier on pipe ", mine, " is missing: ", pair));
      f.set_advice(Cat("put npu.pipe_barrier ", mine, " before this instruction"));
    } else {
      f.set_kind(!here.write()   ? "race-read-after-write"
                 : there.write() ? "race-write-after-write"
                                 : "race-write-after-read");
      f.set_message(Cat("a flag from ", other, " to ", mine, " is missing: ", pair));
      f.set_advice(Cat("set a flag ", other, " -> ", mine, " after line ", line,
                       " and wait for it before this instruction"));
    }
  }
  const Epoch &second = open ? meeting.later : actor.epoch;
  Sanitizer::Cause cause{.site = second.site,
                         .other_site = meeting.earlier.site,
                         .issue = second.issue,
                         .other_issue = meeting.earlier.issue};
  if (swapped) {
    std::swap(cause.site, cause.other_site);
    std::swap(cause.issue, cause.other_issue);
  }
  const auto first = swapped ? actor.epoch.pipe : meeting.earlier.pipe;
  const auto next = swapped ? meeting.earlier.pipe : actor.epoch.pipe;
  if (same_core)
    for (uint32_t issue : waits_[first][next].issues)
      cause.waited |= issue > cause.other_issue && issue < cause.issue;
  sanitizer_->Add(std::move(f), cause);
}

void CoreChecker::ReportUse(const UndefinedUse &use, const Access *where, Pipe pipe,
                            uint32_t site) {
  v1::Finding f;
  Epoch here;
  here.pipe = static_cast<uint64_t>(pipe);
  here.block = block_;
  here.site = site;
  const v1::MemoryAccess reader = sanitizer_->AccessOf(
      here, false, use.space, where ? where->start : use.begin, where ? where->end() : use.end);
  v1::MemoryAccess bytes;
  sanitizer_->Place(use.space, use.begin, use.end, bytes);
  const std::string what = Cat(bytes.memory(), bytes.buffer().empty() ? "" : " ", bytes.buffer(),
                               " bytes ", bytes.begin(), "..", bytes.end());
  f.set_kind("uninitialised-read");
  if (use.origin != 0) {
    const Sanitizer::Site origin = sanitizer_->SiteOf(use.origin);
    *f.mutable_access() = reader;
    f.mutable_access()->set_instruction(std::string(origin.instruction));
    f.mutable_access()->set_pipe(std::string(PipeName(origin.pipe)));
    f.mutable_access()->clear_memory();
    f.mutable_access()->clear_buffer();
    SetLine(origin.line, f.mutable_access()->mutable_range());
    *f.mutable_other() = reader;
    f.set_message(Cat(origin.instruction,
                      " reads bytes that nobody has written, and its result "
                      "reaches ",
                      reader.instruction(), " in line ", reader.range().line(), " as ", what));
  } else {
    *f.mutable_access() = reader;
    f.set_message(Cat(reader.instruction(), " reads ", what, ", which nobody has written"));
  }
  *f.mutable_range() = f.access().range();
  f.set_advice("write the bytes first (a load, npu.vdup), or read only what was written");
  sanitizer_->Add(std::move(f), {.site = use.origin != 0 ? use.origin : site});
}

void CoreChecker::Scalar(Space space, int64_t address, int64_t bytes, bool write, int64_t pc,
                         Tick line_filled) {
  constexpr int me = static_cast<int>(Pipe::kS);
  if (space == Space::kGm && !sanitizer_->all())
    return;
  // One tick serves until somebody else acts: neighbours then share their history.
  if (scalar_told_ || views_[me].own[me] != sanitizer_->tick_)
    views_[me].own[me] = sanitizer_->Next();
  scalar_told_ = false;
  const uint32_t site = first_scalar_site_ + static_cast<uint32_t>(pc);
  const Access access{.space = space, .write = write, .start = address, .length = bytes};
  if (space == Space::kGm && line_filled != 0)
    CheckStale(access, site, line_filled);
  Touch(access, Pipe::kS, site, ++issues_, false, false);
  if (!defined_)
    return;
  if (write)
    defined_->ScalarStore(space, address, bytes);
  else if (auto use = defined_->ScalarLoad(space, address, bytes))
    ReportUse(*use, &access, Pipe::kS, site);
}

void CoreChecker::CheckStale(const Access &access, uint32_t site, Tick line_filled) {
  int64_t base = 0;
  Sanitizer::Tensor *tensor = sanitizer_->TensorAt(access.start, base);
  if (!tensor || !tensor->shadow)
    return;
  Epoch writer;
  Epoch me;
  me.pipe = static_cast<uint64_t>(Pipe::kS);
  me.block = block_;
  me.site = site;
  if (!tensor->shadow->WrittenSince(access.start - base, access.length, access.write, line_filled,
                                    me, views_[static_cast<int>(Pipe::kS)], writer))
    return;
  v1::Finding f;
  f.set_kind("stale-cache-line");
  *f.mutable_access() =
      sanitizer_->AccessOf(me, access.write, access.space, access.start, access.end());
  *f.mutable_other() = sanitizer_->AccessOf(writer, true, access.space, access.start, access.end());
  *f.mutable_range() = f.access().range();
  f.set_message(Cat("the scalar unit ", Verb(access.write), " GM ", f.access().buffer(), " bytes ",
                    f.access().begin(), "..", f.access().end(),
                    " in a cache line that it took before line ", f.other().range().line(),
                    " wrote there"));
  f.set_advice("flush the data cache (npu.dcache_flush) after waiting for the write, before the "
               "scalar access");
  sanitizer_->Add(std::move(f), {.site = site, .other_site = writer.site});
}

void CoreChecker::Flush() {
  scalar_told_ = true;
  if (sanitizer_)
    views_[static_cast<int>(Pipe::kS)].flushed = sanitizer_->tick_;
}

Tick CoreChecker::Mark(Pipe pipe) {
  const int me = static_cast<int>(pipe);
  return sanitizer_ ? views_[me].own[me] = sanitizer_->Next() : 0;
}

const View &CoreChecker::Release(Pipe pipe) {
  scalar_told_ |= pipe == Pipe::kS;
  return views_[static_cast<int>(pipe)];
}

void CoreChecker::Acquire(Pipe pipe, const View &view) {
  if (!sanitizer_)
    return;
  const int me = static_cast<int>(pipe);
  // A flag that came round says that this much of the pipe's own work is done.
  drained_[me] = std::max(drained_[me], view.own[me]);
  const Tick own = views_[me].own[me];
  views_[me].Join(view);
  views_[me].own[me] = own;
  if (pipe == Pipe::kS)
    issued_ = std::make_shared<const View>(views_[me]);
}

void CoreChecker::Barrier(Pipe pipe) {
  const int me = static_cast<int>(pipe);
  drained_[me] = views_[me].own[me];
}

void CoreChecker::BarrierAll() {
  if (!sanitizer_)
    return;
  scalar_told_ = true;
  View all;
  for (const View &view : views_)
    all.Join(view);
  for (View &view : views_)
    view = all;
  drained_ = all.own;
  issued_ = std::make_shared<const View>(all);
}

View CoreChecker::Export(Pipe pipe) {
  scalar_told_ |= pipe == Pipe::kS;
  const View &mine = views_[static_cast<int>(pipe)];
  View view;
  auto ticks = mine.foreign ? std::make_shared<ForeignTicks>(*mine.foreign)
                            : std::make_shared<ForeignTicks>();
  PipeTicks own = mine.own;
  // Of the scalar unit's stores others see what has left its cache.
  own[static_cast<int>(Pipe::kS)] = mine.flushed;
  (*ticks)[block_] = own;
  view.foreign = std::move(ticks);
  return view;
}

void CoreChecker::Import(Pipe pipe, const View &view) {
  if (!sanitizer_ || !view.foreign)
    return;
  const int me = static_cast<int>(pipe);
  views_[me].JoinForeign(view.foreign);
  // What others have seen of this core is over, too.
  if (auto it = view.foreign->find(block_); it != view.foreign->end())
    for (int q = 0; q < kNumPipes; ++q) {
      Tick &known = q == me ? drained_[me] : views_[me].own[q];
      known = std::max(known, it->second[q]);
    }
  if (pipe == Pipe::kS)
    issued_ = std::make_shared<const View>(views_[me]);
}

} // namespace pyasc::sim
