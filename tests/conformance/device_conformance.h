// What every device driver must do. A driver's test instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Sim, DeviceConformanceTest,
//                            testing::Values(ConformanceDriver{"sim", MakeSim, MakeArtifact}));
//
// and brings the four kernels below, compiled for it.
#ifndef PYASC_TESTS_CONFORMANCE_DEVICE_CONFORMANCE_H
#define PYASC_TESTS_CONFORMANCE_DEVICE_CONFORMANCE_H

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "profiler/device/device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pyasc::tests {

enum class ConformanceKernel {
  // Parameters a, b: float32[n], read; result "return": float32[n] = a + b.
  kAdd,
  // Parameters x: float32[n], read and written, s: float32; x = x * s.
  kScale,
  // Parameters a: float32[n]; result float32[n] = (a + a) + a, by way of a workspace of n floats
  // and two phases.
  kTriple,
  // Parameter x: int32[n]; for the first negative element the error {code 1, value x[i], bound i},
  // once; error_table holds code 1.
  kCheck,
};

struct ConformanceDriver {
  std::string name;
  std::function<std::unique_ptr<device::Driver>()> make;
  std::function<v1::Artifact(ConformanceKernel kernel, int64_t n)> artifact;
  // What the driver reports itself as.
  friend std::ostream &operator<<(std::ostream &os, const ConformanceDriver &d) {
    return os << d.name;
  }
};

class DeviceConformanceTest : public testing::TestWithParam<ConformanceDriver> {
protected:
  void SetUp() override {
    driver = GetParam().make();
    ASSERT_NE(driver, nullptr);
    auto opened = driver->Open(0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device = *std::move(opened);
  }

  v1::Artifact Artifact(ConformanceKernel kernel, int64_t n) {
    return GetParam().artifact(kernel, n);
  }
  std::unique_ptr<device::Executable> Load(ConformanceKernel kernel, int64_t n) {
    auto loaded = device->Load(Artifact(kernel, n));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }
  template <typename T> std::unique_ptr<device::Buffer> Put(const std::vector<T> &values) {
    auto buffer = device->Allocate(static_cast<int64_t>(values.size() * sizeof(T)));
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_TRUE(device->CopyIn(**buffer, 0, std::as_bytes(std::span(values))).ok());
    return *std::move(buffer);
  }
  template <typename T> std::vector<T> Get(const device::Buffer &buffer) {
    std::vector<T> values(buffer.size_bytes() / sizeof(T));
    EXPECT_TRUE(device->CopyOut(buffer, 0, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }
  // A launch under the sanitizer, where the driver has one: it finds nothing.
  absl::StatusOr<device::LaunchOutcome> Watched(const device::Executable &executable,
                                                std::span<const device::LaunchArgument> arguments,
                                                std::span<device::Buffer *const> results) {
    auto outcome = device->Launch(executable, arguments, results, {.sanitize = true});
    if (outcome.ok() && !outcome->findings.empty())
      ADD_FAILURE() << outcome->findings[0].DebugString();
    return outcome;
  }
  static std::vector<float> Ramp(int64_t n, float start) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), start);
    return values;
  }
  // No driver may call these sizes special: empty, one element, less and more than a vector, odd,
  // more than a tile.
  static const std::vector<int64_t> &Sizes() {
    static const std::vector<int64_t> sizes = {0, 1, 7, 64, 1000, 100003};
    return sizes;
  }
  static absl::StatusCode CodeOf(const absl::StatusOr<device::LaunchOutcome> &outcome) {
    return outcome.status().code();
  }

  std::unique_ptr<device::Driver> driver;
  std::unique_ptr<device::Device> device;
};

TEST_P(DeviceConformanceTest, DevicesAreListedAndOpenedByOrdinal) {
  EXPECT_EQ(driver->name(), GetParam().name);
  const std::vector<v1::DeviceInfo> all = driver->Enumerate();
  ASSERT_FALSE(all.empty());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].ordinal(), i);
    EXPECT_EQ(all[i].driver(), driver->name());
    EXPECT_EQ(all[i].state(), v1::DEVICE_STATE_HEALTHY);
    EXPECT_GT(all[i].memory_bytes(), 0u);
    auto opened = driver->Open(static_cast<uint32_t>(i));
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ((*opened)->info().ordinal(), i);
  }
  EXPECT_EQ(driver->Open(static_cast<uint32_t>(all.size())).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(DeviceConformanceTest, CopiesReachExactlyTheirRange) {
  auto buffer = Put(std::vector<uint8_t>(100, 1));
  EXPECT_EQ(buffer->size_bytes(), 100);
  const std::vector<uint8_t> part = {7, 8, 9};
  ASSERT_TRUE(device->CopyIn(*buffer, 97, std::as_bytes(std::span(part))).ok());
  std::vector<uint8_t> expected(97, 1);
  expected.insert(expected.end(), part.begin(), part.end());
  EXPECT_EQ(Get<uint8_t>(*buffer), expected);
  std::vector<uint8_t> out(2);
  ASSERT_TRUE(device->CopyOut(*buffer, 96, std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 7}));
}

