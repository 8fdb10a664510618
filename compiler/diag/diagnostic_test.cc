#include "compiler/diag/diagnostic.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "compiler/diag/render_text.h"

namespace pyasc::diag {
namespace {

using ::testing::ElementsAre;

SourceRange Range(uint32_t line, uint32_t column, uint32_t end_column, uint32_t file = 0) {
  return {file, line, column, line, end_column};
}

std::vector<std::string> Codes(DiagnosticList &diags) {
  std::vector<std::string> codes;
  for (const v1::Diagnostic &d : diags.Take())
    codes.push_back(d.code());
  return codes;
}

TEST(DiagnosticListTest, TakesBySourcePositionAndThoseWithoutOneLast) {
  DiagnosticList diags;
  diags.Error("nowhere", {}, "m");
  diags.Error("other-file", Range(1, 1, 2, 1), "m");
  diags.Warning("second", Range(2, 1, 2), "m");
  diags.Error("third", Range(2, 5, 6), "m");
  diags.Error("fourth", Range(2, 5, 6), "m");
  diags.Error("first", Range(1, 9, 10), "m");
  EXPECT_THAT(Codes(diags),
              ElementsAre("first", "second", "third", "fourth", "other-file", "nowhere"));
  EXPECT_TRUE(diags.Empty());
  EXPECT_TRUE(diags.HasErrors());
}

TEST(DiagnosticListTest, DropsRepetitionsButNotTheirVariants) {
  DiagnosticList diags;
  EXPECT_TRUE(static_cast<bool>(diags.Error("a", Range(1, 1, 2), "m")));
  EXPECT_FALSE(static_cast<bool>(diags.Error("a", Range(1, 1, 2), "m").Note("dropped, too")));
  diags.Warning("a", Range(1, 1, 2), "m");
  diags.Error("a", Range(1, 1, 2), "n");
  diags.Error("a", Range(1, 1, 3), "m");
  EXPECT_EQ(diags.ErrorCount(), 3u);
  EXPECT_EQ(diags.WarningCount(), 1u);
  EXPECT_EQ(diags.Take().size(), 4u);
}

TEST(DiagnosticListTest, SaysHowManyErrorsAreBeyondTheLimit) {
  DiagnosticList diags({.max_errors = 2});
  for (uint32_t line = 1; line <= 5; ++line) {
    diags.Error("e", Range(line, 1, 2), "m");
    diags.Warning("w", Range(line, 1, 2), "m");
  }
  EXPECT_EQ(diags.ErrorCount(), 5u);
  std::vector<v1::Diagnostic> taken = diags.Take();
  ASSERT_EQ(taken.size(), 5u);
  EXPECT_EQ(taken[4].code(), "too-many-errors");
  EXPECT_EQ(taken[4].message(), "6 further diagnostics are not shown");
}

TEST(DiagnosticListTest, RemarksAreNoErrors) {
  DiagnosticList diags;
  diags.Remark("r", Range(1, 1, 2), "m");
  EXPECT_FALSE(diags.HasErrors());
  EXPECT_FALSE(diags.Empty());
}

TEST(DiagnosticListTest, FindsSourceLinesWhateverEndsThem) {
  DiagnosticList diags;
  diags.AddSource(0,
                  "\xEF\xBB\xBF"
                  "one\r\ntwo\rthree\n\nfive",
                  10);
  EXPECT_EQ(diags.SourceLine(0, 10), "one");
  EXPECT_EQ(diags.SourceLine(0, 11), "two");
  EXPECT_EQ(diags.SourceLine(0, 12), "three");
  EXPECT_EQ(diags.SourceLine(0, 13), "");
  EXPECT_EQ(diags.SourceLine(0, 14), "five");
  EXPECT_EQ(diags.SourceLine(0, 9), "");
  EXPECT_EQ(diags.SourceLine(0, 15), "");
  EXPECT_EQ(diags.SourceLine(1, 10), "");
}

TEST(DiagnosticListTest, MakesAnyBytesFitForProtobuf) {
  DiagnosticList diags;
  const std::string source = "a\xFF" + std::string(397, 'b') + "\xC3\xA4" + "c";
  diags.AddSource(0, source, 0);
  diags.Error("e", Range(1, 1, 2), "met '\xC3'").Note("\x80");
  v1::Diagnostic d = diags.Take().at(0);
  EXPECT_EQ(d.message(), "met '\xEF\xBF\xBD'");
  EXPECT_EQ(d.notes(0).message(), "\xEF\xBF\xBD");
  // Cut to 400 bytes, after the bad byte has become three.
  EXPECT_EQ(d.source_line(), "a\xEF\xBF\xBD" + std::string(396, 'b'));
  std::string bytes;
  ASSERT_TRUE(d.SerializeToString(&bytes));
  EXPECT_TRUE(v1::Diagnostic().ParseFromString(bytes));
}

TEST(DiagnosticListTest, CutsLinesBetweenCharacters) {
  DiagnosticList diags;
  const std::string source = std::string(399, 'b') + "\xC3\xA4";
  diags.AddSource(0, source, 0);
  diags.Error("e", Range(1, 1, 2), "m");
  EXPECT_EQ(diags.Take().at(0).source_line(), std::string(399, 'b'));
}

TEST(RenderTextTest, LooksLikeClang) {
  DiagnosticList diags;
  diags.AddSource(0, "if größe && b:\n\tx = (1,\n  2]\n", 0);
  diags.AddSource(1, "y", 7);
  diags.Error("expected-expression", Range(1, 10, 12), "'&&' is written 'and'")
      .FixIt(Range(1, 10, 12), "and");
  diags.Error("mismatched-bracket", Range(3, 4, 5), "expected ')', met ']'")
      .Note(Range(2, 6, 7), "to match this '('");
  diags.Warning("long", {0, 2, 2, 3, 5}, "over two lines").Note("no place");
  diags.Error("other", Range(7, 2, 2, 1), "at the end");
  diags.Error("nowhere", {}, "no place");
  const std::string paths[] = {"k.py"};
  EXPECT_EQ(RenderText(diags.Take(), paths), "k.py:1:10: error: '&&' is written 'and' "
                                             "[expected-expression]\n"
                                             "if größe && b:\n"
                                             "         ^~\n"
                                             "         and\n"
                                             "k.py:2:2: warning: over two lines [long]\n"
                                             "\tx = (1,\n"
                                             "\t^~~~~~~\n"
                                             "note: no place\n"
                                             "k.py:3:4: error: expected ')', met ']' "
                                             "[mismatched-bracket]\n"
                                             "  2]\n"
                                             "   ^\n"
                                             "k.py:2:6: note: to match this '('\n"
                                             "\tx = (1,\n"
                                             "\t    ^\n"
                                             "<file 1>:7:2: error: at the end [other]\n"
                                             "y\n"
                                             " ^\n"
                                             "error: no place [nowhere]\n");
}

TEST(DiagnosticList, GivesTheTextOfARangeOnOneLine) {
  DiagnosticList diags;
  std::string source = "a = 1\n  \u00e4\u00f6 + b\n";
  diags.AddSource(0, source, 10);
  EXPECT_EQ(diags.Text({0, 11, 3, 11, 9}), "\u00e4\u00f6 + b");
  EXPECT_EQ(diags.Text({0, 11, 3, 11, 5}), "\u00e4\u00f6");
  EXPECT_EQ(diags.Text({0, 11, 8, 11, 9}), "b");
  EXPECT_EQ(diags.Text({0, 10, 1, 11, 2}), "");
  EXPECT_EQ(diags.Text({0, 11, 8, 11, 40}), "");
  EXPECT_EQ(diags.Text({}), "");
}

} // namespace
} // namespace pyasc::diag
