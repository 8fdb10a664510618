#include "compiler/syntax/token.h"

#include <algorithm>
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

} // namespace

std::string_view TokenSpelling(TokenKind kind) {
  int index = static_cast<int>(kind) - kFirstSpelled;
  return index < 0 ? std::string_view() : kSpellings[index];
}

TokenKind KeywordOrName(std::string_view name) {
  const auto *first = std::begin(kSpellings) + kFirstKeyword;
  const auto *it = std::lower_bound(first, std::end(kSpellings), name);
  if (it == std::end(kSpellings) || *it != name)
    return TokenKind::Name;
  return static_cast<TokenKind>(kFirstSpelled + (it - std::begin(kSpellings)));
}

} // namespace pyasc::syntax
