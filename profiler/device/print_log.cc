#include "profiler/device/print_log.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "proto/contract/python_format.h"
#include "proto/contract/tensor_type.h"

namespace pyasc::device {

const PrintReader::Layout *PrintReader::Find(uint64_t id) {
  if (layouts_.empty())
    for (const v1::PrintEntry &entry : contract_.print_table()) {
      Layout layout{&entry, {entry.values().begin(), entry.values().end()}, 1};
      for (const v1::TensorType &type : entry.values()) {
        const int64_t width = std::max<int64_t>(contract::ElementBytes(type.dtype()), 1);
        layout.words += static_cast<uint64_t>(contract::TensorBytes(type).value_or(0) / width);
      }
      layouts_.emplace(entry.id(), std::move(layout));
    }
  auto found = layouts_.find(id);
  return found == layouts_.end() ? nullptr : &found->second;
}

void PrintReader::Read(uint32_t number, std::span<const uint64_t> log) {
  if (log.size() < kFirstPrintRecord)
    return;
  // The kernel may be writing: its size is stored after what it counts.
  const uint64_t used =
      std::atomic_ref(const_cast<uint64_t &>(log[0])).load(std::memory_order_acquire);
  if (used == 0 && log[1] == 0)
    return;
  Block &block = blocks_[number];
  block.dropped = log[1];
  std::span<const uint64_t> records = log.subspan(kFirstPrintRecord);
  const uint64_t end = std::min<uint64_t>(used, records.size());
  while (block.read < end) {
    const Layout *layout = Find(records[block.read]);
    if (!layout || layout->words > end - block.read) {
      Emit(number, "(the print log is damaged here)", {});
      block.read = records.size();
      return;
    }
    Take(number, block, *layout->entry,
         contract::FormatText(layout->entry->format(), layout->values,
                              records.subspan(block.read + 1, layout->words - 1)));
    block.read += layout->words;
  }
}

void PrintReader::Take(uint32_t number, Block &block, const v1::PrintEntry &entry,
                       const std::string &text) {
  if (entry.error_code() != 0) {
    block.errors.emplace(entry.error_code(), text);
    return;
  }
  size_t begin = 0;
  while (begin < text.size()) {
    if (block.line.empty())
      block.begin = entry.range();
    const size_t end = text.find('\n', begin);
    block.line.append(text, begin, end - begin);
    if (end == std::string::npos)
      return;
    Emit(number, block.line, entry.range());
    block.line.clear();
    begin = end + 1;
  }
}

void PrintReader::Emit(uint32_t number, const std::string &text, const v1::SourceRange &range) {
  if (!on_print_)
    return;
  v1::PrintLine line;
  line.set_text(text);
  *line.mutable_range() = range;
  line.set_core(number);
  on_print_(line);
}

void PrintReader::Finish() {
  for (auto &[number, block] : blocks_) {
    if (!block.line.empty())
      Emit(number, block.line, block.begin);
    block.line.clear();
    if (block.dropped)
      Emit(number,
           absl::StrCat("(", block.dropped, " prints of core ", number,
                        " dropped: its print log of ", contract_.print_log_words() * 8 >> 10,
                        " KiB is full)"),
           {});
  }
}

std::string PrintReader::ErrorMessage(uint32_t block, int64_t code) const {
  auto found = blocks_.find(block);
  if (found == blocks_.end())
    return "";
  auto text = found->second.errors.find(code);
  return text == found->second.errors.end() ? "" : text->second;
}

} // namespace pyasc::device
