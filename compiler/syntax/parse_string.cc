// Strings and f-strings, adjacent ones joined.
#include <algorithm>
#include <string>

#include "compiler/syntax/literal.h"
#include "compiler/syntax/parser.h"

namespace pyasc::syntax {
namespace {

// A string full of bad escapes is complained about so many times.
constexpr int kMaxFaultsPerToken = 8;

struct Affixes {
  size_t prefix = 0; // bytes before the quotes
  size_t quotes = 1; // bytes of the quotes at either end
  bool raw = false, bytes = false, u = false;
};

Affixes AffixesOf(std::string_view token) {
  Affixes out;
  for (; token[out.prefix] != '"' && token[out.prefix] != '\''; ++out.prefix) {
    char c = static_cast<char>(token[out.prefix] | 0x20);
    out.raw |= c == 'r';
    out.bytes |= c == 'b';
    out.u |= c == 'u';
  }
  std::string_view rest = token.substr(out.prefix);
  bool triple = rest.starts_with("\"\"\"") || rest.starts_with("'''");
  out.quotes = triple ? 3 : 1;
  return out;
}

} // namespace

// What adjacent strings add up to: literal text between replacement fields.
struct Parser::StringParts {
  Items<Expr *> values;
  std::string literal; // since the last field
  SourceRange literal_range;
  bool u_prefix = false;
  bool is_fstring = false;

