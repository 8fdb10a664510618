// Reads the print logs of a launch, as every driver does: records become lines.
#ifndef PYASC_PROFILER_DEVICE_PRINT_LOG_H
#define PYASC_PROFILER_DEVICE_PRINT_LOG_H

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pyasc/v1/artifact.pb.h"
#include "pyasc/v1/execution.pb.h"

namespace pyasc::device {

// See PrintEntry for the layout.
inline constexpr uint32_t kFirstPrintRecord = 2;
inline constexpr uint32_t kMaxPrintLogWords = 1 << 24;

// Used by one thread at a time.
class PrintReader {
public:
  // `contract` outlives the reader. `on_print` may be empty: then texts of errors are kept only.
  PrintReader(const v1::LaunchContract &contract,
              std::function<void(const v1::PrintLine &)> on_print)
      : contract_(contract), on_print_(std::move(on_print)) {}

  // Takes the records that `block` has written since the last call; what a log holds is not
  // trusted. `log` is the block's own, of print_log_words.
  void Read(uint32_t block, std::span<const uint64_t> log);
  // After the last Read of every block: lines without an end, and how many records were dropped.
  void Finish();
  // The message of the error `code` that was made at run time by `block`; "": none.
  std::string ErrorMessage(uint32_t block, int64_t code) const;

private:
  struct Block {
    uint64_t read = 0;
    uint64_t dropped = 0;
    std::string line; // without its end yet
    v1::SourceRange begin;
    std::map<int64_t, std::string> errors;
  };
  void Take(uint32_t number, Block &block, const v1::PrintEntry &entry, const std::string &text);
  void Emit(uint32_t number, const std::string &text, const v1::SourceRange &range);

  struct Layout {
    const v1::PrintEntry *entry;
    std::vector<v1::TensorType> values;
    uint64_t words; // with the id
  };
  const Layout *Find(uint64_t id);

  const v1::LaunchContract &contract_;
  std::function<void(const v1::PrintLine &)> on_print_;
  std::unordered_map<uint64_t, Layout> layouts_;
  std::map<uint32_t, Block> blocks_;
};

} // namespace pyasc::device

#endif // PYASC_PROFILER_DEVICE_PRINT_LOG_H
