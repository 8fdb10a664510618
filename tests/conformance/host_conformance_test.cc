// The host driver under the conformance suite, its kernels written in C++, and what only native
// code can get wrong.
#include <fstream>
#include <iterator>
#include <string>

#include "profiler/host/host_driver.h"
#include "profiler/sim/sim_driver.h"
#include "tests/conformance/device_conformance.h"

namespace pyasc::tests {
namespace {

std::string KernelsObject() {
  std::ifstream file(PYASC_HOST_KERNELS_OBJECT, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void AddTensor(v1::LaunchContract &contract, const char *name, v1::DType dtype, int64_t n) {
  v1::Parameter *parameter = contract.add_parameters();
  parameter->set_name(name);
  parameter->mutable_tensor()->set_dtype(dtype);
  parameter->mutable_tensor()->add_shape(n);
}

void SetConst(v1::LaunchExpr &expr, int64_t value) {
  auto *step = expr.add_steps();
  step->set_op(v1::LaunchExpr::OP_CONST);
  step->set_value(value);
}

void AddResult(v1::LaunchContract &contract, int64_t n) {
  v1::Result *result = contract.add_results();
  result->set_name("return");
  result->set_dtype(v1::DTYPE_FLOAT32);
  SetConst(*result->add_shape(), n);
}

// One element a block.
v1::Phase &AddPhase(v1::LaunchContract &contract, const char *entry, int64_t n) {
  v1::Phase &phase = *contract.add_phases();
  phase.set_core(v1::CORE_KIND_HOST);
  phase.set_entry(entry);
  SetConst(*phase.mutable_blocks(), n);
  return phase;
}

v1::Artifact MakeHostArtifact(ConformanceKernel kernel, int64_t n) {
  v1::Artifact artifact;
  artifact.set_schema_version(1);
  artifact.set_target("host");
  artifact.mutable_host()->set_object(KernelsObject());
  v1::LaunchContract &contract = *artifact.mutable_launch();
  contract.set_schema_version(1);
  switch (kernel) {
  case ConformanceKernel::kAdd: {
    AddTensor(contract, "a", v1::DTYPE_FLOAT32, n);
    AddTensor(contract, "b", v1::DTYPE_FLOAT32, n);
    AddResult(contract, n);
    v1::Phase &phase = AddPhase(contract, "conformance_add", n);
    phase.add_arguments()->set_parameter(0);
    phase.add_arguments()->set_parameter(1);
    phase.add_arguments()->set_result(0);
    break;
  }
  case ConformanceKernel::kScale: {
    AddTensor(contract, "x", v1::DTYPE_FLOAT32, n);
    v1::Parameter *scale = contract.add_parameters();
    scale->set_name("s");
    scale->set_scalar(v1::DTYPE_FLOAT32);
    v1::Phase &phase = AddPhase(contract, "conformance_scale", n);
    phase.add_arguments()->set_parameter(0);
    phase.add_arguments()->set_parameter(1);
    break;
  }
  case ConformanceKernel::kTriple: {
    AddTensor(contract, "a", v1::DTYPE_FLOAT32, n);
    AddResult(contract, n);
    SetConst(*contract.add_workspaces()->mutable_bytes(), 4 * n);
    v1::Phase &first = AddPhase(contract, "conformance_double", n);
    first.add_arguments()->set_parameter(0);
    first.add_arguments()->set_workspace(0);
    v1::Phase &second = AddPhase(contract, "conformance_add", n);
    second.add_arguments()->set_workspace(0);
    second.add_arguments()->set_parameter(0);
    second.add_arguments()->set_result(0);
    break;
  }
  case ConformanceKernel::kCheck: {
    AddTensor(contract, "x", v1::DTYPE_INT32, n);
    v1::ErrorEntry *error = contract.add_error_table();
    error->set_code(1);
    error->set_message("element {bound} is {value}");
    v1::Phase &phase = AddPhase(contract, "conformance_check", n);
    phase.add_arguments()->set_error_buffer(true);
    phase.add_arguments()->set_parameter(0);
    break;
  }
  }
  return artifact;
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceConformanceTest,
                         testing::Values(ConformanceDriver{"host", device::MakeHostDriver,
                                                           MakeHostArtifact}));

TEST(HostArtifactTest, CodeForAnotherCpuIsRefusedByTheMissingFeature) {
  auto device = std::move(*device::MakeHostDriver()->Open(0));
  v1::Artifact artifact = MakeHostArtifact(ConformanceKernel::kAdd, 8);
  artifact.mutable_host()->set_cpu("abacus");
  artifact.mutable_host()->set_cpu_features("-beads,+beads");
  const absl::Status refused = device->Load(artifact).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("needs 'beads'"));
  artifact.mutable_host()->set_cpu_features("-beads");
  EXPECT_TRUE(device->Load(artifact).ok());
}

TEST(HostArtifactTest, BytesThatAreNoObjectAreRefused) {
  auto device = std::move(*device::MakeHostDriver()->Open(0));
  const v1::Artifact good = MakeHostArtifact(ConformanceKernel::kAdd, 8);
  const std::string &object = good.host().object();
  for (const std::string &bytes :
       {std::string(), std::string("ELF"), object.substr(0, 100), object.substr(0, 64)}) {
    v1::Artifact damaged = good;
    damaged.mutable_host()->set_object(bytes);
    EXPECT_EQ(device->Load(damaged).status().code(), absl::StatusCode::kInvalidArgument)
        << bytes.size();
  }
}

TEST(HostArtifactTest, LoopsOfPhasesAreRefused) {
  auto device = std::move(*device::MakeHostDriver()->Open(0));
  v1::Artifact artifact = MakeHostArtifact(ConformanceKernel::kAdd, 8);
  artifact.mutable_launch()->add_loops();
  EXPECT_EQ(device->Load(artifact).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostArtifactTest, LargeBuffersHoldWhatTheyAreGiven) {
  auto device = std::move(*device::MakeHostDriver()->Open(0));
  for (int64_t bytes : {(4 << 20) - 1, 4 << 20, (6 << 20) + 1}) {
    auto buffer = std::move(*device->Allocate(bytes));
    std::vector<std::byte> in(bytes), out(bytes);
    in.front() = in.back() = std::byte{7};
    ASSERT_TRUE(device->CopyIn(*buffer, 0, in).ok());
    ASSERT_TRUE(device->CopyOut(*buffer, 0, out).ok());
    EXPECT_EQ(in, out);
  }
}

TEST(HostArtifactTest, BuffersAndExecutablesOfAnotherDriverAreRefused) {
  auto device = std::move(*device::MakeHostDriver()->Open(0));
  auto other_driver = sim::MakeSimDriver({});
  auto other = std::move(*other_driver->Open(0));
  auto foreign = std::move(*other->Allocate(16));
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(device->CopyIn(*foreign, 0, bytes).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->CopyOut(*foreign, 0, bytes).code(), absl::StatusCode::kInvalidArgument);
  auto executable = std::move(*device->Load(MakeHostArtifact(ConformanceKernel::kScale, 4)));
  const std::vector<device::LaunchArgument> arguments = {{.buffer = foreign.get()}, {}};
  EXPECT_EQ(device->Launch(*executable, arguments, {}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto mine = std::move(*other->Allocate(16));
  const std::vector<device::LaunchArgument> theirs = {{.buffer = mine.get()}, {}};
  EXPECT_EQ(other->Launch(*executable, theirs, {}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

} // namespace
} // namespace pyasc::tests
