#include "proto/contract/phase_groups.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace pyasc::contract {
namespace {

v1::ProfileReport Report(std::vector<std::pair<uint32_t, double>> phases) {
  v1::ProfileReport report;
  for (auto [group, us] : phases) {
    v1::PhaseProfile *phase = report.add_phases();
    phase->set_group(group);
    phase->set_time_us(us);
  }
  return report;
}

std::vector<std::pair<size_t, double>> Groups(const v1::ProfileReport &report) {
  std::vector<std::pair<size_t, double>> groups;
  for (const PhaseGroup &group : GroupPhases(report))
    groups.emplace_back(group.phases.size(), group.us);
  return groups;
}

using Expected = std::vector<std::pair<size_t, double>>;

TEST(PhaseGroups, PhasesOfNoGroupRunAlone) {
  EXPECT_EQ(Groups(Report({{0, 1}, {0, 2}})), (Expected{{1, 1}, {1, 2}}));
}

TEST(PhaseGroups, OfThoseInOneGroupTheLongestCounts) {
  EXPECT_EQ(Groups(Report({{0, 1}, {3, 2}, {3, 5}, {4, 1}, {4, 1}})),
            (Expected{{1, 1}, {2, 5}, {2, 1}}));
}

TEST(PhaseGroups, NoPhasesAreNoGroups) { EXPECT_EQ(Groups(Report({})), Expected{}); }

} // namespace
} // namespace pyasc::contract
