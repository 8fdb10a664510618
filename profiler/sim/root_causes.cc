// What the sanitizer tells in the end: each cause once, without what only follows from it.
//
// A wait that is left out shows three times: its flag is set and never taken, the two sides race,
// and where the reader happened to come first it met what nobody had written. The race is kept, and
// it says which set is waited for nowhere. One flag or barrier may order many accesses; the races
// that it would have ended together are one finding, too.
#include <algorithm>
#include <set>

#include "profiler/sim/sanitizer.h"
#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

bool IsRace(std::string_view kind) { return kind.starts_with("race-"); }
bool IsCoreRace(std::string_view kind) { return kind == "core-race"; }
std::string_view KindOf(bool cube) { return cube ? "aic" : "aiv"; }
bool IsBarrier(std::string_view kind) { return kind == "missing-barrier"; }

} // namespace

void Sanitizer::KeepRootCauses() {
  std::vector<bool> follows(findings_.size(), false);
  FindExplainedReads(follows);
  FindSameFlags(follows);
  FindMissingWaits(follows);
  FindCoveredRaces(follows);
  size_t kept = 0;
  for (size_t n = 0; n < findings_.size(); ++n) {
    if (follows[n])
      continue;
    if (kept != n) {
      findings_[kept] = std::move(findings_[n]);
      causes_[kept] = causes_[n];
    }
    ++kept;
  }
  findings_.resize(kept);
  causes_.resize(kept);
  index_.clear();
}

// Undefined bytes that a racing instruction took in: it may have come before who writes them.
void Sanitizer::FindExplainedReads(std::vector<bool> &follows) const {
  for (size_t n = 0; n < findings_.size(); ++n) {
    if (findings_[n].kind() != "uninitialised-read")
      continue;
    for (size_t r = 0; r < findings_.size() && !follows[n]; ++r) {
      const std::string &kind = findings_[r].kind();
      const bool both = IsCoreRace(kind);
      if (both || IsBarrier(kind) || kind == "race-read-after-write" ||
          kind == "missing-cache-flush" || kind == "stale-cache-line")
        follows[n] = causes_[r].site == causes_[n].site ||
                     (both && causes_[r].other_site == causes_[n].site);
    }
  }
}

// Races of the two pipes (or of blocks) that the n-th finding's flag is between, those that the
// program comes to first in front.
std::vector<size_t> Sanitizer::RacesOf(const Cause &flag) const {
  std::vector<size_t> races;
  for (size_t r = 0; r < findings_.size(); ++r) {
    const v1::Finding &race = findings_[r];
    const bool between = race.other().pipe() == flag.from && race.access().pipe() == flag.to;
    if (flag.between_cores ? IsCoreRace(race.kind()) : IsRace(race.kind()) && between)
      races.push_back(r);
  }
  std::stable_sort(races.begin(), races.end(), [&](size_t a, size_t b) {
    return causes_[a].issue != causes_[b].issue ? causes_[a].issue < causes_[b].issue
                                                : causes_[a].other_issue > causes_[b].other_issue;
  });
  return races;
}

// Several event ids in turn, or several blocks, miss one wait: its flag once.
void Sanitizer::FindSameFlags(std::vector<bool> &follows) const {
  for (size_t n = 0; n < findings_.size(); ++n) {
    const Cause &mine = causes_[n];
    for (size_t m = 0; m < n && mine.IsFlag() && !follows[n]; ++m) {
      const Cause &first = causes_[m];
      follows[n] =
          !follows[m] && first.IsFlag() && first.between_cores == mine.between_cores &&
          first.from == mine.from && first.to == mine.to &&
          (first.id == mine.id || findings_[m].range().line() == findings_[n].range().line());
    }
  }
}

