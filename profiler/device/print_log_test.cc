#include "profiler/device/print_log.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace pyasc::device {
namespace {

class PrintReaderTest : public testing::Test {
protected:
  PrintReaderTest() : log(64) {
    contract.set_print_log_words(64);
    Entry(1, "a {}\n", 7);
    Entry(2, "{}, ", 8);
    Entry(3, "small: {}", 9)->set_error_code(5);
  }
  v1::PrintEntry *Entry(uint32_t id, const char *format, uint32_t line) {
    v1::PrintEntry *entry = contract.add_print_table();
    entry->set_id(id);
    entry->set_format(format);
    entry->add_values()->set_dtype(v1::DTYPE_INT32);
    entry->mutable_range()->set_line(line);
    return entry;
  }
  void Append(uint64_t id, int64_t value) {
    log[kFirstPrintRecord + log[0]] = id;
    log[kFirstPrintRecord + log[0] + 1] = static_cast<uint64_t>(value);
    log[0] += 2;
  }
  PrintReader Reader() {
    return PrintReader(contract, [this](const v1::PrintLine &line) {
      lines.push_back(absl::StrCat(line.core(), ":", line.range().line(), " ", line.text()));
    });
  }

  v1::LaunchContract contract;
  std::vector<uint64_t> log;
  std::vector<std::string> lines;
};

TEST_F(PrintReaderTest, LinesComeAsTheyAreWritten) {
  PrintReader reader = Reader();
  Append(1, -3);
  reader.Read(2, log);
  EXPECT_EQ(lines, std::vector<std::string>{"2:7 a -3"});
  Append(2, 1);
  Append(2, 2);
  reader.Read(2, log);
  EXPECT_EQ(lines.size(), 1u) << "a line without its end waits";
  Append(1, 4);
  reader.Read(2, log);
  EXPECT_EQ(lines.back(), "2:7 1, 2, a 4");
  Append(2, 9);
  log[1] = 12;
  reader.Read(2, log);
  reader.Finish();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], "2:8 9, ");
  EXPECT_NE(lines[3].find("12 prints of core 2 dropped"), std::string::npos) << lines[3];
}

TEST_F(PrintReaderTest, MessagesOfErrorsAreNoLines) {
  PrintReader reader = Reader();
  Append(3, 6);
  reader.Read(0, log);
  reader.Finish();
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(reader.ErrorMessage(0, 5), "small: 6");
  EXPECT_EQ(reader.ErrorMessage(0, 4), "");
  EXPECT_EQ(reader.ErrorMessage(1, 5), "");
}

TEST_F(PrintReaderTest, ADamagedLogEndsIt) {
  PrintReader reader = Reader();
  Append(1, 1);
  Append(77, 1);
  Append(1, 1);
  reader.Read(0, log);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[1].find("damaged"), std::string::npos);
  log[0] = ~uint64_t{0};
  PrintReader another = Reader();
  another.Read(0, log);
  another.Finish();
}

} // namespace
} // namespace pyasc::device
