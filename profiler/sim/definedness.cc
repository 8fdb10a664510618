#include "profiler/sim/definedness.h"

#include <algorithm>
#include <bit>

namespace pyasc::sim {
namespace {

using namespace sim_isa;

// Bits [from, to) of a word.
constexpr uint32_t Bits(int64_t from, int64_t to) {
  const uint32_t below = to == 32 ? ~uint32_t{0} : (uint32_t{1} << to) - 1;
  return below & ~((uint32_t{1} << from) - 1);
}

// An operand of a vector instruction: where element `index` of a repeat starts.
struct VectorOperand {
  int64_t base, size, block, repeat;
  int64_t At(int64_t r, int64_t index) const {
    const int64_t byte = index * size;
    return base + r * repeat * 32 + byte / 32 * block * 32 + byte % 32;
  }
};

} // namespace

// --------------------------------------------------------------------------------------- bytes

bool DefinedBytes::All(int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end;) {
    const int64_t word = at / 32, upto = std::min<int64_t>(end, (word + 1) * 32);
    const uint32_t mask = Bits(at - word * 32, upto - word * 32);
    if ((words_[word] & mask) != mask)
      return false;
    at = upto;
  }
  return true;
}

bool DefinedBytes::Any(int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end;) {
    const int64_t word = at / 32, upto = std::min<int64_t>(end, (word + 1) * 32);
    if ((words_[word] & Bits(at - word * 32, upto - word * 32)) != 0)
      return true;
    at = upto;
  }
  return false;
}

std::pair<int64_t, int64_t> DefinedBytes::FirstUndefined(int64_t begin, int64_t end) const {
  while (begin < end && All(begin, begin + 1))
    ++begin;
  int64_t stop = begin;
  while (stop < end && !All(stop, stop + 1))
    ++stop;
  return {begin, stop};
}

void DefinedBytes::Fill(int64_t begin, int64_t end, bool value) {
  for (int64_t at = begin; at < end;) {
    const int64_t word = at / 32, upto = std::min<int64_t>(end, (word + 1) * 32);
    const uint32_t mask = Bits(at - word * 32, upto - word * 32);
    words_[word] = value ? words_[word] | mask : words_[word] & ~mask;
    if (!origins_.empty() && (!value || words_[word] == ~uint32_t{0}))
      origins_[word] = 0;
    at = upto;
  }
}

void DefinedBytes::Copy(int64_t to, const DefinedBytes &from, int64_t at, int64_t bytes) {
  if (from.All(at, at + bytes))
    return Set(to, to + bytes);
  for (int64_t i = 0; i < bytes; ++i) {
    const bool defined = from.All(at + i, at + i + 1);
    Fill(to + i, to + i + 1, defined);
  }
  for (int64_t i = 0; i < bytes; i += 32)
    if (const uint32_t origin = from.origin(at + i))
      SetOrigin(to + i, to + std::min(bytes, i + 32), origin);
}

void DefinedBytes::ClearAll() {
  std::fill(words_.begin(), words_.end(), 0);
  origins_.clear();
}

void DefinedBytes::SetOrigin(int64_t begin, int64_t end, uint32_t site) {
  if (begin >= end || (origins_.empty() && site == 0))
    return;
  if (origins_.empty())
    origins_.resize(words_.size());
  for (int64_t block = begin / 32; block * 32 < end; ++block)
    origins_[block] = site;
}

// ---------------------------------------------------------------------------------- instructions

Definedness::Definedness(CoreMemory &memory, GmOf gm_of) : gm_of_(std::move(gm_of)) {
  for (int space = 1; space < kNumSpaces; ++space)
    memories_[space] = DefinedBytes(memory.spaces[space].size());
}

void Definedness::Reset() {
  for (DefinedBytes &memory : memories_)
    memory.ClearAll();
}

std::optional<UndefinedUse> Definedness::Use(Space space, int64_t begin, int64_t end) {
  DefinedBytes &memory = At(space);
  if (memory.All(begin, end))
    return std::nullopt;
  auto [first, last] = memory.FirstUndefined(begin, end);
  const UndefinedUse use{space, first, last, memory.origin(first)};
  memory.Set(begin, end); // said once
  return use;
}

