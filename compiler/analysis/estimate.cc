// From steps and plan to the compile report's estimates.

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_format.h"
#include "compiler/analysis/analyze.h"
#include "compiler/target/ascend/npu.h"

using namespace mlir;

namespace pyasc::compiler::analysis {
namespace {

// Where the plan runs the statements of a line.
struct Lowered {
  std::string unit;
  std::string what;
  std::string reason;
  int64_t cores = 0;
  std::string cores_reason;
};

using Place = std::pair<uint32_t, uint32_t>; // file, line

struct Records {
  std::map<int64_t, Lowered> of_step;
  // For steps that became part of another one, a cast or a fill: the last of their line.
  std::map<Place, Lowered> of_line;
};

Records lowerings(ModuleOp plan) {
  Records result;
  if (!plan)
    return result;
  auto records = plan->getAttrOfType<ArrayAttr>(npu::kLowered);
  if (!records)
    return result;
  for (Attribute attribute : records) {
    auto record = cast<DictionaryAttr>(attribute);
    uint32_t file = 0;
    record.getAs<StringAttr>("file").getValue().getAsInteger(10, file);
    auto line = static_cast<uint32_t>(record.getAs<IntegerAttr>("line").getInt());
    Lowered lowered{record.getAs<StringAttr>("unit").str(), record.getAs<StringAttr>("what").str(),
                    record.getAs<StringAttr>("reason").str(), 0, ""};
    if (auto cores = record.getAs<IntegerAttr>("cores")) {
      lowered.cores = cores.getInt();
      lowered.cores_reason = record.getAs<StringAttr>("cores_reason").str();
    }
    if (int64_t step = record.getAs<IntegerAttr>("step").getInt(); step >= 0)
      result.of_step.try_emplace(step, lowered);
    result.of_line[{file, line}] = std::move(lowered);
  }
  return result;
}

// One operation a lane and cycle: microseconds of so many, of which `narrow` are on 16-bit lanes.
double vectorTime(double operations, double narrow, const machine::Soc &soc) {
  const machine::VectorCost &cost = soc.vector_op("add");
  return ((operations - narrow) / cost.elements_per_cycle_b32 +
          narrow / cost.elements_per_cycle_b16) /
         (soc.vector_cores * soc.clock_ghz) / 1e3;
}

double cubePeakGflops(const machine::Soc &soc, int bits) {
  double k = bits <= 8 ? soc.cube.k_int8 : bits <= 16 ? soc.cube.k_fp16 : soc.cube.k_fp32;
  return soc.cube_cores * 2.0 * 16 * 16 * k * soc.clock_ghz;
}

// Microseconds of a step's arithmetic on its unit.
double computeTime(const Step &step, const std::string &unit, int64_t cores,
                   const machine::Soc &soc) {
  if (unit == "cube")
    return step.flops / cubePeakGflops(soc, step.contraction_bits) / 1e3;
  if (unit == "transfer")
    return 0;
  if (unit == "vector")
    return vectorTime(step.operations, step.narrow_operations, soc);
  return soc.cycles_to_us(step.scalar.Cycles(soc)) /
         static_cast<double>(std::max<int64_t>(cores, 1));
}

// What each unit has to do, and with it the compute roof.
void fillUnits(const std::vector<Step> &steps, const machine::Soc &soc, v1::CompileReport *report) {
  for (const char *unit : {"cube", "vector", "scalar"}) {
    double flops = 0, least = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (report->statements(static_cast<int>(i)).unit() != unit)
        continue;
      flops += steps[i].flops;
      // A cube statement that is no contraction rides on one.
      least += steps[i].contraction && std::string_view(unit) == "cube"
                   ? steps[i].flops / cubePeakGflops(soc, steps[i].contraction_bits) / 1e3
               : std::string_view(unit) == "cube"
                   ? 0
                   : vectorTime(steps[i].flops, steps[i].narrow_flops, soc);
    }
    if (flops <= 0 || least <= 0)
      continue;
    v1::UnitWork *work = report->add_units();
    work->set_unit(unit);
    work->set_flops(flops);
    work->set_peak_gflops(flops / least / 1e3);
    work->set_least_us(least);
  }
  double least = 0;
  for (const v1::UnitWork &work : report->units())
    least = std::max(least, work.least_us());
  // Without operations no peak binds; the vector unit's is as good as any.
  report->set_peak_gflops(least > 0 ? report->flops() / least / 1e3
                                    : 1 / vectorTime(1, 0, soc) / 1e3);
}

double launchTime(int64_t blocks, int64_t cores, const machine::Soc &soc) {
  double share = std::min(1.0, static_cast<double>(blocks) / static_cast<double>(cores));
  return soc.launch.head_us + (soc.launch.full_head_us - soc.launch.head_us) * share;
}

void fillPlan(ModuleOp plan, const machine::Soc &soc, v1::CompileReport *report) {
  std::map<std::string, int64_t> onchip;
  for (auto phase : plan.getOps<func::FuncOp>()) {
    v1::PhasePlan *entry = report->add_phases();
    entry->set_entry(phase.getName().str());
    entry->set_core(phase->getAttrOfType<StringAttr>(npu::kCore).str());
    entry->set_blocks(phase->getAttrOfType<IntegerAttr>(npu::kBlocks).getInt());
    std::set<Place> lines;
    if (auto numbers = phase->getAttrOfType<ArrayAttr>(npu::kSteps))
      for (auto number : numbers.getAsRange<IntegerAttr>()) {
        if (number.getInt() >= report->statements_size())
          continue;
        entry->add_statements(static_cast<uint32_t>(number.getInt()));
        const v1::SourceRange &range =
            report->statements(static_cast<int>(number.getInt())).range();
        if (range.line() > 0 && lines.emplace(range.file(), range.line()).second)
          *entry->add_lines() = range;
      }
    int64_t available = entry->core() == "aic" ? soc.cube_cores : soc.vector_cores;
    int64_t launches = 1;
    if (auto rounds = phase->getAttrOfType<ArrayAttr>(npu::kRounds)) {
      launches = cast<IntegerAttr>(rounds[2]).getInt();
      entry->set_launches(launches);
    }
    report->set_estimated_launch_us(report->estimated_launch_us() +
                                    static_cast<double>(launches) *
                                        launchTime(entry->blocks(), available, soc));
    if (entry->blocks() * std::max<int64_t>(report->cores_available(), 1) >
            report->cores_used() * available ||
        report->cores_used() == 0) {
      report->set_cores_used(std::min(entry->blocks(), available));
      report->set_cores_available(available);
    }
    std::map<std::string, int64_t> used;
    phase.walk([&](npu::BufferOp buffer) {
      used[stringifySpace(buffer.getSpace()).str()] += buffer.totalBytes();
    });
    for (auto [space, bytes] : used)
      onchip[space] = std::max(onchip[space], bytes);
  }
  for (auto [space, bytes] : onchip)
    (*report->mutable_onchip_bytes())[space] = bytes;
}

// The statements that take most of the estimate, and the launches where these do.
void addBottlenecks(v1::CompileReport *report) {
  constexpr double kWorthwhile = 0.05;
  constexpr int kMost = 3;
  double total = report->estimated_time_us();
  auto time = [](const v1::LoweredStatement &statement) {
    return std::max(statement.compute_time_us(), statement.memory_time_us());
  };
  // Statements of a line that are lowered alike are one.
  std::vector<std::pair<std::string, double>> all;
  for (const v1::LoweredStatement &statement : report->statements()) {
    const bool moves = statement.unit() == "transfer";
    std::string text = absl::StrFormat("line %d: %s", statement.range().line(), statement.what());
    text += moves ? " by DMA" : " on the " + statement.unit() + " unit";
    if (statement.unit() != "scalar" && !moves)
      text += statement.memory_time_us() > statement.compute_time_us() ? ", bound by memory"
                                                                       : ", bound by compute";
    if (!statement.reason().empty())
      text += "; " + statement.reason();
    auto known = llvm::find_if(all, [&](const auto &entry) { return entry.first == text; });
    if (known != all.end())
      known->second += time(statement);
    else
      all.emplace_back(std::move(text), time(statement));
  }
  int64_t launches = 0;
  for (const v1::PhasePlan &phase : report->phases())
    launches += std::max<int64_t>(phase.launches(), 1);
  all.emplace_back(
      launches == 1 ? "the launch"
      : launches == report->phases_size()
          ? absl::StrFormat("the launches of %d phases", report->phases_size())
          : absl::StrFormat("%d launches, of %d phases", launches, report->phases_size()),
      report->estimated_launch_us());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  for (const auto &[text, us] : all)
    if (total > 0 && us / total >= kWorthwhile && report->bottlenecks_size() < kMost)
      report->add_bottlenecks(
          absl::StrFormat("%.1f us, %.0f %% of the estimate: %s", us, 100 * us / total, text));
}

} // namespace