  void ExtendRange(const SourceRange &range) {
    literal_range = literal_range.IsKnown() ? SourceRange::Join(literal_range, range) : range;
  }
};

Expr *Parser::ParseStrings() {
  const Token &start = Peek();
  if (Expr *plain = ParsePlainString())
    return plain;
  StringParts parts;
  // Bytes and text do not mix; the first string decides.
  Affixes first = AffixesOf(TextOf(Peek()));
  parts.u_prefix = first.u;
  while (!panic_ && (At(TokenKind::String) || At(TokenKind::FStringStart))) {
    if (AffixesOf(TextOf(Peek())).bytes != first.bytes)
      Complain("invalid-string", Here(), "strings and bytes cannot be joined")
          .Note(RangeOf(start), "the first of them is here");
    if (At(TokenKind::String))
      AddString(parts);
    else
      AddFString(parts);
  }
  if (!parts.is_fstring) {
    auto *node = NewConstant(first.bytes ? ConstantKind::Bytes : ConstantKind::Str, RangeOf(start));
    node->str_value = arena_.CopyText(parts.literal);
    node->u_prefix = parts.u_prefix;
    return Finish(node, start);
  }
  FlushLiteral(parts);
  auto *node = New<JoinedStr>();
  node->values = arena_.Copy(parts.values);
  return Finish(node, start, node->values);
}

// One string that is its own value, as most are: a view of the text. Null when the next is not.
Expr *Parser::ParsePlainString() {
  const Token &token = Peek();
  if (!At(TokenKind::String) || At(TokenKind::String, 1) || At(TokenKind::FStringStart, 1))
    return nullptr;
  std::string_view text = TextOf(token);
  Affixes a = AffixesOf(text);
  text = text.substr(a.prefix + a.quotes, text.size() - a.prefix - 2 * a.quotes);
  bool decodes = std::any_of(text.begin(), text.end(), [&](char c) {
    return c == '\\' || c == '\r' || (a.bytes && static_cast<unsigned char>(c) >= 0x80);
  });
  if (decodes)
    return nullptr;
  Constant *node = NewConstant(a.bytes ? ConstantKind::Bytes : ConstantKind::Str, RangeOf(token));
  node->str_value = text;
  node->u_prefix = a.u;
  Advance();
  return node;
}

void Parser::FlushLiteral(StringParts &parts) {
  if (!parts.literal.empty()) {
    Constant *node = NewConstant(ConstantKind::Str, parts.literal_range);
    node->str_value = arena_.CopyText(parts.literal);
    node->u_prefix = parts.u_prefix;
    parts.values.push_back(node);
  }
  parts.literal.clear();
  parts.literal_range = SourceRange{};
}

void Parser::AddString(StringParts &parts) {
  const Token &token = Peek();
  Affixes a = AffixesOf(TextOf(token));
  EscapeMode mode = a.raw ? EscapeMode::Raw : a.bytes ? EscapeMode::Bytes : EscapeMode::Str;
  std::string_view text = TextOf(token);
  if (a.bytes) {
    auto bad = std::find_if(text.begin(), text.end(),
                            [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    if (bad != text.end())
      Complain("invalid-string", RangeInside(token, static_cast<size_t>(bad - text.begin()), 1),
               "bytes hold ASCII characters only; write others as '\\x..'");
  }
  AddDecoded(parts, token, a.prefix + a.quotes, a.quotes, mode, /*doubled_braces=*/false);
  Advance();
}

void Parser::AddDecoded(StringParts &parts, const Token &token, size_t before, size_t after,
                        EscapeMode mode, bool doubled_braces) {
  std::string_view text = TextOf(token);
  text = text.substr(before, text.size() - before - after);
  parts.ExtendRange(RangeOf(token));
  int faults = 0;
  DecodeString(
      text, mode, doubled_braces,
      [&](const LiteralFault &fault) {
        if (++faults > kMaxFaultsPerToken)
          return;
        SourceRange range = RangeInside(token, before + fault.offset, fault.length);
        if (fault.warning)
          diags_.Warning(fault.code, range, fault.message);
        else
          Complain(fault.code, range, fault.message);
      },
      parts.literal);
}

// The range of some bytes of a token, on one line.
SourceRange Parser::RangeInside(const Token &token, size_t offset, size_t length) const {
  SourceRange range = {options_.file, token.line, token.column, token.line, token.column};
  std::string_view text = TextOf(token);
  for (size_t i = 0; i < offset; ++i) {
    bool newline = text[i] == '\n' || (text[i] == '\r' && text.substr(i + 1, 1) != "\n");
    if (newline) {
      ++range.line;
      range.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++range.column;
    }
  }
  range.end_line = range.line;
  range.end_column = range.column;
  for (size_t i = offset; i < std::min(offset + length, text.size()); ++i)
    range.end_column += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  range.end_column = std::max(range.end_column, range.column + 1);
  return range;
}

// ---- f-strings

void Parser::AddFString(StringParts &parts) {
  parts.is_fstring = true;
  Nest nest(*this);
  if (panic_)
    return;
  bool raw = AffixesOf(TextOf(Peek())).raw;
  Advance();
  while (!panic_ && !At(TokenKind::FStringEnd)) {
    if (At(TokenKind::FStringMiddle)) {
      AddDecoded(parts, Peek(), 0, 0, raw ? EscapeMode::Raw : EscapeMode::Str,
                 /*doubled_braces=*/true);
      Advance();
    } else if (At(TokenKind::LBrace)) {
      AddField(parts, raw);
    } else {
      FailExpected("the end of the f-string");
    }
  }
  Eat(TokenKind::FStringEnd);
}

void Parser::AddField(StringParts &parts, bool raw) {
  Nest nest(*this);
  if (panic_)
    return;
  const Token &start = Peek();
  size_t text_begin = Peek().end;
  Advance();
  if (At(TokenKind::RBrace) || At(TokenKind::Colon) || At(TokenKind::Exclamation)) {
    Fail("expected-expression", Here(),
         "expected an expression after '{' in an f-string; a brace itself is written '{{'");
    return;
  }
  auto *node = New<FormattedValue>();
  node->value = ParseYieldOrStarExpressions();
  RefuseLoneStarred(node->value);
  bool debug = At(TokenKind::Equal);
  if (debug) { // f"{x=}" shows its own text
    Advance();
    parts.literal.append(text_.substr(text_begin, Peek().begin - text_begin));
    parts.ExtendRange(SourceRange::Join(RangeOf(start).End(), Here().Begin()));
  }
  if (At(TokenKind::Exclamation)) {
    uint32_t after = Peek().end;
    Advance();
    bool adjacent = At(TokenKind::Name) && Peek().begin == after;
    std::string_view conversion = adjacent ? TextOf(Peek()) : std::string_view();
    if (conversion == "s" || conversion == "r" || conversion == "a") {
      node->conversion = conversion[0];
      Advance();
    } else {
      Fail("invalid-conversion", Here(),
           "expected 's', 'r' or 'a' right after '!' in an f-string, met " +
               (At(TokenKind::Name) && !adjacent ? "a blank" : DescribeNext()));
    }
  }
  if (At(TokenKind::Colon))
    node->format_spec = ParseFormatSpec(raw, parts.u_prefix);
  else if (debug && node->conversion < 0)
    node->conversion = 'r';
  if (!panic_ && !At(TokenKind::RBrace))
    FailExpected("'}' to end the replacement field");
  Advance();
  FlushLiteral(parts);
  parts.values.push_back(Finish(node, start, node->value, node->format_spec));
}

Expr *Parser::ParseFormatSpec(bool raw, bool u_prefix) {
  const Token &start = Peek(); // the colon, as in CPython
  Advance();
  StringParts parts;
  parts.u_prefix = u_prefix;
  while (!panic_ && !At(TokenKind::RBrace)) {
    if (At(TokenKind::FStringMiddle)) {
      AddDecoded(parts, Peek(), 0, 0, raw ? EscapeMode::Raw : EscapeMode::Str,
                 /*doubled_braces=*/false);
      Advance();
    } else if (At(TokenKind::LBrace)) {
      AddField(parts, raw);
    } else {
      FailExpected("'}' to end the replacement field");
    }
  }
  FlushLiteral(parts);
  auto *node = New<JoinedStr>();
  node->values = arena_.Copy(parts.values);
  return Finish(node, start, node->values);
}

} // namespace pyasc::syntax