void Definedness::WrittenToGm(int64_t address, int64_t bytes) {
  int64_t base = 0;
  if (DefinedBytes *gm = gm_of_(address, base))
    gm->Set(address - base, address - base + bytes);
}

std::optional<UndefinedUse> Definedness::Execute(const Operation &o,
                                                 std::span<const Access> accesses, uint32_t site) {
  if (accesses.empty()) // it does nothing
    return std::nullopt;
  switch (o.descriptor->op) {
  case PipeOp::kSetFlag:
  case PipeOp::kWaitFlag:
  case PipeOp::kBarrier:
  case PipeOp::kCrossSet:
  case PipeOp::kCrossWait:
    break;
  case PipeOp::kLoad:
    Load(o, site);
    break;
  case PipeOp::kLoadNd2Nz:
    LoadNd2Nz(o, site);
    break;
  case PipeOp::kStore:
    return Store(o);
  case PipeOp::kLoadL0:
    LoadL0(o, site);
    break;
  case PipeOp::kMmad:
    Mmad(o, site);
    break;
  case PipeOp::kFixpipe:
    return Fixpipe(o);
  default:
    Vector(o, accesses, site);
  }
  return std::nullopt;
}

void Definedness::TakeIn(DefinedBytes &to, int64_t at, const DefinedBytes &from, int64_t source,
                         int64_t bytes, uint32_t site) {
  to.Copy(at, from, source, bytes);
  if (to.All(at, at + bytes))
    return;
  for (int64_t i = 0; i < bytes; i += 32)
    if (from.origin(source + i) == 0)
      to.SetOrigin(at + i, at + std::min(bytes, i + 32), site);
}

void Definedness::Load(const Operation &o, uint32_t site) {
  DefinedBytes &to = At(o.descriptor->space);
  const int64_t length = o.v[3];
  int64_t base = 0;
  DefinedBytes *gm = gm_of_(o.v[1], base);
  for (int64_t i = 0; i < o.v[2]; ++i) {
    const int64_t at = o.v[0] + (o.v[2] > 1 ? i * o.v[5] : 0);
    if (gm)
      TakeIn(to, at, *gm, o.v[1] - base + (o.v[2] > 1 ? i * o.v[4] : 0), length, site);
    else
      to.Set(at, at + length);
    to.Clear(at + length, at + RoundUp(length, 32));
  }
}

void Definedness::LoadNd2Nz(const Operation &o, uint32_t site) {
  DefinedBytes &to = At(Space::kL1);
  const int64_t rows = o.v[2], bytes = o.v[3] * TypeBytes(o.descriptor->type), dst_rows = o.v[5];
  const int64_t step = o.v[6] * 32;
  int64_t base = 0;
  DefinedBytes *gm = gm_of_(o.v[1], base);
  for (int64_t at = 0, block = 0; at < bytes; at += 32, ++block) {
    const int64_t first = o.v[0] + block * dst_rows * 32;
    for (int64_t r = 0; r < rows; ++r) {
      // The end of a last block is filled with zeros.
      to.Set(first + r * step, first + r * step + 32);
      if (gm)
        TakeIn(to, first + r * step, *gm, o.v[1] - base + (rows > 1 ? r * o.v[4] : 0) + at,
               std::min<int64_t>(32, bytes - at), site);
    }
  }
}

std::optional<UndefinedUse> Definedness::Store(const Operation &o) {
  std::optional<UndefinedUse> use;
  for (int64_t i = 0; i < o.v[2]; ++i) {
    const int64_t at = o.v[1] + (o.v[2] > 1 ? i * o.v[5] : 0);
    if (auto found = Use(Space::kUb, at, at + o.v[3]); found && !use)
      use = found;
    WrittenToGm(o.v[0] + (o.v[2] > 1 ? i * o.v[4] : 0), o.v[3]);
  }
  return use;
}

