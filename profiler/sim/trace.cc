#include "profiler/sim/trace.h"

#include <charconv>
#include <cmath>

#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

constexpr size_t kPieceBytes = 256 << 10;
constexpr int kFirstVectorProcess = 1001;
// Tracks from top to bottom: S, MTE2, MTE1, M, V, FIX, MTE3, as data flows. By Pipe.
constexpr int kTrack[sim_isa::kNumPipes] = {0, 4, 3, 2, 1, 6, 5};

} // namespace

TraceWriter::TraceWriter(const machine::Soc &soc, uint64_t limit, Sink sink)
    : soc_(soc), limit_(limit), sink_(std::move(sink)) {
  text_ = Cat("{\"displayTimeUnit\": \"ns\", \"otherData\": {\"soc\": \"", soc.name,
              "\", \"time\": \"simulated\"}, \"traceEvents\": [");
}

TraceWriter::~TraceWriter() {
  text_ += Cat("\n], \"events\": ", written_, ", \"events_left_out\": ", left_out_, "}\n");
  Send(/*last=*/true);
}

void TraceWriter::Add(const Slice &slice) {
  if (written_ >= limit_) {
    ++left_out_;
    return;
  }
  ++written_;
  const int process = slice.core + (slice.cube ? 1 : kFirstVectorProcess);
  const int track = kTrack[static_cast<int>(slice.pipe)];
  if (named_.insert({process, -1}).second)
    Describe(
        "process_name", process, 0, "name",
        Cat(slice.cube ? "cube core " : "vector core ", slice.core < 10 ? "0" : "", slice.core));
  if (named_.insert({process, track}).second) {
    Describe("thread_name", process, track, "name", sim_isa::PipeName(slice.pipe));
    NextEvent();
    text_ += Cat(R"({"ph": "M", "name": "thread_sort_index", "pid": )", process, R"(, "tid": )",
                 track, R"(, "args": {"sort_index": )", track, "}}");
  }
  // From rounded ends, so that neighbours do not overlap.
  const int64_t start = Picoseconds(slice.start), end = Picoseconds(slice.end);
  NextEvent();
  text_ += R"({"ph": "X", "name": ")";
  text_ += slice.name;
  text_ += R"(", "cat": ")";
  text_ += slice.category;
  text_ += R"(", "pid": )";
  Number(process);
  text_ += R"(, "tid": )";
  Number(track);
  text_ += R"(, "ts": )";
  Time(start);
  text_ += R"(, "dur": )";
  Time(end - start);
  text_ += R"(, "args": {"block": )";
  Number(slice.block);
  if (sim_isa::LineOf(slice.line) != 0) {
    text_ += R"(, "line": )";
    Number(sim_isa::LineOf(slice.line));
  }
  if (slice.read_bytes != 0) {
    text_ += R"(, "read_bytes": )";
    Number(slice.read_bytes);
  }
  if (slice.written_bytes != 0) {
    text_ += R"(, "written_bytes": )";
    Number(slice.written_bytes);
  }
  text_ += "}}";
  if (text_.size() >= kPieceBytes)
    Send(/*last=*/false);
}

void TraceWriter::Describe(std::string_view what, int process, int thread, std::string_view key,
                           std::string_view value) {
  NextEvent();
  text_ += Cat(R"({"ph": "M", "name": ")", what, R"(", "pid": )", process, R"(, "tid": )", thread,
               R"(, "args": {")", key, R"(": ")", value, R"("}})");
}

void TraceWriter::NextEvent() {
  text_ += first_ ? "\n" : ",\n";
  first_ = false;
}

void TraceWriter::Number(int64_t value) {
  char digits[24];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void TraceWriter::Time(int64_t picoseconds) {
  Number(picoseconds / 1'000'000);
  char digits[8];
  // A leading 1 keeps the zeros.
  std::to_chars(digits, digits + sizeof digits, 1'000'000 + picoseconds % 1'000'000);
  digits[0] = '.';
  text_.append(digits, 7);
}

int64_t TraceWriter::Picoseconds(double cycles) const {
  return std::llround(soc_.cycles_to_us(origin_ + cycles) * 1e6);
}

void TraceWriter::Send(bool last) {
  v1::TraceChunk piece;
  piece.set_data(std::move(text_));
  if (last)
    piece.set_left_out(left_out_);
  text_.clear();
  sink_(piece);
}

} // namespace pyasc::sim