TEST_P(DeviceConformanceTest, CopiesPastTheEndAreOutOfRangeAndChangeNothing) {
  auto buffer = Put(std::vector<uint8_t>(16, 3));
  std::vector<uint8_t> bytes(8, 9);
  for (int64_t offset : {9, 16, 17, -1, 1 << 30}) {
    EXPECT_EQ(device->CopyIn(*buffer, offset, std::as_bytes(std::span(bytes))).code(),
              absl::StatusCode::kOutOfRange)
        << offset;
    EXPECT_EQ(device->CopyOut(*buffer, offset, std::as_writable_bytes(std::span(bytes))).code(),
              absl::StatusCode::kOutOfRange)
        << offset;
  }
  EXPECT_TRUE(device->CopyIn(*buffer, 16, {}).ok()) << "nothing fits at the end";
  EXPECT_EQ(Get<uint8_t>(*buffer), std::vector<uint8_t>(16, 3));
}

TEST_P(DeviceConformanceTest, MemoryIsFiniteAndComesBack) {
  auto too_much = device->Allocate(int64_t{1} << 60);
  EXPECT_EQ(too_much.status().code(), absl::StatusCode::kResourceExhausted);
  for (int i = 0; i < 100; ++i) {
    auto buffer = device->Allocate(int64_t{1} << 20);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
  }
  auto empty = device->Allocate(0);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ((*empty)->size_bytes(), 0);
}

TEST_P(DeviceConformanceTest, ResultsAreWhatTheKernelComputes) {
  for (int64_t n : Sizes()) {
    auto executable = Load(ConformanceKernel::kAdd, n);
    ASSERT_NE(executable, nullptr);
    EXPECT_EQ(executable->contract().parameters_size(), 2);
    auto a = Put(Ramp(n, 0.5f)), b = Put(Ramp(n, 100)), r = Put(std::vector<float>(n, -1));
    const std::vector<device::LaunchArgument> arguments = {{.buffer = a.get()},
                                                           {.buffer = b.get()}};
    device::Buffer *results[] = {r.get()};
    for (int run = 0; run < 2; ++run) { // a loaded executable runs again
      auto outcome = Watched(*executable, arguments, results);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_EQ(outcome->phases.size(), static_cast<size_t>(executable->contract().phases_size()));
      EXPECT_EQ(outcome->error_code, 0);
      EXPECT_GE(outcome->kernel_us, 0);
      std::vector<float> expected(n);
      for (int64_t i = 0; i < n; ++i)
        expected[i] = static_cast<float>(i) + 0.5f + (static_cast<float>(i) + 100);
      ASSERT_EQ(Get<float>(*r), expected) << n;
    }
    EXPECT_EQ(Get<float>(*a), Ramp(n, 0.5f)) << "an input is left alone";
  }
}

TEST_P(DeviceConformanceTest, ArgumentsAreWrittenInPlaceAndScalarsArrive) {
  for (int64_t n : Sizes()) {
    auto executable = Load(ConformanceKernel::kScale, n);
    ASSERT_NE(executable, nullptr);
    auto x = Put(Ramp(n, 1));
    const float s = -2.5f;
    uint32_t bits;
    std::memcpy(&bits, &s, 4);
    const std::vector<device::LaunchArgument> arguments = {{.buffer = x.get()},
                                                           {.scalar_bits = bits}};
    auto outcome = Watched(*executable, arguments, {});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    std::vector<float> expected = Ramp(n, 1);
    for (float &value : expected)
      value *= s;
    ASSERT_EQ(Get<float>(*x), expected) << n;
  }
}

TEST_P(DeviceConformanceTest, AWorkspaceLivesFromPhaseToPhase) {
  for (int64_t n : Sizes()) {
    auto executable = Load(ConformanceKernel::kTriple, n);
    ASSERT_NE(executable, nullptr);
    ASSERT_EQ(executable->contract().phases_size(), 2);
    auto a = Put(Ramp(n, 1)), r = Put(std::vector<float>(n, -1));
    const std::vector<device::LaunchArgument> arguments = {{.buffer = a.get()}};
    device::Buffer *results[] = {r.get()};
    auto outcome = Watched(*executable, arguments, results);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    std::vector<float> expected = Ramp(n, 1);
    for (float &value : expected)
      value *= 3;
    ASSERT_EQ(Get<float>(*r), expected) << n;
  }
}

