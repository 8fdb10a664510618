#include "client/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/format.h"

namespace pyasc::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Command Sample() {
  Command command;
  command.name = "cook";
  command.usage = "FILE [flags]";
  command.summary = "Cook a file.";
  command.flags = {
      {"--heat", "DEGREES", "how hot"}, {"--fast", nullptr, "be quick"}, {"-o", "OUT", "where to"}};
  command.min_positional = command.max_positional = 1;
  return command;
}

TEST(CommandLineTest, FlagsTakeTheirValueBothWays) {
  Arguments arguments =
      *ParseArguments(Sample(), {"a.py", "--heat", "3", "--heat=-4=x", "-oout", "--fast"});
  EXPECT_THAT(arguments.All("--heat"), ElementsAre("3", "-4=x"));
  EXPECT_EQ(arguments.Get("--heat"), "-4=x");
  EXPECT_EQ(arguments.Get("-o"), "out");
  EXPECT_TRUE(arguments.Has("--fast"));
  EXPECT_THAT(arguments.positional, ElementsAre("a.py"));
}

TEST(CommandLineTest, TwoDashesEndTheFlagsAndOneDashIsAName) {
  EXPECT_THAT(ParseArguments(Sample(), {"--", "--heat"})->positional, ElementsAre("--heat"));
  EXPECT_THAT(ParseArguments(Sample(), {"-"})->positional, ElementsAre("-"));
}

TEST(CommandLineTest, MistakesAreExplained) {
  struct Case {
    std::vector<std::string> words;
    const char *says;
  };
  for (const Case &c :
       {Case{{"a", "--haet", "3"}, "did you mean --heat?"},
        Case{{"a", "--heat"}, "needs a value: DEGREES"}, Case{{"a", "--fast=1"}, "takes no value"},
        Case{{}, "too few arguments"}, Case{{"a", "b"}, "unexpected argument 'b'"}})
    EXPECT_THAT(ParseArguments(Sample(), c.words).status().message(), HasSubstr(c.says));
}

TEST(CommandLineTest, HelpWinsOverMistakes) {
  EXPECT_TRUE(ParseArguments(Sample(), {"--help", "--nonsense"})->Has("--help"));
  EXPECT_THAT(FormatHelp(Sample()), HasSubstr("--heat DEGREES"));
}

TEST(FormatTest, NumbersReadWell) {
  EXPECT_EQ(FormatMicroseconds(812.04), "812.0 us");
  EXPECT_EQ(FormatMicroseconds(999.96), "1.00 ms");
  EXPECT_EQ(FormatMicroseconds(12'345), "12.3 ms");
  EXPECT_EQ(FormatMicroseconds(2'500'000), "2.50 s");
  EXPECT_EQ(FormatMicroseconds(0.0 / 0.0), "-");
  EXPECT_EQ(FormatBytes(4'194'304), "4.19 MB");
  EXPECT_EQ(FormatBytes(999.9), "1.00 kB");
  EXPECT_EQ(FormatBytes(12), "12 B");
  EXPECT_EQ(FormatKibibytes(196'608), "192 KiB");
  EXPECT_EQ(FormatFlopRate(5243.7), "5.24 TFLOP/s");
  EXPECT_EQ(FormatPercent(1.0 / 0.0), "-");
}

TEST(FormatTest, ABarIsAlwaysAsWideAsItShouldBe) {
  for (double fraction : {-1.0, 0.0, 0.01, 0.5, 0.999, 1.0, 7.0, 0.0 / 0.0}) {
    int cells = 0;
    for (char c : Bar(fraction, 20))
      cells += (c & 0xc0) != 0x80;
    EXPECT_EQ(cells, 20) << fraction;
  }
}

} // namespace
} // namespace pyasc::cli
