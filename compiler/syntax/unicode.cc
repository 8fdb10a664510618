#include "compiler/syntax/unicode.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace pyasc::syntax {
namespace {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

#include "compiler/syntax/unicode_tables.inc"

bool Contains(std::span<const CodePointRange> table, uint32_t c) {
  auto it =
      std::upper_bound(table.begin(), table.end(), c,
                       [](uint32_t value, const CodePointRange &r) { return value < r.first; });
  return it != table.begin() && c <= std::prev(it)->last;
}

} // namespace

size_t Utf8Length(unsigned char lead) {
  return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

uint32_t DecodeUtf8(std::string_view text, size_t offset) {
  auto byte = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(text[offset + i]); };
  switch (Utf8Length(byte(0))) {
  case 1:
    return byte(0);
  case 2:
    return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
  case 3:
    return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  default:
    return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
           (byte(3) & 0x3F);
  }
}

void AppendUtf8(std::string &out, uint32_t c) {
  auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | ((c >> shift) & 0x3F))); };
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | c >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

size_t FindInvalidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    // Most text is ASCII: eight bytes at a time.
    for (uint64_t word; i + sizeof(word) <= text.size(); i += sizeof(word)) {
      std::memcpy(&word, text.data() + i, sizeof(word));
      if ((word & 0x8080808080808080) != 0)
        break;
    }
    if (i == text.size())
      break;
    auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    size_t n = Utf8Length(lead);
    if (lead < 0xC2 || lead > 0xF4 || i + n > text.size())
      return i;
    for (size_t k = 1; k < n; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80)
        return i;
    uint32_t c = DecodeUtf8(text, i);
    bool overlong = (n == 3 && c < 0x800) || (n == 4 && c < 0x10000);
    if (overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
      return i;
    i += n;
  }
  return std::string_view::npos;
}

bool IsIdentifierStart(uint32_t c) { return Contains(kIdentifierStart, c); }
bool IsIdentifierContinue(uint32_t c) { return Contains(kIdentifierContinue, c); }

bool IsNormalIdentifier(std::string_view identifier) {
  bool after_mark = false;
  for (size_t i = 0; i < identifier.size();) {
    uint32_t c = DecodeUtf8(identifier, i);
    i += Utf8Length(static_cast<unsigned char>(identifier[i]));
    if (c < 0x80) {
      after_mark = false;
      continue;
    }
    if (Contains(kNotNormal, c))
      return false;
    bool mark = Contains(kCombiningMark, c);
    if (mark && after_mark)
      return false;
    after_mark = mark;
  }
  return true;
}

} // namespace pyasc::syntax
