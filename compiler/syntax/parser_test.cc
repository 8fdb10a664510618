// What the parser says of faulty text, where, and what it accepts beyond CPython. That it makes
// the right trees is shown by tests/conformance/syntax_test.py.
#include <ctime>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "compiler/syntax/dump.h"
#include "compiler/syntax/parse.h"

namespace pyasc::syntax {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Parsed {
  ParseResult result;
  std::vector<v1::Diagnostic> diagnostics;
};

Parsed ParseText(std::string_view text, ParseOptions options = {}) {
  diag::DiagnosticList diags({.max_errors = 100});
  Parsed out;
  out.result = Parse(text, options, diags);
  EXPECT_EQ(out.result.ok, !diags.HasErrors());
  out.diagnostics = diags.Take();
  return out;
}

// "line:column-end_column code" of each error.
std::vector<std::string> Errors(std::string_view text, ParseOptions options = {}) {
  std::vector<std::string> out;
  for (const v1::Diagnostic &d : ParseText(text, options).diagnostics) {
    const v1::SourceRange &r = d.range();
    if (d.severity() == v1::SEVERITY_ERROR)
      out.push_back(std::to_string(r.line()) + ":" + std::to_string(r.column()) + "-" +
                    std::to_string(r.end_column()) + " " + d.code());
  }
  return out;
}

std::string DumpOf(std::string_view text) { return Dump(ParseText(text).result.module); }

TEST(ParserTest, OneFaultIsOneErrorAtTheRightPlace) {
  struct Case {
    std::string_view text;
    std::string_view error;
  };
  const Case cases[] = {
      {"if x = 3:\n  pass\n", "1:6-7 expected-token"},
      {"y = 1 +\n", "1:8-8 expected-expression"},
      {"y = 1 +   # comment\n", "1:8-8 expected-expression"},
      {"x = 2 2\n", "1:7-8 expected-token"},
      {"if x\n  y\n", "1:5-5 expected-token"},
      {"while x:\ny\n", "2:1-2 expected-indented-block"},
      {"def f():\n", "1:9-9 expected-indented-block"},
      {"if a:\n    b\n  c\nd\n", "3:3-3 unindent-mismatch"},
      {"a\n   b\n   c\nd\n", "2:4-4 unexpected-indent"},
      {"if a:\n\tb\n        c\n", "3:9-9 inconsistent-tabs"},
      {"f(a,\n  b\n\nx = 1\n", "1:2-3 unclosed-bracket"},
      {"f(a, b\ndef g():\n  return 1\n", "1:2-3 unclosed-bracket"},
      {"f(a, (b\nreturn 1\n", "1:6-7 unclosed-bracket"},
      {"x = (1]\n", "1:7-8 mismatched-bracket"},
      {"x = ([1)\ny\n", "1:8-9 mismatched-bracket"},
      {"x = [1, 2\ny = 3)\n", "2:6-7 mismatched-bracket"},
      {"x = 1)\n", "1:6-7 unmatched-bracket"},
      {"x = 'abc\ny\n", "1:5-9 unterminated-string"},
      {"print('abc)\ny\n", "1:7-12 unterminated-string"},
      {"x = '''abc\n\ny\n", "1:5-8 unterminated-string"},
      {"x = f'abc\ny\n", "1:5-10 unterminated-string"},
      {"x = f'{a'\n", "1:9-9 unclosed-field"},
      {"x = f'{a:'\n", "1:10-10 unclosed-field"},
      {"x = f'{}'\n", "1:8-9 expected-expression"},
      {"x = f'{a b}'\n", "1:10-11 expected-token"},
      {"x = f'{a!z}'\n", "1:10-11 invalid-conversion"},
      {"x = f'{a! r}'\n", "1:11-12 invalid-conversion"},
      {"x = f'a}'\n", "1:8-9 unmatched-bracket"},
      {"x = 012\n", "1:5-8 invalid-number"},
      {"x = 1__0\n", "1:7-9 invalid-number"},
      {"x = 0xg\n", "1:7-8 invalid-number"},
      {"x = 0b12\n", "1:8-9 invalid-number"},
      {"x = 1abc\n", "1:6-9 invalid-number"},
      {"x = 3 $ 4\n", "1:7-8 invalid-character"},
      {"größe = 1 ÷ 2\n", "1:11-12 invalid-character"},
      {"x = '\\x4'\n", "1:6-9 invalid-escape"},
      {"x = '''\n  \\N{NO SUCH NAME}'''\n", "2:3-19 invalid-escape"},
      {"x = b'é'\n", "1:7-8 invalid-string"},
      {"x = 'a' b'b'\n", "1:9-13 invalid-string"},
      {"x = 1 \\ 2\n", "1:7-8 stray-backslash"},
      {"x = 1 \\\n", "1:7-8 stray-backslash"},
      {"x = (1 \\\n", "1:5-6 unclosed-bracket"},
      {"x = 1\n \\\r\n", "2:2-3 stray-backslash"},
      {"ª = 1\n", "1:1-2 identifier-not-normal"},
      {"f(x) = 1\n", "1:1-5 invalid-target"},
      {"(a, 1) = x\n", "1:5-6 invalid-target"},
      {"f(x) += 1\n", "1:1-5 invalid-target"},
      {"(a, b): int\n", "1:1-7 invalid-target"},
      {"for 1 in x: pass\n", "1:5-6 invalid-target"},
      {"del f()\n", "1:5-8 invalid-target"},
      {"(a.b := 1)\n", "1:2-5 invalid-target"},
      {"x = *a\n", "1:5-7 invalid-starred"},
      {"def f(a=1, b): pass\n", "1:12-13 invalid-parameter"},
      {"def f(*): pass\n", "1:7-8 invalid-parameter"},
      {"def f(**k, a): pass\n", "1:12-13 invalid-parameter"},
      {"f(a=1, b)\n", "1:8-9 invalid-argument"},
      {"f(x for x in y, 1)\n", "1:3-15 invalid-argument"},
      {"f(a.b=1)\n", "1:3-6 invalid-argument"},
      {"class = 1\n", "1:7-8 expected-token"},
      {"x.if\n", "1:3-5 reserved-word"},
      {"a && b\n", "1:3-5 expected-expression"},
      {"x++\n", "1:2-4 expected-expression"},
      {"print 'x'\n", "1:1-6 missing-parentheses"},
      {"else:\n  x\n", "1:1-5 misplaced-keyword"},
      {"if a:\n  b\nelse if c:\n  d\nelse:\n  e\n", "3:1-8 expected-token"},
      {"try:\n  x\ny\n", "1:1-4 expected-token"},
      {"x = a if b\n", "1:11-11 expected-token"},
      {"@a\nx\n", "2:1-2 expected-token"},
      {"match x:\n  case 1 2: pass\n", "2:10-11 expected-token"},
      {"match x:\n  case 2j + 2j: pass\n", "2:8-10 invalid-pattern"},
      {"match x:\n  case -1 - 2: pass\n", "2:13-14 invalid-pattern"},
      {"match x:\n  y\n", "2:3-4 expected-token"},
      {"with (a as 1, b): pass\n", "1:12-13 invalid-target"},
  };
  for (const Case &c : cases)
    EXPECT_THAT(Errors(c.text), ElementsAre(c.error)) << c.text;
}

TEST(ParserTest, FaultsInSeparateStatementsAreAllReported) {
  EXPECT_THAT(Errors("x = = 1\n"
                     "for y in :\n"
                     "    a b\n"
                     "else:\n"
                     "    c d\n"
                     "def f(:\n"
                     "    return (\n"
                     "def g():\n"
                     "    z = 1 +\n"),
              ElementsAre("1:5-6 expected-expression", "2:10-11 expected-expression",
                          "3:7-8 expected-token", "5:7-8 expected-token", "6:6-7 unclosed-bracket",
                          "7:12-13 unclosed-bracket", "9:12-12 expected-expression"));
}

TEST(ParserTest, StatementsAroundAFaultAreKept) {
  Parsed p = ParseText("a = 1\nb = = 2\nc = 3\ndef f():\n    d = ?\n    e = 4\n");
  EXPECT_FALSE(p.result.ok);
  ASSERT_EQ(p.result.module->body.size(), 3u);
  EXPECT_EQ(llvm::cast<FunctionDef>(p.result.module->body[2])->body.size(), 1u);
}

TEST(ParserTest, MessagesOfferAWayOut) {
  auto first = [](std::string_view text) { return ParseText(text).diagnostics.at(0); };
  v1::Diagnostic d = first("if x\n  y\n");
  ASSERT_EQ(d.fixits_size(), 1);
  EXPECT_EQ(d.fixits(0).replacement(), ":");
  EXPECT_EQ(d.source_line(), "if x");
  EXPECT_THAT(first("a || b").fixits(0).replacement(), "or");
  d = first("x = (1,\n  2]\n");
  ASSERT_EQ(d.notes_size(), 1);
  EXPECT_EQ(d.notes(0).range().line(), 1u);
  EXPECT_EQ(d.notes(0).source_line(), "x = (1,");
}

TEST(ParserTest, UnknownEscapesAreWarnings) {
  Parsed p = ParseText("x = 'a\\d'\n");
  EXPECT_TRUE(p.result.ok);
  ASSERT_EQ(p.diagnostics.size(), 1u);
  EXPECT_EQ(p.diagnostics[0].severity(), v1::SEVERITY_WARNING);
  EXPECT_EQ(p.diagnostics[0].range().column(), 7u);
}

TEST(ParserTest, SharedIndentationIsRemovedButCountsInColumns) {
  EXPECT_EQ(DumpOf("    def f():\n      return 1\n    x = 2\n"),
            "Module\n"
            "  body: FunctionDef @1:5-2:15 name=\"f\"\n"
            "    args: arguments\n"
            "    body: Return @2:7-2:15\n"
            "      value: Constant @2:14-2:15 int=1\n"
            "  body: Assign @3:5-3:10\n"
            "    targets: Name @3:5-3:6 id=\"x\" ctx=Store\n"
            "    value: Constant @3:9-3:10 int=2\n");
  EXPECT_THAT(Errors("  x = 1\ny = 2\n"), ElementsAre("2:1-1 unindent-mismatch"));
}

TEST(ParserTest, ColumnsCountCodePoints) {
  EXPECT_THAT(DumpOf("ä = '日本', b\n"), HasSubstr("Name @1:11-1:12 id=\"b\""));
}

TEST(ParserTest, LinesCountFromFirstLine) {
  Parsed p = ParseText("a\nb c\n", {.file = 3, .first_line = 40});
  ASSERT_EQ(p.diagnostics.size(), 1u);
  EXPECT_EQ(p.diagnostics[0].range().file(), 3u);
  EXPECT_EQ(p.diagnostics[0].range().line(), 41u);
  EXPECT_EQ(p.diagnostics[0].source_line(), "b c");
}

TEST(ParserTest, AByteOrderMarkTakesNoColumn) {
  EXPECT_THAT(Errors("\xEF\xBB\xBFx = $\n"), ElementsAre("1:5-6 invalid-character"));
}

// Where the only '$' of a text is, found by counting.
std::string PlaceOfDollar(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  int line = 1, column = 1;
  for (size_t i = 0; text[i] != '$'; ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n')) {
      ++line;
      column = 1;
    } else if (text[i] != '\r') {
      column += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    }
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

TEST(ParserTest, PositionsCountTheCharactersOfTheLineAsWritten) {
  const std::string_view texts[] = {
      "\tx = $\n",
      "x\t=\t$\n",
      "if x:\n\tif y:\n\t    日 = $\n",
      "é = 'e\u0301' + $\n",
      "x = '日本\U0001F600' + $\n",
      "a\r\nb = $\r\n",
      "a\rb = $\r",
      "a\r\r\n\n\r\nb = $",
      "\xEF\xBB\xBFx = $\n",
      "\xEF\xBB\xBF\r\n  x = $\n",
      "x\n\f$\n",
      "x\n \f\n\f\fy = $\n",
      "x = 1 + \\\n  $\n",
      "x = 1 + \\\r\n\t日 * \\\r  $\n",
      "x = (1,\r\n\t日, # 日\n\n $)\n",
      "x = '''a\r\nb\r日''' + $\n",
      "x = 'a\\\r\n日' + $\n",
      "x = f'''\n{y}\r\n日{$}'''\n",
      "x = f'日{y:日}' + $\n",
      "x = f'{\r\n日 + $}'\n",
      "# 日本\n$\n",
      "\\\n日 = $\n",
  };
  for (std::string_view text : texts) {
    std::vector<v1::Diagnostic> all = ParseText(text).diagnostics;
    ASSERT_EQ(all.size(), 1u) << text;
    const v1::SourceRange &r = all[0].range();
    EXPECT_EQ(std::to_string(r.line()) + ":" + std::to_string(r.column()), PlaceOfDollar(text))
        << text;
    // The line that is shown with the message has it there, too.
    std::string_view shown = all[0].source_line();
    for (uint32_t column = 0; !shown.empty(); shown.remove_prefix(1)) {
      column += (static_cast<unsigned char>(shown[0]) & 0xC0) != 0x80;
      if (column == r.column())
        break;
    }
    EXPECT_TRUE(shown.starts_with("$")) << text << " shows " << all[0].source_line();
  }
}

TEST(ParserTest, EmptyTextsAreModules) {
  for (std::string_view text : {"", "\n", "# only\n  # comments", "\xEF\xBB\xBF", "   ", "\f\n"}) {
    Parsed p = ParseText(text);
    EXPECT_TRUE(p.result.ok) << text;
    EXPECT_THAT(p.result.module->body, IsEmpty());
  }
}

TEST(ParserTest, TypeParametersOfPython312) {
  EXPECT_EQ(DumpOf("type A[T: int, *Ts, **P] = T\ndef f[T](a: T): pass\nclass B[T]: pass\n"),
            "Module\n"
            "  body: TypeAlias @1:1-1:29\n"
            "    name: Name @1:6-1:7 id=\"A\" ctx=Store\n"
            "    type_params: TypeVar @1:8-1:14 name=\"T\"\n"
            "      bound: Name @1:11-1:14 id=\"int\" ctx=Load\n"
            "    type_params: TypeVarTuple @1:16-1:19 name=\"Ts\"\n"
            "    type_params: ParamSpec @1:21-1:24 name=\"P\"\n"
            "    value: Name @1:28-1:29 id=\"T\" ctx=Load\n"
            "  body: FunctionDef @2:1-2:21 name=\"f\"\n"
            "    args: arguments\n"
            "      args: arg @2:10-2:14 arg=\"a\"\n"
            "        annotation: Name @2:13-2:14 id=\"T\" ctx=Load\n"
            "    body: Pass @2:17-2:21\n"
            "    type_params: TypeVar @2:7-2:8 name=\"T\"\n"
            "  body: ClassDef @3:1-3:17 name=\"B\"\n"
            "    body: Pass @3:13-3:17\n"
            "    type_params: TypeVar @3:9-3:10 name=\"T\"\n");
}

TEST(ParserTest, FStringsNestTheirOwnQuotesSincePython312) {
  EXPECT_EQ(DumpOf("f'{x['a']:{f'{1}'}}'\n"), "Module\n"
                                              "  body: Expr @1:1-1:21\n"
                                              "    value: JoinedStr @1:1-1:21\n"
                                              "      values: FormattedValue @1:3-1:20 "
                                              "conversion=-1\n"
                                              "        value: Subscript @1:4-1:10 ctx=Load\n"
                                              "          value: Name @1:4-1:5 id=\"x\" ctx=Load\n"
                                              "          slice: Constant @1:6-1:9 str=\"a\"\n"
                                              "        format_spec: JoinedStr @1:10-1:19\n"
                                              "          values: FormattedValue @1:11-1:19 "
                                              "conversion=-1\n"
                                              "            value: JoinedStr @1:12-1:18\n"
                                              "              values: FormattedValue @1:14-1:17 "
                                              "conversion=-1\n"
                                              "                value: Constant @1:15-1:16 "
                                              "int=1\n");
}

// ---- Limits

TEST(ParserLimitsTest, TextsThatCannotBeReadAreRefused) {
  EXPECT_THAT(Errors("x = '\xFF'\n"), ElementsAre("1:6-7 invalid-utf8"));
  EXPECT_THAT(Errors("x = '\xED\xA0\x80'\n"), ElementsAre("1:6-7 invalid-utf8"));
  EXPECT_THAT(Errors("y\nx = '\xC3"), ElementsAre("2:6-7 invalid-utf8"));
  EXPECT_THAT(Errors(std::string_view("a\nb\0c\n", 6)), ElementsAre("2:2-3 nul-byte"));
  EXPECT_THAT(Errors(std::string((1 << 20) + 1, '\n')), ElementsAre("0:0-0 source-too-large"));
  EXPECT_THAT(Errors(std::string(1 << 20, '\n')), IsEmpty());
  EXPECT_THAT(Errors("a\n#" + std::string(1 << 16, 'x')), ElementsAre("2:1-2 line-too-long"));
}

TEST(ParserLimitsTest, HugeIntegersAreRefused) {
  EXPECT_THAT(Errors("x = " + std::string(4300, '9')), IsEmpty());
  EXPECT_THAT(Errors("x = " + std::string(4301, '9')), ElementsAre("1:5-4306 integer-too-large"));
  EXPECT_THAT(Errors("x = 0x" + std::string(4301, 'f')), ElementsAre("1:5-4308 integer-too-large"));
}

std::string Repeat(std::string_view s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += s;
  return out;
}

TEST(ParserLimitsTest, TooManyTokensAreRefused) {
  EXPECT_THAT(Errors("a b c d e", {.max_tokens = 3}), ElementsAre("1:8-8 too-many-tokens"));
  EXPECT_THAT(Errors("a, c\n", {.max_tokens = 9}), IsEmpty());
  EXPECT_THAT(Errors(Repeat("a=1\n", 1 << 18)), ElementsAre("131073:2-2 too-many-tokens"));
}

TEST(ParserLimitsTest, ReadingEndsAfterManyErrors) {
  EXPECT_THAT(Errors("a ?\nb b\n?\n?\n?\nc c\n", {.max_errors = 3}),
              ElementsAre("1:3-4 invalid-character", "2:3-4 expected-token",
                          "3:1-2 invalid-character", "4:1-2 invalid-character",
                          "4:2-2 too-many-errors"));
  EXPECT_THAT(Errors("a a\nb b\nc c\nd = 1\n", {.max_errors = 2}),
              ElementsAre("1:3-4 expected-token", "2:3-4 expected-token", "2:3-4 too-many-errors"));
}

// Blocks in one another, `n` deep.
std::string Blocks(std::string_view header, int n) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += std::string(static_cast<size_t>(i), ' ') + std::string(header) + "\n";
  return out + std::string(static_cast<size_t>(n), ' ') + "pass\n";
}

TEST(ParserLimitsTest, DeepNestingIsAnErrorAndNeverAStackOverflow) {
  auto nested = [](int n) {
    return std::vector<std::string>{
        "x = " + Repeat("(", n) + "1" + Repeat(")", n),
        "x = " + Repeat("[", n) + Repeat("]", n),
        "x = " + Repeat("{1:", n) + "1" + Repeat("}", n),
        "x = " + Repeat("-", n) + "1",
        "x = " + Repeat("not ", n) + "1",
        "x = " + Repeat("1 ** ", n) + "1",
        "x = " + Repeat("-1 ** ", n) + "1",
        "x = " + Repeat("f(", n) + Repeat(")", n),
        "x = " + Repeat("a[", n) + "1" + Repeat("]", n),
        "x = " + Repeat("lambda: ", n) + "1",
        "x = " + Repeat("lambda x=", n) + "1" + Repeat(": 1", n),
        "x = " + Repeat("1 if 1 else ", n) + "1",
        "x = " + Repeat("[1 for x in ", n) + "y" + Repeat("]", n),
        "x = " + Repeat("[*", n) + "y" + Repeat("]", n),
        "x = " + Repeat("{**", n) + "y" + Repeat("}", n),
        "x = " + Repeat("f(*", n) + "y" + Repeat(")", n),
        "x = " + Repeat("[1 for x in y if ", n) + "y" + Repeat("]", n),
        "x = " + Repeat("await f(", n) + Repeat(")", n),
        "for " + Repeat("[", n) + "x" + Repeat("]", n) + " in y: pass\n",
        "with x as " + Repeat("[", n) + "x" + Repeat("]", n) + ": pass\n",
        "del " + Repeat("[", n) + "x" + Repeat("]", n),
        "@" + Repeat("f(", n) + Repeat(")", n) + "\ndef g(): pass\n",
        "x = " + Repeat("(yield ", n) + Repeat(")", n),
        "x = " + Repeat("f'{", n) + "1" + Repeat("}'", n),
        "x = f'" + Repeat("{1:", n) + Repeat("}", n) + "'",
        "match x:\n  case " + Repeat("(", n) + "1" + Repeat(")", n) + ": pass\n",
        "match x:\n  case " + Repeat("[", n) + Repeat("]", n) + ": pass\n",
        "match x:\n  case " + Repeat("{1: ", n) + "1" + Repeat("}", n) + ": pass\n",
        "match x:\n  case " + Repeat("A(", n) + Repeat(")", n) + ": pass\n",
        "with " + Repeat("(", n) + "1" + Repeat(")", n) + ": pass\n",
        "for " + Repeat("(", n) + "x" + Repeat(",)", n) + " in y: pass\n",
        "x = " + Repeat("(", n),
        "x = " + Repeat("f'{", n),
    };
  };
  for (const std::string &text : nested(10'000)) {
    EXPECT_FALSE(ParseText(text, {.max_line_bytes = 1 << 20}).result.ok) << text.substr(0, 40);
  }
  for (const std::string &text : nested(60)) {
    if (text.ends_with("(") || text.ends_with("{"))
      continue; // never closed
    EXPECT_THAT(Errors(text), IsEmpty()) << text.substr(0, 40);
  }
}

TEST(ParserLimitsTest, DeepBlocksAreAnError) {
  for (std::string_view header :
       {"if x:", "while x:", "for x in y:", "def f():", "class A:", "with x:", "async def f():"}) {
    EXPECT_FALSE(ParseText(Blocks(header, 1000)).result.ok);
    EXPECT_THAT(Errors(Blocks(header, 90)), IsEmpty());
  }
  // Indentation that belongs to nothing.
  std::string stairs;
  for (int i = 0; i < 1000; ++i)
    stairs += std::string(static_cast<size_t>(i), ' ') + "x\n";
  EXPECT_FALSE(ParseText(stairs).result.ok);
}

TEST(ParserLimitsTest, LongChainsAreAnErrorSinceTheirTreesAreDeep) {
  const std::string_view links[] = {" + x", ".x", "(x)", "[x]"};
  for (std::string_view link : links) {
    EXPECT_THAT(Errors("y = x" + Repeat(link, 450)), IsEmpty());
    EXPECT_EQ(ParseText("y = x" + Repeat(link, 10'000)).diagnostics.at(0).code(),
              "nesting-too-deep");
  }
  std::string elifs = "if x: pass\n" + Repeat("elif x: pass\n", 450);
  EXPECT_THAT(Errors(elifs), IsEmpty());
  EXPECT_FALSE(ParseText("if x: pass\n" + Repeat("elif x: pass\n", 10'000)).result.ok);
  // These are wide, not deep.
  EXPECT_THAT(Errors("y = x" + Repeat(" and x", 5000)), IsEmpty());
  EXPECT_THAT(Errors("y = x" + Repeat(" < x", 5000)), IsEmpty());
  EXPECT_THAT(Errors("y = x" + Repeat(", x", 5000)), IsEmpty());
}

// The processor time for a text of 256 KiB, against that for an eighth of it.
TEST(ParserLimitsTest, TimeIsLinearInTheLength) {
  const std::string_view pieces[] = {"x = a + b * c[1:2]\n",
                                     "(",
                                     "((((\n",
                                     "(]\n",
                                     "([\n)",
                                     "[(",
                                     "'\n",
                                     "f'{\n",
                                     "f'{x\n",
                                     "f'{f\"{",
                                     "'\\d\\d\\d\\d' ",
                                     "x = (\n",
                                     "match x\n",
                                     "match(x);",
                                     "if x:\n ",
                                     "x = 'a",
                                     "\\\n",
                                     "with (a",
                                     "with (a):\n",
                                     "def f(\n",
                                     "@a\n",
                                     "{",
                                     "} ",
                                     "f'{'",
                                     "\"\"\"",
                                     "\t x\n",
                                     "else:\n",
                                     "0",
                                     "case ",
                                     "é",
                                     "x.",
                                     "-",
                                     "not ",
                                     "lambda ",
                                     "a if ",
                                     "x = y = "};
  auto seconds = [](const std::string &text) {
    std::clock_t begin = std::clock();
    ParseText(text, {.max_line_bytes = 1 << 20});
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  for (std::string_view piece : pieces) {
    auto text = [&](size_t bytes) { return Repeat(piece, static_cast<int>(bytes / piece.size())); };
    double small = seconds(text(1 << 15)), large = seconds(text(1 << 18));
    // 8 when linear and 64 when quadratic; what is quick may vary as it likes.
    EXPECT_TRUE(large < 0.2 || large < 24 * small)
        << piece << ": " << small << " s for 32 KiB, " << large << " s for 256 KiB";
  }
}

} // namespace
} // namespace pyasc::syntax
