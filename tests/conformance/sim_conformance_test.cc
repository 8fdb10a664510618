// The sim driver under the conformance suite, its kernels written by hand, and what only a
// simulator's artifacts can get wrong.
#include <random>

#include "profiler/sim/assembler.h"
#include "profiler/sim/sim_driver.h"
#include "tests/conformance/device_conformance.h"

namespace pyasc::tests {
namespace {

using namespace sim_isa;
using sim::Assembler;
using sim::Value;

constexpr int64_t kTile = 1024;

v1::LaunchContract &AddTensor(v1::LaunchContract &c, const char *name, v1::DType dtype, int64_t n) {
  v1::Parameter *p = c.add_parameters();
  p->set_name(name);
  p->mutable_tensor()->set_dtype(dtype);
  p->mutable_tensor()->add_shape(n);
  return c;
}

void AddConst(v1::LaunchExpr &expr, int64_t value) {
  auto *step = expr.add_steps();
  step->set_op(v1::LaunchExpr::OP_CONST);
  step->set_value(value);
}

void AddResult(v1::LaunchContract &c, int64_t n) {
  v1::Result *r = c.add_results();
  r->set_name("return");
  r->set_dtype(v1::DTYPE_FLOAT32);
  AddConst(*r->add_shape(), n);
}

v1::Phase &AddPhase(v1::LaunchContract &c, const char *entry, int64_t blocks) {
  v1::Phase &phase = *c.add_phases();
  phase.set_core(v1::CORE_KIND_AIV);
  phase.set_entry(entry);
  AddConst(*phase.mutable_blocks(), blocks);
  return phase;
}

// For each tile of this block: load registers ins[], run body(tile length), store to `out`. The
// tiles of one block are `step` apart.
v1::SimFunction Elementwise(const char *name, int num_arguments, std::vector<int> ins, int out,
                            int64_t n, const std::function<void(Assembler &, Value)> &body) {
  Assembler s(name, false, num_arguments);
  const int i = s.Register(), limit = s.Const(n), step = s.Register(), tile = s.Const(kTile),
            count = s.Register(), at = s.Register();
  s.Emit(ScalarOp::kBlockIdx, i);
  s.Emit(ScalarOp::kMulI64, i, i, 0, kTile);
  s.Emit(ScalarOp::kNumBlocks, step);
  s.Emit(ScalarOp::kMulI64, step, step, 0, kTile);
  const int test = s.Emit(ScalarOp::kJumpGeS, i, limit);
  s.Emit(ScalarOp::kSub64, count, limit, i);
  s.Emit(ScalarOp::kMinS, count, count, tile);
  const Value bytes = Value::Reg(count, 4);
  for (size_t k = 0; k < ins.size(); ++k) {
    s.Emit(ScalarOp::kScaledAdd64, at, ins[k], i, 4);
    s.Issue(PipeOp::kLoad, Pipe::kMte2, {},
            {static_cast<int64_t>(k) * kTile * 4, Value::Reg(at), 1, bytes});
  }
  s.Barrier(Pipe::kAll);
  body(s, Value::Reg(count));
  s.Barrier(Pipe::kAll);
  s.Emit(ScalarOp::kScaledAdd64, at, out, i, 4);
  s.Issue(PipeOp::kStore, Pipe::kMte3, {}, {Value::Reg(at), 2 * kTile * 4, 1, bytes});
  s.Barrier(Pipe::kAll);
  s.Emit(ScalarOp::kAdd64, i, i, step);
  s.Emit(ScalarOp::kJump, 0, 0, 0, test);
  s.Patch(test, s.Here());
  return s.Finish();
}

void AddVectors(Assembler &s, Value count) {
  s.Issue(PipeOp::kVBinary, Pipe::kV, {}, {2 * kTile * 4, 0, kTile * 4, count});
}

v1::SimFunction Check(int64_t n) {
  Assembler s("check", false, 2);
  const int count = s.Const(n), zero = s.Const(0), one = s.Const(1), x = s.Register();
  std::vector<int> leave;
  s.Loop(count, [&](int i) {
    s.Emit(ScalarOp::kLoadGm32, x, 0, i);
    const int skip = s.Emit(ScalarOp::kJumpGeS, x, zero);
    s.Emit(ScalarOp::kStoreGm64, one, 1, kNoRegister, 0);
    s.Emit(ScalarOp::kStoreGm64, x, 1, kNoRegister, 8);
    s.Emit(ScalarOp::kStoreGm64, i, 1, kNoRegister, 16);
    leave.push_back(s.Emit(ScalarOp::kJump));
    s.Patch(skip, s.Here());
  });
  for (int jump : leave)
    s.Patch(jump, s.Here());
  s.Emit(ScalarOp::kDcacheFlush);
  return s.Finish();
}

v1::Artifact MakeSimArtifact(ConformanceKernel kernel, int64_t n) {
  v1::Artifact a;
  a.set_schema_version(1);
  a.set_target("sim");
  a.set_soc("ascend910b3");
  a.mutable_sim()->set_isa_version(kSimIsaVersion);
  v1::LaunchContract &c = *a.mutable_launch();
  c.set_schema_version(1);
  const int64_t blocks = std::min<int64_t>(40, (n + kTile - 1) / kTile);
  switch (kernel) {
  case ConformanceKernel::kAdd: {
    AddTensor(AddTensor(c, "a", v1::DTYPE_FLOAT32, n), "b", v1::DTYPE_FLOAT32, n);
    AddResult(c, n);
    v1::Phase &phase = AddPhase(c, "add", blocks);
    phase.add_arguments()->set_parameter(0);
    phase.add_arguments()->set_parameter(1);
    phase.add_arguments()->set_result(0);
    *a.mutable_sim()->add_functions() = Elementwise("add", 3, {0, 1}, 2, n, AddVectors);
    break;
  }
  case ConformanceKernel::kScale: {
    AddTensor(c, "x", v1::DTYPE_FLOAT32, n);
    v1::Parameter *s = c.add_parameters();
    s->set_name("s");
    s->set_scalar(v1::DTYPE_FLOAT32);
    v1::Phase &phase = AddPhase(c, "scale", blocks);
    phase.add_arguments()->set_parameter(0);
    phase.add_arguments()->set_parameter(1);
    *a.mutable_sim()->add_functions() =
        Elementwise("scale", 2, {0}, 0, n, [](Assembler &s, Value count) {
          s.Issue(PipeOp::kVScalar, Pipe::kV, {.sub = static_cast<int>(Scalar::kMuls)},
                  {2 * kTile * 4, 0, Value::Reg(1), count});
        });
    break;
  }
  case ConformanceKernel::kTriple: {
    AddTensor(c, "a", v1::DTYPE_FLOAT32, n);
    AddResult(c, n);
    AddConst(*c.add_workspaces()->mutable_bytes(), 4 * n);
    v1::Phase &first = AddPhase(c, "double", blocks);
    first.add_arguments()->set_parameter(0);
    first.add_arguments()->set_workspace(0);
    v1::Phase &second = AddPhase(c, "plus", blocks);
    second.add_arguments()->set_workspace(0);
    second.add_arguments()->set_parameter(0);
    second.add_arguments()->set_result(0);
    *a.mutable_sim()->add_functions() = Elementwise("double", 2, {0, 0}, 1, n, AddVectors);
    *a.mutable_sim()->add_functions() = Elementwise("plus", 3, {0, 1}, 2, n, AddVectors);
    break;
  }
  case ConformanceKernel::kCheck: {
    AddTensor(c, "x", v1::DTYPE_INT32, n);
    v1::ErrorEntry *error = c.add_error_table();
    error->set_code(1);
    error->set_message("element {bound} is {value}");
    v1::Phase &phase = AddPhase(c, "check", 1);
    phase.add_arguments()->set_parameter(0);
    phase.add_arguments()->set_error_buffer(true);
    *a.mutable_sim()->add_functions() = Check(n);
    break;
  }
  }
  return a;
}

std::unique_ptr<device::Driver> MakeSim() {
  sim::SimOptions options;
  options.num_devices = 3;
  return sim::MakeSimDriver(options);
}

INSTANTIATE_TEST_SUITE_P(Sim, DeviceConformanceTest,
                         testing::Values(ConformanceDriver{"sim", MakeSim, MakeSimArtifact}));

// A program whose bytes were changed is refused or runs to some end; it never does harm. Under a
// sanitizer this also shows that no check is missing.
TEST(SimArtifactTest, DamagedProgramsAreRefusedOrFailCleanly) {
  const int64_t n = 2000;
  std::mt19937 random(7);
  auto driver = MakeSim();
  auto device = std::move(*driver->Open(0));
  int refused = 0, failed = 0;
  for (int round = 0; round < 600; ++round) {
    v1::Artifact artifact = MakeSimArtifact(ConformanceKernel::kTriple, n);
    v1::SimFunction &f = *artifact.mutable_sim()->mutable_functions(round % 2);
    // Fields that hold a loop's bound could make it endless: leave the code's constants alone.
    std::string &bytes = round % 3 == 0 ? *f.mutable_code() : *f.mutable_descriptors();
    size_t at = random() % bytes.size();
    if (round % 3 == 0)
      at = at / kInstructionBytes * kInstructionBytes + 2 + random() % 6;
    bytes[at] = static_cast<char>(random());
    auto executable = device->Load(artifact);
    if (!executable.ok()) {
      EXPECT_EQ(executable.status().code(), absl::StatusCode::kInvalidArgument);
      ++refused;
      continue;
    }
    if (round % 3 == 0) // registers were changed: control may loop for ever, so do not run it
      continue;
    auto a = std::move(*device->Allocate(4 * n)), r = std::move(*device->Allocate(4 * n));
    const std::vector<device::LaunchArgument> arguments = {{.buffer = a.get()}};
    device::Buffer *results[] = {r.get()};
    auto outcome = device->Launch(**executable, arguments, results, {});
    if (!outcome.ok()) {
      EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInternal) << outcome.status();
      ++failed;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(failed, 20);
}

TEST(SimArtifactTest, AnUnknownSocOrIsaVersionIsRefused) {
  auto driver = MakeSim();
  auto device = std::move(*driver->Open(0));
  v1::Artifact soc = MakeSimArtifact(ConformanceKernel::kAdd, 8);
  soc.set_soc("ascend9000");
  EXPECT_EQ(device->Load(soc).status().code(), absl::StatusCode::kInvalidArgument);
  v1::Artifact version = MakeSimArtifact(ConformanceKernel::kAdd, 8);
  version.mutable_sim()->set_isa_version(kSimIsaVersion + 1);
  EXPECT_EQ(device->Load(version).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SimArtifactTest, BuffersOfAnotherDeviceAreRefused) {
  auto driver = MakeSim();
  auto first = std::move(*driver->Open(0)), second = std::move(*driver->Open(1));
  auto buffer = std::move(*first->Allocate(16));
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(second->CopyIn(*buffer, 0, bytes).code(), absl::StatusCode::kInvalidArgument);
  auto executable = std::move(*second->Load(MakeSimArtifact(ConformanceKernel::kScale, 4)));
  const std::vector<device::LaunchArgument> arguments = {{.buffer = buffer.get()}, {}};
  EXPECT_EQ(second->Launch(*executable, arguments, {}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SimArtifactTest, AnArtifactRunsOnTheSocItWasCompiledFor) {
  auto driver = MakeSim();
  auto device = std::move(*driver->Open(0));
  double clock_ratio[2];
  int at = 0;
  for (const char *soc : {"ascend910b1", "ascend910b4"}) {
    v1::Artifact artifact = MakeSimArtifact(ConformanceKernel::kScale, 4);
    artifact.set_soc(soc);
    auto executable = std::move(*device->Load(artifact));
    auto buffer = std::move(*device->Allocate(16));
    const std::vector<device::LaunchArgument> arguments = {{.buffer = buffer.get()}, {}};
    auto outcome = device->Launch(*executable, arguments, {}, {});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const auto &phase = outcome->phases[0];
    clock_ratio[at++] = static_cast<double>(phase.cycles()) / phase.time_us() / 1000;
  }
  EXPECT_NEAR(clock_ratio[0], 1.85, 0.01);
  EXPECT_NEAR(clock_ratio[1], 1.65, 0.01);
}

} // namespace
} // namespace pyasc::tests