void Sanitizer::FindMissingWaits(std::vector<bool> &follows) {
  bool untaken = false;
  for (size_t n = 0; n < findings_.size(); ++n) {
    const Cause flag = causes_[n];
    if (!flag.IsFlag() || follows[n])
      continue;
    untaken = true;
    const std::vector<size_t> races = RacesOf(flag);
    // Several flags of the same pipes: a race each, as far as there are races.
    auto race = std::find_if(races.begin(), races.end(), [&](size_t r) {
      return !follows[r] && !causes_[r].wait_missing && !causes_[r].waited;
    });
    if (race == races.end()) {
      for (size_t r : races) // a wait took a set that is one too many
        follows[r] = follows[r] || causes_[r].waited;
      continue;
    }
    follows[n] = true;
    v1::Finding &kept = findings_[*race];
    causes_[*race].wait_missing = true;
    const bool others = flag.between_cores && kept.access().core_kind() != KindOf(flag.cube);
    const v1::MemoryAccess &early = others ? kept.other() : kept.access();
    kept.set_advice(
        Cat("wait before line ", early.range().line(), " for the flag that line ",
            findings_[n].range().line(), " sets and nothing waits for (",
            flag.between_cores
                ? Cat("npu.cross_wait ", early.pipe(), ", flag ", flag.id)
                : Cat("npu.wait_flag ", flag.from, " -> ", flag.to, ", event id ", flag.id),
            ")"));
  }
  for (size_t n = 0; n < findings_.size(); ++n)
    if (causes_[n].wait_missing)
      FindWhatComesTooEarly(n, follows);
  // The order of sets and waits is lost with the wait.
  for (size_t n = 0; untaken && n < findings_.size(); ++n)
    follows[n] = follows[n] || (findings_[n].kind() == "double-set" && !causes_[n].IsFlag());
}

// A pipe that does not wait comes too early in all that it does from there on: what it meets, and
// the flags that it sets again.
void Sanitizer::FindWhatComesTooEarly(size_t root, std::vector<bool> &follows) const {
  const bool cores = IsCoreRace(findings_[root].kind());
  std::set<std::string, std::less<>> early = {findings_[root].access().pipe()};
  for (size_t before = 0; before != early.size();) {
    before = early.size();
    for (const Cause &cause : causes_)
      if (cause.IsFlag() && early.contains(cause.from))
        early.emplace(cause.to);
  }
  for (size_t n = 0; n < findings_.size(); ++n) {
    const v1::Finding &f = findings_[n];
    if (n == root || causes_[n].wait_missing)
      continue;
    if (causes_[n].IsFlag() && !causes_[n].between_cores && f.kind() == "double-set")
      follows[n] = follows[n] || early.contains(causes_[n].from);
    else if (cores ? IsCoreRace(f.kind()) : IsRace(f.kind()))
      follows[n] = follows[n] || cores ||
                   (early.contains(f.access().pipe()) && causes_[n].issue >= causes_[root].issue);
  }
}

// One flag after what comes first and before what comes second orders all that lies around them.
void Sanitizer::FindCoveredRaces(std::vector<bool> &follows) const {
  for (size_t n = 0; n < findings_.size(); ++n) {
    const v1::Finding &mine = findings_[n];
    const bool barrier = IsBarrier(mine.kind());
    if (follows[n] || causes_[n].wait_missing || (!barrier && !IsRace(mine.kind())))
      continue;
    for (size_t r = 0; r < findings_.size() && !follows[n]; ++r) {
      const v1::Finding &other = findings_[r];
      if (r == n || follows[r] || other.access().pipe() != mine.access().pipe() ||
          other.other().pipe() != mine.other().pipe() || IsBarrier(other.kind()) != barrier ||
          (!barrier && !IsRace(other.kind())) || CodeOf(causes_[r].site) != CodeOf(causes_[n].site))
        continue;
      const Cause &a = causes_[r], &b = causes_[n];
      const bool same = a.issue == b.issue && a.other_issue == b.other_issue;
      follows[n] = a.issue <= b.issue &&
                   (barrier ? b.other_issue < a.issue : b.other_issue <= a.other_issue) &&
                   // of two that cover each other the first stays
                   (a.issue < b.issue || a.other_issue > b.other_issue || (same && r < n));
    }
  }
}

size_t Sanitizer::CodeOf(uint32_t site) const {
  size_t code = 0;
  while (code + 1 < codes_.size() && site >= codes_[code + 1].first_site)
    ++code;
  return code;
}

} // namespace pyasc::sim
