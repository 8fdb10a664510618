// Reports for the terminal.
#ifndef PYASC_CLIENT_CLI_REPORT_TEXT_H
#define PYASC_CLIENT_CLI_REPORT_TEXT_H

#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/execution.pb.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::cli {

// What a run has shown, in at most 40 lines: verdict and advice, trust, launch, time, pipes,
// memory, rooflines. What was not measured is left out, never shown as zero. `paths` as in
// RenderDiagnostics.
std::string ReportText(const v1::ProfileReport &report, const std::vector<std::string> &paths);

// What the compiler foretells: throughput, bandwidth, parallelism, each statement's unit and why,
// stage times, bottlenecks.
std::string CompileReportText(const v1::Artifact &artifact, const std::vector<std::string> &paths);

// The time of the phases together: of those that run at the same time the longest counts.
struct PhasesTime {
  double us = 0;
  int together = 0; // how often two run at the same time
};
PhasesTime TimeOfPhases(const v1::ProfileReport &report);

// JSON with the schema's field names; a numeric field that is zero is written, one that was not
// measured is absent.
// Every field, by its name in the proto files.
std::string MessageJson(const google::protobuf::Message &message);
std::string ReportJson(const v1::ProfileReport &report);
std::string CompileReportJson(const v1::CompileReport &report);
// What the sanitizer found, as {"findings": [...]}; "" where it found nothing.
std::string FindingsJson(const v1::RunDone &done);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_REPORT_TEXT_H
