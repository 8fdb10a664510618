#include "client/cli/diagnostics_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace pyasc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Diagnostics Parse(const std::string &text) {
  Diagnostics diagnostics;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, diagnostics.Add()));
  return diagnostics;
}

TEST(DiagnosticsTextTest, TheCaretStandsBelowTheRange) {
  EXPECT_EQ(RenderDiagnostics(Parse(R"(severity: SEVERITY_WARNING message: "slow" code: "slow-loop"
                                       range { line: 12 column: 5 end_line: 12 end_column: 8 }
                                       source_line: "    abc = 1")"),
                              {"k.py"}, false),
            "k.py:12:5: warning: slow [slow-loop]\n"
            "   12 |     abc = 1\n"
            "      |     ^~~\n"
            "1 warning generated.\n");
}

TEST(DiagnosticsTextTest, ColumnsCountCodePointsTabsAndWideLetters) {
  std::string text = RenderDiagnostics(
      Parse("severity: SEVERITY_ERROR message: \"m\" source_line: \"\\té = '漢字' + x\" "
            "range { line: 1 column: 6 end_line: 1 end_column: 10 }"),
      {"k.py"}, false);
  EXPECT_THAT(text, HasSubstr("      | \t    ^~~~~~\n"));
  text = RenderDiagnostics(
      Parse("severity: SEVERITY_ERROR message: \"m\" source_line: \"é = '漢字' + x\" "
            "range { line: 1 column: 12 end_line: 1 end_column: 13 }"),
      {"k.py"}, false);
  EXPECT_THAT(text, HasSubstr("      |              ^\n"));
}

TEST(DiagnosticsTextTest, ARangeOverSeveralLinesIsDrawnToTheEndOfTheFirst) {
  EXPECT_THAT(RenderDiagnostics(Parse(R"(message: "m" source_line: "foo(a,"
                                         range { line: 1 column: 4 end_line: 3 end_column: 2 })"),
                                {"k.py"}, false),
              HasSubstr("      |    ^~~\n"));
}

TEST(DiagnosticsTextTest, AColumnBehindTheTextStillHasACaret) {
  EXPECT_THAT(RenderDiagnostics(Parse(R"(message: "m" source_line: "ab"
                                         range { line: 1 column: 5 end_line: 1 end_column: 5 })"),
                                {"k.py"}, false),
              HasSubstr("      |     ^\n"));
}

TEST(DiagnosticsTextTest, NotesAndFixItsFollow) {
  std::string text = RenderDiagnostics(
      Parse(R"(severity: SEVERITY_ERROR message: "unknown name 'flaot32'" source_line: "x: flaot32"
               range { line: 1 column: 4 end_line: 1 end_column: 11 }
               fixits { range { line: 1 column: 4 end_line: 1 end_column: 11 } replacement: "float32" }
               notes { severity: SEVERITY_NOTE message: "see here" range { file: 1 line: 2 column: 1 } })"),
      {"k.py", "helpers.py"}, false);
  EXPECT_THAT(text, HasSubstr("      |    ^~~~~~~\n      |    float32\n"
                              "helpers.py:2:1: note: see here\n1 error generated.\n"));
}

TEST(DiagnosticsTextTest, ColoursComeOnlyWhenAskedForAndControlCharactersNever) {
  Diagnostics diagnostics = Parse(R"(message: "bad \x1b[31m text" source_line: "a\x1b[2Jb"
                                     range { line: 1 column: 1 })");
  EXPECT_THAT(RenderDiagnostics(diagnostics, {"k.py"}, false), Not(HasSubstr("\x1b")));
  std::string colored = RenderDiagnostics(diagnostics, {"k.py"}, true);
  EXPECT_THAT(colored, HasSubstr("\x1b[1;31merror"));
  EXPECT_THAT(colored, Not(HasSubstr("\x1b[2J")));
}

TEST(DiagnosticsTextTest, WithoutAPositionTheFileIsStillNamed) {
  EXPECT_EQ(
      RenderDiagnostics(Parse("severity: SEVERITY_ERROR message: \"no kernel\""), {"k.py"}, false),
      "k.py: error: no kernel\n1 error generated.\n");
}

TEST(DiagnosticsTextTest, JsonStringsAreEscaped) {
  EXPECT_EQ(JsonString("a\"b\\\n\x01é"), "\"a\\\"b\\\\\\u000a\\u0001é\"");
}

} // namespace
} // namespace pyasc::cli
