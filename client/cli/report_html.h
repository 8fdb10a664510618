// The report as one HTML page that needs nothing else: styles and charts are inside.
#ifndef PYASC_CLIENT_CLI_REPORT_HTML_H
#define PYASC_CLIENT_CLI_REPORT_HTML_H

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pyasc/v1/report.pb.h"

namespace pyasc::cli {

// A source file for the heat map, in the order of CompileRequest.files.
struct ReportSource {
  std::string path;
  std::string content;
};

// Everything of the text report and besides: all phases, all paths, the time of each core, the
// roofline chart, the source with the time of each line, the compiler's statements, and the
// report's JSON in a <script type="application/json"> for tools.
std::string ReportHtml(const v1::ProfileReport &report, const std::vector<ReportSource> &sources);

// "&lt;" for "<" and so on.
std::string HtmlEscape(absl::string_view text);

} // namespace pyasc::cli

#endif // PYASC_CLIENT_CLI_REPORT_HTML_H
