#include "compiler/sema/foreign_names.h"

#include "compiler/sema/library.h"

#include <gtest/gtest.h>

namespace pyasc::sema {
namespace {

TEST(ForeignNames, NoneIsANameOfOurs) {
  for (const LibraryEntry *entry : AllLibraryEntries()) {
    if (entry->reach & kAsc)
      EXPECT_EQ(ForeignFunction(entry->name), "") << entry->name;
    if (entry->reach & kMethod)
      EXPECT_EQ(ForeignAttribute(entry->name), "") << entry->name;
  }
  EXPECT_NE(ForeignFunction("load"), "");
  EXPECT_NE(ForeignAttribute("view"), "");
}

// A name, what is suggested for it among those below, and whether that may be written by a tool.
struct Case {
  std::string_view name, suggested;
  bool certain;
};

TEST(ClosestName, SuggestsWhatIsNearForItsLengthAndIsCertainOfLess) {
  const std::vector<std::string_view> names = {"local",   "sort",  "exp",    "exp2",
                                               "softmax", "zeros", "shape",  "sum",
                                               "float32", "int32", "maximum"};
  for (const Case &c :
       {Case{"load", "", false}, Case{"store", "", false}, Case{"foo", "", false},
        Case{"exp3", "exp", false}, Case{"sofmax", "softmax", true}, Case{"zeors", "zeros", true},
        Case{"shpae", "shape", true}, Case{"sumx", "sum", true}, Case{"su", "sum", false},
        Case{"float23", "float32", false}, Case{"flaot32", "float32", true},
        Case{"int3", "int32", false}, Case{"maximim", "maximum", true}}) {
    Suggestion got = ClosestName(c.name, names);
    EXPECT_EQ(got.name, c.suggested) << c.name;
    EXPECT_EQ(got.certain, c.certain) << c.name;
  }
}

} // namespace
} // namespace pyasc::sema
