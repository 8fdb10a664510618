#include "compiler/machine/machine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pyasc::machine {
namespace {

using ::testing::ElementsAre;

TEST(MachineTest, KnowsTheFourSocsByName) {
  EXPECT_THAT(SocNames(), ElementsAre("ascend910b1", "ascend910b2", "ascend910b3", "ascend910b4"));
  EXPECT_EQ(FindSoc("ascend310"), nullptr);
  EXPECT_EQ(FindSoc("dav_c220"), nullptr) << "a family is no SoC";
  ASSERT_NE(FindSoc(kDefaultSoc), nullptr);
}

TEST(MachineTest, DescribesThe910B3AsItsDocumentationDoes) {
  const Soc &soc = *FindSoc("ascend910b3");
  EXPECT_EQ(soc.cube_cores, 20);
  EXPECT_EQ(soc.vector_cores, 40);
  EXPECT_DOUBLE_EQ(soc.clock_ghz, 1.8);
  EXPECT_EQ(soc.l0c_bytes, 128 * 1024);
  EXPECT_EQ(soc.l2_bytes, 192 << 20);
  EXPECT_EQ(soc.hbm_bytes, int64_t{64} << 30);
  EXPECT_EQ(soc.npu_arch, "dav-c220");
}

TEST(MachineTest, ASocsOwnFileOverridesItsFamily) {
  EXPECT_LT(FindSoc("ascend910b4")->gm.hbm_read_gb_per_s,
            FindSoc("ascend910b1")->gm.hbm_read_gb_per_s);
  EXPECT_EQ(FindSoc("ascend910b4")->ub_bytes, FindSoc("ascend910b1")->ub_bytes);
}

TEST(MachineTest, EveryCostIsUsable) {
  for (const std::string &name : SocNames()) {
    const Soc &soc = *FindSoc(name);
    for (const auto &[path, cost] : soc.paths)
      EXPECT_GT(cost.bytes_per_cycle, 0) << name << " " << path;
    for (const auto &[op, cost] : soc.vector) {
      EXPECT_GT(cost.elements_per_cycle_b8, 0) << name << " " << op;
      EXPECT_GT(cost.elements_per_cycle_b16, 0) << name << " " << op;
      EXPECT_GT(cost.elements_per_cycle_b32, 0) << name << " " << op;
      EXPECT_GT(cost.fixed_cycles, 0) << name << " " << op;
    }
    EXPECT_GT(soc.scalar.queue_depth, 0);
    EXPECT_EQ(soc.ub_bytes % soc.ub_align, 0);
    EXPECT_EQ(soc.l1_bytes % soc.l1_align, 0);
  }
}

} // namespace
} // namespace pyasc::machine
