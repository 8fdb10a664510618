// From steps and plan to the compile report's estimates.

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "compiler/analysis/analyze.h"
#include "compiler/target/ascend/npu.h"

using namespace mlir;

namespace pyasc::compiler::analysis {
namespace {

// Where the plan runs the statements of a line.
struct Lowered {
  std::string unit;
  std::string reason;
};

using Place = std::pair<uint32_t, uint32_t>; // file, line

std::map<Place, Lowered> loweredByLine(ModuleOp plan) {
  std::map<Place, Lowered> result;
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
    // The first record of a line is the statement itself, later ones its casts and fills.
    result.try_emplace({file, line}, Lowered{record.getAs<StringAttr>("unit").str(),
                                             record.getAs<StringAttr>("reason").str()});
  }
  return result;
}

// One floating-point operation a lane and cycle.
double vectorPeakGflops(const machine::Soc &soc) {
  return soc.vector_cores * soc.vector_op("add").elements_per_cycle_b32 * soc.clock_ghz;
}

double cubePeakGflops(const machine::Soc &soc, int bits) {
  double k = bits <= 8 ? soc.cube.k_int8 : bits <= 16 ? soc.cube.k_fp16 : soc.cube.k_fp32;
  return soc.cube_cores * 2.0 * 16 * 16 * k * soc.clock_ghz;
}

// Microseconds of a step's arithmetic on its unit.
double computeTime(const Step &step, const std::string &unit, const machine::Soc &soc) {
  if (unit == "cube")
    return step.flops / cubePeakGflops(soc, step.contraction_bits) / 1e3;
  if (unit == "vector")
    return step.operations / vectorPeakGflops(soc) / 1e3;
  double cores = static_cast<double>(std::min<int64_t>(step.parallel_iterations, soc.vector_cores));
  return step.operations * soc.scalar.instruction_cycles / cores / soc.clock_ghz / 1e3;
}

void fillPlan(ModuleOp plan, const machine::Soc &soc, v1::CompileReport *report) {
  std::map<std::string, int64_t> onchip;
  for (auto phase : plan.getOps<func::FuncOp>()) {
    v1::PhasePlan *entry = report->add_phases();
    entry->set_entry(phase.getName().str());
    entry->set_core(phase->getAttrOfType<StringAttr>(npu::kCore).str());
    entry->set_blocks(phase->getAttrOfType<IntegerAttr>(npu::kBlocks).getInt());
    int64_t available = entry->core() == "aic" ? soc.cube_cores : soc.vector_cores;
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

void addBottlenecks(v1::CompileReport *report) {
  std::vector<const v1::LoweredStatement *> order;
  double total = 0;
  auto time = [](const v1::LoweredStatement &statement) {
    return std::max(statement.compute_time_us(), statement.memory_time_us());
  };
  for (const v1::LoweredStatement &statement : report->statements()) {
    order.push_back(&statement);
    total += time(statement);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto *a, const auto *b) { return time(*a) > time(*b); });
  for (size_t i = 0; i < order.size() && i < 3 && total > 0; ++i) {
    const v1::LoweredStatement &statement = *order[i];
    double share = time(statement) / total;
    if (share < 0.05)
      break;
    bool memory = statement.memory_time_us() > statement.compute_time_us();
    report->add_bottlenecks(absl::StrFormat(
        "line %d: %s on the %s unit, bound by %s: %.1f us, %.0f %% of the estimate%s%s",
        statement.range().line(), statement.what(), statement.unit(), memory ? "memory" : "compute",
        time(statement), 100 * share, statement.reason().empty() ? "" : "; ", statement.reason()));
  }
}

} // namespace

void FillEstimates(const std::vector<Step> &steps, ModuleOp plan, const machine::Soc *soc,
                   v1::CompileReport *report) {
  std::map<Place, Lowered> lowered = loweredByLine(plan);
  report->set_exact(true);
  double slowest = 0;
  for (const Step &step : steps) {
    v1::LoweredStatement *statement = report->add_statements();
    statement->mutable_range()->set_file(step.file);
    statement->mutable_range()->set_line(step.line);
    statement->set_what(step.what);
    statement->set_reason(step.reason);
    statement->set_unit(soc ? "vector" : "cpu");
    if (auto found = lowered.find({step.file, step.line}); found != lowered.end()) {
      statement->set_unit(found->second.unit);
      if (step.reason.empty() || found->second.unit != "scalar")
        statement->set_reason(found->second.reason);
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
    statement->set_compute_time_us(computeTime(step, statement->unit(), *soc));
    // 1 GB/s moves 1e3 bytes a microsecond.
    statement->set_memory_time_us((step.read_bytes / soc->gm.hbm_read_gb_per_s +
                                   step.write_bytes / soc->gm.hbm_write_gb_per_s) /
                                  1e3);
    double time = std::max(statement->compute_time_us(), statement->memory_time_us());
    report->set_estimated_time_us(report->estimated_time_us() + time);
    if (time >= slowest) {
      slowest = time;
      report->set_parallel_iterations(step.parallel_iterations);
      report->set_peak_gflops(statement->unit() == "cube"
                                  ? cubePeakGflops(*soc, step.contraction_bits)
                                  : vectorPeakGflops(*soc));
    }
  }
  if (!soc)
    return;
  report->set_peak_bandwidth_gb_per_s(soc->gm.hbm_read_gb_per_s);
  if (report->estimated_time_us() > 0) {
    report->set_estimated_gflops(report->flops() / report->estimated_time_us() / 1e3);
    report->set_estimated_bandwidth_gb_per_s((report->gm_read_bytes() + report->gm_write_bytes()) /
                                             report->estimated_time_us() / 1e3);
  }
  if (plan)
    fillPlan(plan, *soc, report);
  addBottlenecks(report);
}

} // namespace pyasc::compiler::analysis