TEST_P(DeviceConformanceTest, TheFirstRunTimeErrorIsReportedAndTheNextRunStartsClean) {
  auto executable = Load(ConformanceKernel::kCheck, 50);
  ASSERT_NE(executable, nullptr);
  std::vector<int32_t> values(50, 4);
  auto run = [&] {
    auto x = Put(values);
    const std::vector<device::LaunchArgument> arguments = {{.buffer = x.get()}};
    auto outcome = Watched(*executable, arguments, {});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return *std::move(outcome);
  };
  EXPECT_EQ(run().error_code, 0);
  values[17] = -5;
  values[33] = -6;
  const device::LaunchOutcome failed = run();
  EXPECT_EQ(failed.error_code, 1);
  EXPECT_EQ(failed.error_value, -5);
  EXPECT_EQ(failed.error_bound, 17);
  values[17] = values[33] = 0;
  EXPECT_EQ(run().error_code, 0);
}

TEST_P(DeviceConformanceTest, WrongCallsAreInvalidArguments) {
  auto executable = Load(ConformanceKernel::kAdd, 64);
  ASSERT_NE(executable, nullptr);
  auto a = Put(Ramp(64, 0)), b = Put(Ramp(64, 0)), r = Put(Ramp(64, 0)), odd = Put(Ramp(63, 0));
  using Arguments = std::vector<device::LaunchArgument>;
  const Arguments right = {{.buffer = a.get()}, {.buffer = b.get()}};
  device::Buffer *results[] = {r.get()};
  device::Buffer *wrong_size[] = {odd.get()};
  device::Buffer *an_input[] = {a.get()};
  device::Buffer *none[] = {nullptr};
  const std::vector<std::pair<Arguments, std::span<device::Buffer *const>>> wrong = {
      {{}, results},
      {{right[0]}, results},
      {{right[0], right[1], right[1]}, results},
      {{right[0], {.buffer = odd.get()}}, results},
      {{right[0], {.buffer = nullptr}}, results},
      {right, {}},
      {right, wrong_size},
      {right, none},
      {right, an_input}};
  for (size_t i = 0; i < wrong.size(); ++i)
    EXPECT_EQ(CodeOf(device->Launch(*executable, wrong[i].first, wrong[i].second, {})),
              absl::StatusCode::kInvalidArgument)
        << "call " << i;
  EXPECT_TRUE(device->Launch(*executable, right, results, {}).ok());
}

TEST_P(DeviceConformanceTest, AForeignOrDamagedArtifactIsRefused) {
  const v1::Artifact good = Artifact(ConformanceKernel::kAdd, 64);
  const std::vector<std::function<void(v1::Artifact &)>> changes = {
      [](v1::Artifact &a) { a.set_schema_version(99); },
      [](v1::Artifact &a) { a.clear_code(); },
      [](v1::Artifact &a) { a.mutable_launch()->set_schema_version(99); },
      [](v1::Artifact &a) { a.mutable_launch()->add_required_features("teleport"); },
      [](v1::Artifact &a) { a.mutable_launch()->mutable_phases(0)->set_entry("nowhere"); },
      [](v1::Artifact &a) { a.mutable_launch()->mutable_phases(0)->clear_blocks(); },
      [](v1::Artifact &a) {
        a.mutable_launch()->mutable_phases(0)->add_arguments()->set_parameter(77);
      }};
  for (size_t i = 0; i < changes.size(); ++i) {
    v1::Artifact damaged = good;
    changes[i](damaged);
    EXPECT_EQ(device->Load(damaged).status().code(), absl::StatusCode::kInvalidArgument)
        << "change " << i;
  }
  EXPECT_TRUE(device->Load(good).ok());
}

TEST_P(DeviceConformanceTest, AProfileDescribesEveryPhase) {
  auto executable = Load(ConformanceKernel::kTriple, 100003);
  ASSERT_NE(executable, nullptr);
  auto a = Put(Ramp(100003, 1)), r = Put(Ramp(100003, 1));
  const std::vector<device::LaunchArgument> arguments = {{.buffer = a.get()}};
  device::Buffer *results[] = {r.get()};
  auto outcome = device->Launch(*executable, arguments, results, {.profile = true});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_EQ(outcome->phases.size(), 2u);
  double sum = 0;
  for (const v1::PhaseProfile &phase : outcome->phases) {
    EXPECT_FALSE(phase.entry().empty());
    EXPECT_GE(phase.blocks(), 1);
    EXPECT_GT(phase.time_us(), 0);
    sum += phase.time_us();
  }
  EXPECT_GE(outcome->kernel_us * 1.0001, sum);
}

} // namespace pyasc::tests

#endif // PYASC_TESTS_CONFORMANCE_DEVICE_CONFORMANCE_H
