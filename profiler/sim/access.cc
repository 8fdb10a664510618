#include "profiler/sim/access.h"

#include <algorithm>

#include "profiler/sim/text.h"

namespace pyasc::sim {
namespace {

using namespace sim_isa;

constexpr int64_t kBlock = 32;
constexpr int64_t kRepeatBytes = 256;
// Far above every memory, far below overflow when multiplied by a count.
constexpr int64_t kMaxStride = int64_t{1} << 40;

// Collects accesses; the first violated rule wins.
class Collector {
public:
  explicit Collector(std::vector<Access> &to) : to_(to) { to_.clear(); }

  void Require(bool ok, std::string_view what, int64_t value) {
    Require(ok, FaultKind::kOperand, what, value);
  }
  void Require(bool ok, FaultKind kind, std::string_view what, int64_t value) {
    if (!ok) [[unlikely]]
      Refuse(kind, what, value);
  }
  // Most are right: no text for them.
  void InRange(std::string_view what, int64_t value, int64_t least, int64_t greatest) {
    if (value < least || value > greatest) [[unlikely]]
      RefuseRange(what, value, least, greatest);
  }
  [[gnu::always_inline]] void Aligned(std::string_view what, int64_t value, int64_t to) {
    if (value % to != 0) [[unlikely]]
      RefuseAlignment(what, value, to);
  }
  [[gnu::always_inline]] void Add(Space space, bool write, int64_t start, int64_t length,
                                  int64_t count = 1, int64_t stride = 0) {
    if (!ok_ || length == 0 || count == 0)
      return;
    if (count == 1)
      stride = 0;
    InRange("a stride", stride, -kMaxStride, kMaxStride);
    if (stride == length) { // one run
      length *= count;
      count = 1;
      stride = 0;
    }
    if (ok_)
      to_.push_back({space, write, start, length, count, stride});
  }
  bool ok() const { return ok_; }
  Violation error() && {
    if (!ok_)
      to_.clear();
    return std::move(error_);
  }

private:
  [[gnu::noinline]] void Refuse(FaultKind kind, std::string_view what, int64_t value) {
    if (ok_)
      error_ = {kind, Cat(what, ", it is ", value)};
    ok_ = false;
  }
  [[gnu::noinline]] void RefuseRange(std::string_view what, int64_t value, int64_t least,
                                     int64_t greatest) {
    Refuse(FaultKind::kOperand, Cat(what, " must be in ", least, "..", greatest), value);
  }
  [[gnu::noinline]] void RefuseAlignment(std::string_view what, int64_t value, int64_t to) {
    Refuse(FaultKind::kMisaligned, Cat(what, " must be a multiple of ", to), value);
  }

