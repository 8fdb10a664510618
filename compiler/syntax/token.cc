#include "compiler/syntax/token.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace pyasc::syntax {
namespace {

constexpr std::string_view kSpellings[] = {
#define X(name, spelling) spelling,
    PYASC_PUNCTUATION(X) PYASC_KEYWORDS(X)
#undef X
};

constexpr int kFirstSpelled = static_cast<int>(TokenKind::LParen);
constexpr int kFirstKeyword = static_cast<int>(TokenKind::KwFalse) - kFirstSpelled;

static_assert(std::is_sorted(std::begin(kSpellings) + kFirstKeyword, std::end(kSpellings)));

constexpr size_t kLongestKeyword = 8;

// By first letter: the keywords [first, last) in kSpellings.
struct Bucket {
  uint8_t first = 0;
  uint8_t last = 0;
};
constexpr auto kBuckets = [] {
  std::array<Bucket, 256> out;
  for (size_t i = kFirstKeyword; i < std::size(kSpellings); ++i) {
    Bucket &bucket = out[static_cast<unsigned char>(kSpellings[i][0])];
    if (bucket.last == 0)
      bucket.first = static_cast<uint8_t>(i);
    bucket.last = static_cast<uint8_t>(i + 1);
  }
  return out;
}();

} // namespace

std::string_view TokenSpelling(TokenKind kind) {
  int index = static_cast<int>(kind) - kFirstSpelled;
  return index < 0 ? std::string_view() : kSpellings[index];
}

TokenKind KeywordOrName(std::string_view name) {
  if (name.empty() || name.size() > kLongestKeyword)
    return TokenKind::Name;
  Bucket bucket = kBuckets[static_cast<unsigned char>(name[0])];
  for (int i = bucket.first; i < bucket.last; ++i)
    if (kSpellings[i] == name)
      return static_cast<TokenKind>(kFirstSpelled + i);
  return TokenKind::Name;
}

} // namespace pyasc::syntax