std::optional<UndefinedUse> Definedness::Fixpipe(const Operation &o) {
  std::optional<UndefinedUse> use;
  const int64_t m = o.v[2], n = o.v[3], src_rows = o.v[5];
  for (int64_t r = 0; r < m; ++r)
    for (int64_t first = 0; first < n; first += 16) {
      const int64_t at = o.v[1] + (first / 16 * src_rows + r) * 64;
      if (auto found = Use(Space::kL0C, at, at + 4 * std::min<int64_t>(16, n - first));
          found && !use)
        use = found;
    }
  for (int64_t r = 0; r < m; ++r)
    WrittenToGm(o.v[0] + (m > 1 ? r * o.v[4] : 0), n * TypeBytes(o.descriptor->type));
  return use;
}

void Definedness::LoadL0(const Operation &o, uint32_t site) {
  const Descriptor &d = *o.descriptor;
  const int64_t extent = o.v[2], k = o.v[3], src_rows = o.v[4];
  const int64_t size = TypeBytes(d.type), c0 = 32 / size, outer = CeilDiv(extent, 16);
  const bool to_a = d.space == Space::kL0A, transpose = d.sub != 0;
  const int64_t k_blocks = transpose ? RoundUp(k, 16) / c0 : CeilDiv(k, c0);
  DefinedBytes &from = At(Space::kL1), &to = At(d.space);
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < k_blocks; ++j) {
      const int64_t fractal = o.v[0] + (to_a ? i * k_blocks + j : j * outer + i) * 512;
      if (!transpose) {
        TakeIn(to, fractal, from, o.v[1] + (j * src_rows + i * 16) * 32, 512, site);
        continue;
      }
      for (int64_t r = 0; r < 16; ++r)
        for (int64_t e = 0; e < c0; ++e) {
          const int64_t column = i * 16 + r, row = j * c0 + e;
          TakeIn(to, fractal + r * 32 + e * size, from,
                 o.v[1] + (column / c0 * src_rows + row) * 32 + column % c0 * size, size, site);
        }
    }
}

// A row of c is defined where its row of a, the column of b, and what is added to, are.
void Definedness::Mmad(const Operation &o, uint32_t site) {
  const Descriptor &d = *o.descriptor;
  const int64_t m = o.v[3], n = o.v[4], k = o.v[5];
  const int64_t size = TypeBytes(d.type), c0 = 32 / size, k_blocks = CeilDiv(k, c0);
  const int64_t a_pitch = d.aux ? RoundUp(k, 16) / c0 : k_blocks;
  const int64_t n_blocks = CeilDiv(n, 16), m_padded = RoundUp(m, 16);
  // Undefined elements of an operand's row, and where they came from.
  auto row_defined = [&](Space space, int64_t base, int64_t row_pitch, int64_t k_pitch, int64_t row,
                         uint32_t &origin) {
    for (int64_t j = 0; j < k_blocks; ++j) {
      const int64_t at = base + (row / 16 * row_pitch + j * k_pitch) * 512 + row % 16 * 32;
      if (At(space).All(at, at + std::min(c0, k - j * c0) * size))
        continue;
      origin = At(space).origin(at);
      return false;
    }
    return true;
  };
  uint32_t origin = 0;
  std::vector<bool> columns(n);
  for (int64_t e = 0; e < n; ++e)
    columns[e] = row_defined(Space::kL0B, o.v[2], 1, n_blocks, e, origin);
  DefinedBytes &c = At(Space::kL0C);
  for (int64_t r = 0; r < m; ++r) {
    const bool row = row_defined(Space::kL0A, o.v[1], a_pitch, 1, r, origin);
    for (int64_t j = 0; j < n_blocks; ++j) {
      const int64_t at = o.v[0] + (j * m_padded + r) * 64;
      const int64_t width = std::min<int64_t>(16, n - j * 16);
      bool whole = row && (o.v[6] != 0 || c.All(at, at + width * 4));
      for (int64_t e = 0; whole && e < width; ++e)
        whole = columns[j * 16 + e];
      if (whole) {
        c.Set(at, at + width * 4);
      } else {
        const uint32_t before = c.origin(at);
        for (int64_t e = 0; e < width; ++e) {
          const int64_t element = at + e * 4;
          if (row && columns[j * 16 + e] && (o.v[6] != 0 || c.All(element, element + 4)))
            c.Set(element, element + 4);
          else
            c.Clear(element, element + 4);
        }
        c.SetOrigin(at, at + width * 4, origin ? origin : before ? before : site);
      }
      c.Clear(at + width * 4, at + 64);
    }
  }
}

