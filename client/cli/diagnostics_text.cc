#include "client/cli/diagnostics_text.h"

#include <algorithm>
#include <map>

#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace pyasc::cli {
namespace {

struct Palette {
  const char *bold = "", *error = "", *warning = "", *note = "", *green = "", *reset = "";
};
constexpr Palette kColors = {"\x1b[1m",    "\x1b[1;31m", "\x1b[1;35m",
                             "\x1b[1;36m", "\x1b[1;32m", "\x1b[0m"};

absl::string_view SeverityName(v1::Severity severity) {
  switch (severity) {
  case v1::SEVERITY_WARNING:
    return "warning";
  case v1::SEVERITY_NOTE:
    return "note";
  default:
    return "error";
  }
}

std::string PathOf(const v1::SourceRange &range, const std::vector<std::string> &paths) {
  return range.file() < paths.size() ? paths[range.file()]
                                     : absl::StrCat("<file ", range.file(), ">");
}

// Takes one UTF-8 code point off the front; an invalid byte counts as one.
absl::string_view TakeCodePoint(absl::string_view *text) {
  size_t n = 1;
  while (n < text->size() && n < 4 && (static_cast<unsigned char>((*text)[n]) & 0xc0) == 0x80)
    ++n;
  absl::string_view point = text->substr(0, n);
  text->remove_prefix(n);
  return point;
}

// Terminal columns of a code point: East Asian wide ones take two.
int DisplayWidth(absl::string_view point) {
  if (point.size() < 3)
    return 1;
  uint32_t code = static_cast<unsigned char>(point[0]) & (point.size() == 3 ? 0x0f : 0x07);
  for (char c : point.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
              (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
              (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
              (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) ||
              (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

// Spaces as wide as the first `columns` code points, tabs kept so that they line up.
std::string Indent(absl::string_view line, uint32_t columns) {
  std::string indent;
  for (uint32_t i = 0; i < columns; ++i) {
    if (line.empty()) {
      indent += ' ';
      continue;
    }
    absl::string_view point = TakeCodePoint(&line);
    if (point == "\t")
      indent += '\t';
    else
      indent.append(DisplayWidth(point), ' ');
  }
  return indent;
}

// The source is shown, never obeyed: control characters would reach the terminal.
std::string Printable(absl::string_view line) {
  std::string text(line);
  for (char &c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f)
      c = '?';
  return text;
}

std::string Underline(const v1::SourceRange &range, absl::string_view line) {
  uint32_t begin = range.column() ? range.column() - 1 : 0;
  absl::string_view rest = line;
  for (uint32_t i = 0; i < begin && !rest.empty(); ++i)
    TakeCodePoint(&rest);
  uint32_t end = begin + 1;
  if (range.end_line() == range.line() && range.end_column() > range.column())
    end = range.end_column() - 1;
  else if (range.end_line() > range.line())
    end = ~0u;
  std::string marks = "^";
  for (uint32_t i = begin; i < end && !rest.empty(); ++i) {
    int width = DisplayWidth(TakeCodePoint(&rest));
    marks.append(i == begin ? width - 1 : width, '~');
  }
  return Indent(line, begin) + marks;
}

void Render(const v1::Diagnostic &diagnostic, const std::vector<std::string> &paths,
            const Palette &palette, std::string *out) {
  const v1::SourceRange &range = diagnostic.range();
  std::string position;
  if (range.line()) {
    position = absl::StrCat(PathOf(range, paths), ":", range.line(), ":");
    if (range.column())
      absl::StrAppend(&position, range.column(), ":");
    position += " ";
  } else if (diagnostic.severity() != v1::SEVERITY_NOTE && !paths.empty()) {
    position = absl::StrCat(PathOf(range, paths), ": ");
  }
  const char *color = diagnostic.severity() == v1::SEVERITY_WARNING ? palette.warning
                      : diagnostic.severity() == v1::SEVERITY_NOTE  ? palette.note
                                                                    : palette.error;
  absl::StrAppend(out, palette.bold, position, palette.reset, color,
                  std::string(SeverityName(diagnostic.severity())), ": ", palette.reset,
                  palette.bold, Printable(diagnostic.message()), palette.reset);
  if (!diagnostic.code().empty())
    absl::StrAppend(out, " [", diagnostic.code(), "]");
  *out += '\n';
  if (range.line() && !diagnostic.source_line().empty()) {
    std::string line = Printable(diagnostic.source_line());
    absl::StrAppend(out, absl::StrFormat("%5d | ", range.line()), line, "\n");
    if (range.column())
      absl::StrAppend(out, "      | ", palette.green, Underline(range, line), palette.reset, "\n");
    for (const v1::FixIt &fixit : diagnostic.fixits()) {
      // Others cannot be drawn below this line.
      if (fixit.range().line() != range.line() ||
          fixit.replacement().find('\n') != std::string::npos)
        continue;
      uint32_t begin = fixit.range().column() ? fixit.range().column() - 1 : 0;
      absl::StrAppend(out, "      | ", Indent(line, begin), palette.green,
                      Printable(fixit.replacement()), palette.reset, "\n");
    }
  }
  for (const v1::Diagnostic &note : diagnostic.notes())
    Render(note, paths, palette, out);
}

// A path as a URI reference, as SARIF wants it.
std::string Uri(absl::string_view path) {
  std::string uri;
  for (char c : path) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._~/", absl::string_view(&c, 1)))
      uri += c;
    else
      absl::StrAppend(&uri, absl::StrFormat("%%%02X", static_cast<unsigned char>(c)));
  }
  return uri;
}

std::string SarifArtifact(const v1::SourceRange &range, const std::vector<std::string> &paths) {
  return absl::StrCat("{\"uri\":", JsonString(Uri(PathOf(range, paths))), "}");
}

// "" without a position.
std::string SarifRegion(const v1::SourceRange &range) {
  if (!range.line())
    return "";
  std::string region = absl::StrCat("{\"startLine\":", range.line());
  if (range.column())
    absl::StrAppend(&region, ",\"startColumn\":", range.column());
  if (range.end_line())
    absl::StrAppend(&region, ",\"endLine\":", range.end_line());
  if (range.end_column())
    absl::StrAppend(&region, ",\"endColumn\":", range.end_column());
  return region + "}";
}

std::string SarifLocation(const v1::SourceRange &range, const std::vector<std::string> &paths,
                          absl::string_view message = "") {
  std::string region = SarifRegion(range);
  return absl::StrCat(
      "{\"physicalLocation\":{\"artifactLocation\":", SarifArtifact(range, paths),
      region.empty() ? "" : ",\"region\":" + region, "}",
      message.empty() ? "" : absl::StrCat(",\"message\":{\"text\":", JsonString(message), "}"),
      "}");
}

std::string SarifFix(const v1::FixIt &fix, const std::vector<std::string> &paths) {
  return absl::StrCat(
      "{\"description\":{\"text\":",
      JsonString(fix.replacement().empty() ? "remove it" : "write: " + fix.replacement()),
      "},\"artifactChanges\":[{\"artifactLocation\":", SarifArtifact(fix.range(), paths),
      ",\"replacements\":[{\"deletedRegion\":", SarifRegion(fix.range()),
      ",\"insertedContent\":{\"text\":", JsonString(fix.replacement()), "}}]}]}");
}

} // namespace

std::string RenderDiagnostics(const Diagnostics &diagnostics, const std::vector<std::string> &paths,
                              bool color, bool with_counts) {
  std::string out;
  int errors = 0, warnings = 0;
  for (const v1::Diagnostic &diagnostic : diagnostics) {
    Render(diagnostic, paths, color ? kColors : Palette{}, &out);
    warnings += diagnostic.severity() == v1::SEVERITY_WARNING;
  }
  if (!with_counts)
    return out;
  errors = CountErrors(diagnostics);
  std::vector<std::string> counts;
  if (warnings)
    counts.push_back(absl::StrCat(warnings, warnings == 1 ? " warning" : " warnings"));
  if (errors)
    counts.push_back(absl::StrCat(errors, errors == 1 ? " error" : " errors"));
  if (!counts.empty())
    absl::StrAppend(&out, absl::StrJoin(counts, " and "), " generated.\n");
  return out;
}

int CountErrors(const Diagnostics &diagnostics) {
  return std::count_if(diagnostics.begin(), diagnostics.end(), [](const v1::Diagnostic &d) {
    return d.severity() == v1::SEVERITY_ERROR || d.severity() == v1::SEVERITY_UNSPECIFIED;
  });
}

std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      absl::StrAppend(&out, "\\", std::string(1, c));
    else if (static_cast<unsigned char>(c) < 0x20)
      absl::StrAppend(&out, absl::StrFormat("\\u%04x", static_cast<unsigned>(c)));
    else
      out += c;
  }
  return out + "\"";
}

std::string DiagnosticsJson(const Diagnostics &diagnostics, const std::vector<std::string> &paths) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::vector<std::string> items;
  for (const v1::Diagnostic &diagnostic : diagnostics) {
    std::string json;
    // Fails for no message of our own schema.
    (void)google::protobuf::util::MessageToJsonString(diagnostic, &json, options);
    items.push_back(json);
  }
  std::vector<std::string> files;
  for (const std::string &path : paths)
    files.push_back(JsonString(path));
  return absl::StrCat("{\"files\":[", absl::StrJoin(files, ","), "],\"diagnostics\":[",
                      absl::StrJoin(items, ","), "]}\n");
}

std::string DiagnosticsSarif(const Diagnostics &diagnostics, const std::vector<std::string> &paths,
                             absl::string_view version) {
  std::vector<std::string> results, rules;
  std::map<std::string, size_t> rule_index;
  for (const v1::Diagnostic &diagnostic : diagnostics) {
    auto [rule, fresh] = rule_index.try_emplace(diagnostic.code(), rules.size());
    if (fresh)
      rules.push_back(absl::StrCat("{\"id\":", JsonString(diagnostic.code()), "}"));
    std::vector<std::string> related, fixes;
    for (const v1::Diagnostic &note : diagnostic.notes())
      related.push_back(SarifLocation(note.range(), paths, note.message()));
    for (const v1::FixIt &fix : diagnostic.fixits())
      if (fix.range().line())
        fixes.push_back(SarifFix(fix, paths));
    results.push_back(absl::StrCat(
        "{\"ruleId\":", JsonString(diagnostic.code()), ",\"ruleIndex\":", rule->second,
        ",\"level\":", JsonString(SeverityName(diagnostic.severity())),
        ",\"message\":{\"text\":", JsonString(diagnostic.message()), "},\"locations\":[",
        SarifLocation(diagnostic.range(), paths), "]",
        related.empty() ? "" : ",\"relatedLocations\":[" + absl::StrJoin(related, ",") + "]",
        fixes.empty() ? "" : ",\"fixes\":[" + absl::StrJoin(fixes, ",") + "]", "}"));
  }
  return absl::StrCat(
      "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
      "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"pyasc\",\"version\":",
      JsonString(version), ",\"rules\":[", absl::StrJoin(rules, ","),
      "]}},\"columnKind\":\"unicodeCodePoints\",\"results\":[", absl::StrJoin(results, ",\n"),
      "]}]}\n");
}

} // namespace pyasc::cli