  std::vector<Access> &to_;
  bool ok_ = true;
  Violation error_;
};

// An operand of a vector instruction in one of its two modes.
void AddVector(Collector &c, bool write, int64_t start, int64_t size, int64_t count,
               int64_t repeats, int64_t block, int64_t repeat) {
  c.Aligned("a vector operand's address", start, kBlock);
  if (repeats == 0) {
    c.Add(Space::kUb, write, start, count * size);
    return;
  }
  c.InRange("a block stride", block, 0, 65535);
  c.InRange("a repeat stride", repeat, 0, 255);
  if (block == 1) {
    c.Add(Space::kUb, write, start, count * size, repeats, repeat * kBlock);
    return;
  }
  for (int64_t at = 0; at < count * size; at += kBlock) {
    c.Add(Space::kUb, write, start + at * block, std::min(kBlock, count * size - at), repeats,
          repeat * kBlock);
    if (block == 0)
      break;
  }
}

void CheckMode(Collector &c, int64_t count, int64_t repeats, int64_t widest) {
  c.InRange("repeats", repeats, 0, 255);
  c.InRange("count", count, 0, repeats == 0 ? int64_t{1} << 20 : kRepeatBytes / widest);
}

// In counted mode an operand is the destination itself or apart from it.
void CheckOverlap(Collector &c, int64_t dst, int64_t dst_bytes, int64_t a, int64_t a_bytes) {
  c.Require(dst == a || dst + dst_bytes <= a || a + a_bytes <= dst, FaultKind::kOverlap,
            "a vector operand must not overlap the destination in part", a);
}

void Dma(Collector &c, const Operation &o, bool load) {
  const int64_t count = o.v[2], length = o.v[3];
  // Both carry the destination's stride last when loading, first when storing.
  const int64_t gm_stride = o.v[4], local_stride = o.v[5];
  const int64_t local = load ? o.v[0] : o.v[1], gm = load ? o.v[1] : o.v[0];
  const Space space = load ? o.descriptor->space : Space::kUb;
  c.InRange("the number of bursts", count, 0, 4095);
  c.InRange("a burst's length", length, 0, 2097151);
  if (count == 0 || length == 0)
    return;
  c.Aligned("the address on the chip", local, kBlock);
  if (count > 1) {
    c.Aligned("the stride on the chip", local_stride, kBlock);
    c.Require(gm_stride >= length, "bursts must not overlap in GM", gm_stride);
    c.Require(local_stride >= length, "bursts must not overlap on the chip", local_stride);
  }
  if (!load && static_cast<Atomic>(o.descriptor->sub) != Atomic::kNone)
    c.Aligned("the length of an atomic write", length, TypeBytes(o.descriptor->type));
  c.Add(Space::kGm, !load, gm, length, count, gm_stride);
  // Blocks are written whole: what follows a burst in its last block is lost.
  c.Add(space, load, local, load ? RoundUp(length, kBlock) : length, count, local_stride);
}

void LoadNd2Nz(Collector &c, const Operation &o) {
  const int64_t rows = o.v[2], cols = o.v[3], src_stride = o.v[4], dst_rows = o.v[5], step = o.v[6];
  const int64_t size = TypeBytes(o.descriptor->type), c0 = kBlock / size;
  c.InRange("rows", rows, 0, 16384);
  c.InRange("cols", cols, 0, 65535);
  if (rows == 0 || cols == 0)
    return;
  c.Aligned("the address in L1", o.v[0], kBlock);
  c.InRange("row_step", step, 1, 16384);
  c.Require(dst_rows > (rows - 1) * step, "dst_rows must not be less than rows take", dst_rows);
  c.InRange("dst_rows", dst_rows, 1, 16384);
  if (rows > 1) {
    c.InRange("src_stride", src_stride, cols * size, 65535 * size);
    c.Aligned("dst_rows", dst_rows, 16);
  }
  c.Add(Space::kGm, false, o.v[1], cols * size, rows, src_stride);
  if (step == 1)
    c.Add(Space::kL1, true, o.v[0], rows * kBlock, CeilDiv(cols, c0), dst_rows * kBlock);
  else
    for (int64_t block = 0; block < CeilDiv(cols, c0); ++block)
      c.Add(Space::kL1, true, o.v[0] + block * dst_rows * kBlock, kBlock, rows, step * kBlock);
}

void LoadL0(Collector &c, const Operation &o) {
  const int64_t extent = o.v[2], k = o.v[3], src_rows = o.v[4];
  const int64_t size = TypeBytes(o.descriptor->type), c0 = kBlock / size;
  c.InRange("extent", extent, 0, 4095);
  c.InRange("k", k, 0, 4095);
  if (extent == 0 || k == 0)
    return;
  c.Aligned("the address in L0", o.v[0], 512);
  c.Aligned("the address in L1", o.v[1], kBlock);
  c.InRange("src_rows", src_rows, 1, 16384);
  const int64_t outer = CeilDiv(extent, 16);
  if (o.descriptor->sub == 0) {
    c.Add(Space::kL1, false, o.v[1], outer * 512, CeilDiv(k, c0), src_rows * kBlock);
    c.Add(o.descriptor->space, true, o.v[0], outer * CeilDiv(k, c0) * 512);
    return;
  }
  const int64_t k_rows = RoundUp(k, 16);
  c.Add(Space::kL1, false, o.v[1], k_rows * kBlock, outer * 16 / c0, src_rows * kBlock);
  c.Add(o.descriptor->space, true, o.v[0], outer * (k_rows / c0) * 512);
}

void Mmad(Collector &c, const Operation &o) {
  const int64_t m = o.v[3], n = o.v[4], k = o.v[5];
  const int64_t c0 = kBlock / TypeBytes(o.descriptor->type);
  c.InRange("m", m, 0, 4095);
  c.InRange("n", n, 0, 4095);
  c.InRange("k", k, 0, 4095);
  c.InRange("init", o.v[6], 0, 1);
  c.InRange("unit_flag", o.v[7], 0, static_cast<int64_t>(UnitFlag::kSet));
  if (m == 0 || n == 0)
    return;
  c.Require(k > 0, "k must be positive", k);
  c.Aligned("the address in L0C", o.v[0], 1024);
  c.Aligned("the address in L0A", o.v[1], 512);
  c.Aligned("the address in L0B", o.v[2], 512);
  const int64_t k_blocks = CeilDiv(k, c0);
  const int64_t a_blocks = o.descriptor->aux ? RoundUp(k, 16) / c0 : k_blocks;
  const int64_t bytes = CeilDiv(n, 16) * RoundUp(m, 16) * 64;
  c.Add(Space::kL0A, false, o.v[1], CeilDiv(m, 16) * a_blocks * 512);
  c.Add(Space::kL0B, false, o.v[2], k_blocks * CeilDiv(n, 16) * 512);
  if (o.v[6] == 0)
    c.Add(Space::kL0C, false, o.v[0], bytes);
  c.Add(Space::kL0C, true, o.v[0], bytes);
}

void Fixpipe(Collector &c, const Operation &o) {
  const int64_t m = o.v[2], n = o.v[3], dst_stride = o.v[4], src_rows = o.v[5];
  const int64_t size = TypeBytes(o.descriptor->type);
  c.InRange("m", m, 0, 8192);
  c.InRange("n", n, 0, 4095);
  if (m == 0 || n == 0)
    return;
  c.Aligned("the address in L0C", o.v[1], 64);
  c.Aligned("src_rows", src_rows, 16);
  c.Require(src_rows >= m, "src_rows must not be less than m", src_rows);
  c.InRange("src_rows", src_rows, 16, 8192);
  if (m > 1)
    c.Require(dst_stride >= n * size, "rows must not overlap in GM", dst_stride);
  c.Add(Space::kL0C, false, o.v[1], m * 64, CeilDiv(n, 16), src_rows * 64);
  c.Add(Space::kGm, true, o.v[0], n * size, m, dst_stride);
}

void VectorOp(Collector &c, const Operation &o) {
  const Descriptor &d = *o.descriptor;
  const int64_t *v = o.v;
  const int64_t size = TypeBytes(d.type), src_size = TypeBytes(d.src_type);
  switch (d.op) {
  case PipeOp::kVBinary:
    CheckMode(c, v[3], v[4], size);
    if (v[4] == 0) {
      CheckOverlap(c, v[0], v[3] * size, v[1], v[3] * size);
      CheckOverlap(c, v[0], v[3] * size, v[2], v[3] * size);
    }
    AddVector(c, false, v[1], size, v[3], v[4], v[7], v[8]);
    AddVector(c, false, v[2], size, v[3], v[4], v[9], v[10]);
    AddVector(c, true, v[0], size, v[3], v[4], v[5], v[6]);
    return;
  case PipeOp::kVUnary:
    CheckMode(c, v[2], v[3], size);
    if (v[3] == 0)
      CheckOverlap(c, v[0], v[2] * size, v[1], v[2] * size);
    AddVector(c, false, v[1], size, v[2], v[3], v[6], v[7]);
    AddVector(c, true, v[0], size, v[2], v[3], v[4], v[5]);
    return;
  case PipeOp::kVScalar:
    CheckMode(c, v[3], v[4], size);
    if (v[4] == 0)
      CheckOverlap(c, v[0], v[3] * size, v[1], v[3] * size);
    AddVector(c, false, v[1], size, v[3], v[4], v[7], v[8]);
    AddVector(c, true, v[0], size, v[3], v[4], v[5], v[6]);
    return;
  case PipeOp::kVDup:
    CheckMode(c, v[2], v[3], size);
    AddVector(c, true, v[0], size, v[2], v[3], v[4], v[5]);
    return;
  case PipeOp::kVCast:
    CheckMode(c, v[2], v[3], std::max(size, src_size));
    if (v[3] == 0)
      CheckOverlap(c, v[0], v[2] * size, v[1], v[2] * src_size);
    AddVector(c, false, v[1], src_size, v[2], v[3], v[6], v[7]);
    AddVector(c, true, v[0], size, v[2], v[3], v[4], v[5]);
    return;
  case PipeOp::kVCompare:
  case PipeOp::kVCompareS:
    CheckMode(c, v[3], 0, size);
    c.Aligned("bytes to compare", v[3] * size, kRepeatBytes);
    CheckOverlap(c, v[0], v[3] / 8, v[1], v[3] * size);
    AddVector(c, false, v[1], size, v[3], 0, 0, 0);
    if (d.op == PipeOp::kVCompare) {
      CheckOverlap(c, v[0], v[3] / 8, v[2], v[3] * size);
      AddVector(c, false, v[2], size, v[3], 0, 0, 0);
    }
    AddVector(c, true, v[0], 1, v[3] / 8, 0, 0, 0);
    return;
  case PipeOp::kVSelect:
    CheckMode(c, v[4], 0, size);
    CheckOverlap(c, v[0], v[4] * size, v[1], CeilDiv(v[4], 8));
    CheckOverlap(c, v[0], v[4] * size, v[2], v[4] * size);
    CheckOverlap(c, v[0], v[4] * size, v[3], v[4] * size);
    AddVector(c, false, v[1], 1, CeilDiv(v[4], 8), 0, 0, 0);
    AddVector(c, false, v[2], size, v[4], 0, 0, 0);
    AddVector(c, false, v[3], size, v[4], 0, 0, 0);
    AddVector(c, true, v[0], size, v[4], 0, 0, 0);
    return;
  case PipeOp::kVReduce: {
    CheckMode(c, v[3], 0, size);
    c.Require(v[3] > 0, "count must be positive", v[3]);
    const int64_t tmp = std::max(kBlock, CeilDiv(v[3] * size, kRepeatBytes) * kBlock);
    CheckOverlap(c, v[2], tmp, v[1], v[3] * size);
    AddVector(c, false, v[1], size, v[3], 0, 0, 0);
    AddVector(c, true, v[2], 1, tmp, 0, 0, 0);
    AddVector(c, true, v[0], 1, kBlock, 0, 0, 0);
    return;
  }
  case PipeOp::kVReduceRepeat:
    CheckMode(c, v[2], v[3], size);
    c.Require(v[2] > 0 && v[3] > 0, "count and repeats must be positive", v[2]);
    c.Aligned("the destination", v[0], size);
    c.Require(v[4] >= size && v[4] % size == 0, "results must not overlap", v[4]);
    AddVector(c, false, v[1], size, v[2], v[3], v[5], v[6]);
    c.Add(Space::kUb, true, v[0], size, v[3], v[4]);
    return;
  case PipeOp::kVBroadcast:
    c.InRange("repeats", v[2], 0, 255);
    AddVector(c, false, v[1], 1, v[2] * 8 * size, 0, 0, 0);
    AddVector(c, true, v[0], 1, v[2] * 8 * kBlock, 0, 0, 0);
    return;
  case PipeOp::kVReduceBlock:
    c.InRange("repeats", v[2], 0, 255);
    c.Require(v[0] + v[2] * kBlock <= v[1] || v[1] + v[2] * kRepeatBytes <= v[0],
              FaultKind::kOverlap, "results must not overlap what is reduced", v[0]);
    AddVector(c, false, v[1], 1, v[2] * kRepeatBytes, 0, 0, 0);
    AddVector(c, true, v[0], 1, v[2] * kBlock, 0, 0, 0);
    return;
  case PipeOp::kVDeinterleave: {
    CheckMode(c, v[2], 0, size);
    c.Require(v[3] == 2 || v[3] == 4, "only every second or fourth element can be taken", v[3]);
    const int64_t results = v[3] > 0 ? CeilDiv(v[2], v[3]) : 0;
    c.Require(v[0] + results * size <= v[1] || v[1] + v[2] * size <= v[0], FaultKind::kOverlap,
              "results must not overlap what they are taken from", v[0]);
    AddVector(c, false, v[1], size, v[2], 0, 0, 0);
    AddVector(c, true, v[0], size, results, 0, 0, 0);
    return;
  }
  case PipeOp::kVTranspose:
    c.InRange("repeats", v[2], 0, 255);
    c.Aligned("a stride", v[3], kBlock);
    c.Aligned("a stride", v[4], kBlock);
    c.InRange("a stride of the destination in blocks", v[3] / kBlock, 1, 65535 / (kBlock / size));
    c.Aligned("a vector operand's address", v[0], kBlock);
    c.Aligned("a vector operand's address", v[1], kBlock);
    if (v[2] > 0) {
      c.Add(Space::kUb, false, v[1], v[2] * kBlock, 16, v[4]);
      c.Add(Space::kUb, true, v[0], 16 * size, v[2] * (kBlock / size), v[3]);
    }
    return;
  default:
    return;
  }
}

} // namespace

Violation AccessesOf(const Operation &o, std::vector<Access> &accesses) {
  Collector c(accesses);
  switch (o.descriptor->op) {
  case PipeOp::kSetFlag:
  case PipeOp::kWaitFlag:
    c.InRange("an event id", o.v[0], 0, kMaxEventIds - 1);
    break;
  case PipeOp::kBarrier:
  case PipeOp::kCrossSet:
  case PipeOp::kCrossWait:
    break;
  case PipeOp::kLoad:
    Dma(c, o, true);
    break;
  case PipeOp::kStore:
    Dma(c, o, false);
    break;
  case PipeOp::kLoadNd2Nz:
    LoadNd2Nz(c, o);
    break;
  case PipeOp::kLoadL0:
    LoadL0(c, o);
    break;
  case PipeOp::kMmad:
    Mmad(c, o);
    break;
  case PipeOp::kFixpipe:
    Fixpipe(c, o);
    break;
  default:
    VectorOp(c, o);
  }
  return std::move(c).error();
}

} // namespace pyasc::sim