void Definedness::Vector(const Operation &o, std::span<const Access> accesses, uint32_t site) {
  DefinedBytes &ub = At(Space::kUb);
  auto whole = [&](const Access &access) {
    for (int64_t run = 0; run < access.count; ++run) {
      const int64_t at = access.start + run * access.stride;
      if (!ub.All(at, at + access.length))
        return false;
    }
    return true;
  };
  const Descriptor &d = *o.descriptor;
  const bool all = std::all_of(accesses.begin(), accesses.end(),
                               [&](const Access &a) { return a.write || whole(a); });
  if (d.op == PipeOp::kVReduce) {
    // The rest of the result's block, and tmp, hold nothing of use.
    uint32_t origin = 0;
    for (const Access &access : accesses)
      if (!access.write && !all)
        origin = ub.origin(ub.FirstUndefined(access.start, access.end()).first);
    for (const Access &access : accesses)
      if (access.write)
        ub.Clear(access.start, access.end());
    if (all)
      ub.Set(o.v[0], o.v[0] + TypeBytes(d.type));
    else
      ub.SetOrigin(o.v[0], o.v[0] + 32, origin ? origin : site);
    return;
  }
  if (!all)
    return VectorElements(o, site);
  for (const Access &access : accesses)
    for (int64_t run = 0; access.write && run < access.count; ++run) {
      const int64_t at = access.start + run * access.stride;
      ub.Set(at, at + access.length);
    }
}