void FillEstimates(const std::vector<Step> &steps, ModuleOp plan, const machine::Soc *soc,
                   v1::CompileReport *report) {
  const Records lowered = lowerings(plan);
  report->set_exact(true);
  double slowest = 0;
  for (const Step &step : steps) {
    v1::LoweredStatement *statement = report->add_statements();
    statement->mutable_range()->set_file(step.file);
    statement->mutable_range()->set_line(step.line);
    statement->mutable_range()->set_end_line(step.end_line);
    statement->set_what(step.what);
    statement->set_reason(step.reason);
    statement->set_unit(soc ? "vector" : "cpu");
    auto own = lowered.of_step.find(report->statements_size() - 1);
    auto near = lowered.of_line.find({step.file, step.line});
    if (own != lowered.of_step.end() || near != lowered.of_line.end()) {
      const Lowered &record = own != lowered.of_step.end() ? own->second : near->second;
      statement->set_unit(record.unit);
      if (own != lowered.of_step.end() && record.unit != "scalar" && step.what == "loop")
        statement->set_what(record.what); // its rounds
      if (step.reason.empty() || record.unit != "scalar")
        statement->set_reason(record.reason);
      if (record.unit == "scalar" || record.unit == "transfer") {
        statement->set_cores(record.cores);
        statement->set_cores_reason(record.cores_reason);
      }
    }
    report->set_flops(report->flops() + step.flops);
    report->set_gm_read_bytes(report->gm_read_bytes() + step.read_bytes);
    report->set_gm_write_bytes(report->gm_write_bytes() + step.write_bytes);
    report->set_exact(report->exact() && step.exact);
    if (!soc) {
      report->set_parallel_iterations(
          std::max(report->parallel_iterations(), step.parallel_iterations));
      continue;
    }
    statement->set_compute_time_us(computeTime(step, statement->unit(), statement->cores(), *soc));
    // 1 GB/s moves 1e3 bytes a microsecond. The scalar unit's misses are in its cycles.
    if (statement->unit() != "scalar")
      statement->set_memory_time_us((step.read_bytes / soc->gm.hbm_read_gb_per_s +
                                     step.write_bytes / soc->gm.hbm_write_gb_per_s) /
                                    1e3);
    double time = std::max(statement->compute_time_us(), statement->memory_time_us());
    report->set_estimated_time_us(report->estimated_time_us() + time);
    if (time >= slowest) {
      slowest = time;
      report->set_parallel_iterations(step.parallel_iterations);
    }
  }
  if (!soc)
    return;
  fillUnits(steps, *soc, report);
  report->set_peak_bandwidth_gb_per_s(soc->gm.hbm_read_gb_per_s);
  if (plan)
    fillPlan(plan, *soc, report);
  report->set_estimated_time_us(report->estimated_time_us() + report->estimated_launch_us());
  if (report->estimated_time_us() > 0) {
    report->set_estimated_gflops(report->flops() / report->estimated_time_us() / 1e3);
    report->set_estimated_bandwidth_gb_per_s((report->gm_read_bytes() + report->gm_write_bytes()) /
                                             report->estimated_time_us() / 1e3);
  }
  addBottlenecks(report);
}

} // namespace pyasc::compiler::analysis