void Definedness::VectorElements(const Operation &o, uint32_t site) {
  DefinedBytes &ub = At(Space::kUb);
  const Descriptor &d = *o.descriptor;
  const int64_t *v = o.v;
  const int64_t size = TypeBytes(d.type), src_size = TypeBytes(d.src_type);
  uint32_t origin = 0;
  auto defined = [&](int64_t at, int64_t bytes) {
    if (ub.All(at, at + bytes))
      return true;
    if (const uint32_t earlier = ub.origin(at))
      origin = earlier;
    return false;
  };
  auto put = [&](int64_t at, int64_t bytes, bool ok) {
    if (ok)
      return ub.Set(at, at + bytes);
    ub.Clear(at, at + bytes);
    ub.SetOrigin(at, at + bytes, origin ? origin : site);
  };
  // dst[i] from the same element of each source.
  auto elementwise = [&](int64_t count, int64_t repeats, const VectorOperand &dst,
                         std::initializer_list<VectorOperand> sources) {
    for (int64_t r = 0; r < std::max<int64_t>(1, repeats); ++r)
      for (int64_t i = 0; i < count; ++i) {
        bool ok = true;
        for (const VectorOperand &source : sources)
          ok &= defined(source.At(r, i), source.size);
        put(dst.At(r, i), dst.size, ok);
      }
  };
  auto operand = [&](int64_t base, int64_t bytes, int64_t repeats, int64_t block, int64_t repeat) {
    return VectorOperand{base, bytes, repeats == 0 ? 1 : block, repeats == 0 ? 0 : repeat};
  };
  switch (d.op) {
  case PipeOp::kVBinary:
    return elementwise(
        v[3], v[4], operand(v[0], size, v[4], v[5], v[6]),
        {operand(v[1], size, v[4], v[7], v[8]), operand(v[2], size, v[4], v[9], v[10])});
  case PipeOp::kVUnary:
    return elementwise(v[2], v[3], operand(v[0], size, v[3], v[4], v[5]),
                       {operand(v[1], size, v[3], v[6], v[7])});
  case PipeOp::kVCast: {
    // In place and of two widths, results would lie over sources that are still to be looked at.
    const VectorOperand dst = operand(v[0], size, v[3], v[4], v[5]);
    const VectorOperand src = operand(v[1], src_size, v[3], v[6], v[7]);
    const int64_t repeats = std::max<int64_t>(1, v[3]);
    std::vector<bool> ok(repeats * v[2]);
    for (int64_t r = 0; r < repeats; ++r)
      for (int64_t i = 0; i < v[2]; ++i)
        ok[r * v[2] + i] = defined(src.At(r, i), src_size);
    for (int64_t r = 0; r < repeats; ++r)
      for (int64_t i = 0; i < v[2]; ++i)
        put(dst.At(r, i), size, ok[r * v[2] + i]);
    return;
  }
  case PipeOp::kVScalar:
    return elementwise(v[3], v[4], operand(v[0], size, v[4], v[5], v[6]),
                       {operand(v[1], size, v[4], v[7], v[8])});
  case PipeOp::kVCompare:
  case PipeOp::kVCompareS:
    // A byte of the mask holds eight results; those of padding may be undefined.
    for (int64_t i = 0; i < v[3]; i += 8) {
      bool any = false;
      for (int64_t e = i; e < i + 8; ++e)
        any |= defined(v[1] + e * size, size) &&
               (d.op == PipeOp::kVCompareS || defined(v[2] + e * size, size));
      put(v[0] + i / 8, 1, any);
    }
    return;
  case PipeOp::kVSelect:
    for (int64_t i = 0; i < v[4]; ++i) {
      bool ok = defined(v[1] + i / 8, 1);
      ok &= defined(v[2] + i * size, size);
      ok &= defined(v[3] + i * size, size);
      put(v[0] + i * size, size, ok);
    }
    return;
  case PipeOp::kVReduceRepeat: {
    const VectorOperand a = operand(v[1], size, v[3], v[5], v[6]);
    for (int64_t r = 0; r < v[3]; ++r) {
      bool ok = true;
      for (int64_t i = 0; i < v[2]; ++i)
        ok &= defined(a.At(r, i), size);
      put(v[0] + r * v[4], size, ok);
    }
    return;
  }
  case PipeOp::kVReduceBlock:
    for (int64_t i = 0; i < v[2] * 8; ++i) {
      bool ok = true;
      for (int64_t e = 0; e < 8; ++e)
        ok &= defined(v[1] + i * 32 + e * size, size);
      put(v[0] + i * size, size, ok);
    }
    return;
  case PipeOp::kVDeinterleave:
    for (int64_t i = 0; i * v[3] < v[2]; ++i)
      put(v[0] + i * size, size, defined(v[1] + i * v[3] * size, size));
    return;
  case PipeOp::kVTranspose:
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t j = 0; j < v[2] * (32 / size); ++j)
        put(v[0] + j * v[3] + i * size, size, defined(v[1] + i * v[4] + j * size, size));
    return;
  case PipeOp::kVBroadcast:
    for (int64_t i = v[2] * 8 - 1; i >= 0; --i)
      put(v[0] + i * 32, 32, defined(v[1] + i * size, size));
    return;
  default:
    return;
  }
}

std::optional<UndefinedUse> Definedness::ScalarLoad(Space space, int64_t address, int64_t bytes) {
  if (space != Space::kGm)
    return Use(space, address, address + bytes);
  int64_t base = 0;
  DefinedBytes *gm = gm_of_(address, base);
  if (!gm || gm->All(address - base, address - base + bytes))
    return std::nullopt;
  gm->Set(address - base, address - base + bytes);
  return UndefinedUse{space, address, address + bytes, 0};
}

void Definedness::ScalarStore(Space space, int64_t address, int64_t bytes) {
  if (space != Space::kGm)
    At(space).Set(address, address + bytes);
  else
    WrittenToGm(address, bytes);
}

} // namespace pyasc::sim
