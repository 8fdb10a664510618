#include "compiler/syntax/literal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/syntax/unicode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Unicode.h"

namespace pyasc::syntax {
namespace {

int HexValue(char c) { return static_cast<int>(llvm::hexDigitValue(c)); } // -1U: none

constexpr char kHexDigits[] = "0123456789abcdef";

// The hexadecimal digits of a number given in base 2^bits.
std::string HexOfPowerOfTwoBase(std::string_view digits, int bits) {
  std::string reversed;
  uint32_t pending = 0;
  int pending_bits = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    pending |= static_cast<uint32_t>(HexValue(digits[i])) << pending_bits;
    pending_bits += bits;
    while (pending_bits >= 4) {
      reversed.push_back(kHexDigits[pending & 0xF]);
      pending >>= 4;
      pending_bits -= 4;
    }
  }
  if (pending_bits > 0)
    reversed.push_back(kHexDigits[pending]);
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

// Quadratic in the number of digits, which the caller bounds.
std::string HexOfDecimal(std::string_view digits) {
  std::vector<uint32_t> limbs; // least significant first
  for (size_t i = 0; i < digits.size();) {
    size_t n = std::min<size_t>(9, digits.size() - i);
    uint32_t scale = 1, chunk = 0;
    for (size_t k = 0; k < n; ++k, ++i) {
      scale *= 10;
      chunk = chunk * 10 + static_cast<uint32_t>(digits[i] - '0');
    }
    uint64_t carry = chunk;
    for (uint32_t &limb : limbs) {
      carry += static_cast<uint64_t>(limb) * scale;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0)
      limbs.push_back(static_cast<uint32_t>(carry));
  }
  std::string out;
  for (size_t i = limbs.size(); i-- > 0;)
    for (int shift = 28; shift >= 0; shift -= 4)
      out.push_back(kHexDigits[(limbs[i] >> shift) & 0xF]);
  return out;
}

double ParseDouble(std::string_view digits) {
  double value = 0;
  auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc::result_out_of_range)
    return value;
  // Too great or too small: a decimal exponent decides, which then is far from both limits.
  size_t e = digits.find_first_of("eE");
  std::string_view mantissa = digits.substr(0, e);
  int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view tail = digits.substr(e + 1);
    bool negative = tail.starts_with('-');
    if (negative || tail.starts_with('+'))
      tail.remove_prefix(1);
    for (char c : tail)
      exponent = std::min<int64_t>(exponent * 10 + (c - '0'), 1'000'000'000);
    if (negative)
      exponent = -exponent;
  }
  size_t dot = std::min(mantissa.find('.'), mantissa.size());
  size_t first = mantissa.find_first_of("123456789");
  int64_t magnitude = exponent + static_cast<int64_t>(dot) - static_cast<int64_t>(first);
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

// A few decimal digits and nothing else, as most numbers are.
bool DecodeShortInteger(std::string_view text, Arena &arena, Constant &out) {
  constexpr size_t kDigitsThatFit = 19;
  if (text.size() > kDigitsThatFit)
    return false;
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  char hex[16];
  auto end = std::to_chars(std::begin(hex), std::end(hex), value, 16).ptr;
  out.constant_kind = ConstantKind::Int;
  out.int_fits = true;
  out.int_value = value;
  out.int_hex = arena.CopyText({hex, end});
  return true;
}

} // namespace

bool DecodeNumber(std::string_view text, size_t max_digits, Arena &arena, Constant &out) {
  if (text.size() <= max_digits && DecodeShortInteger(text, arena, out))
    return true;
  std::string digits(text);
  std::erase(digits, '_');
  char base = digits.size() > 1 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : '\0';
  bool prefixed = base == 'x' || base == 'o' || base == 'b';
  if (!prefixed && (digits.back() | 0x20) == 'j') {
    digits.pop_back();
    out.constant_kind = ConstantKind::Complex;
    out.float_value = ParseDouble(digits);
    return true;
  }
  if (!prefixed && digits.find_first_of(".eE") != std::string::npos) {
    out.constant_kind = ConstantKind::Float;
    out.float_value = ParseDouble(digits);
    return true;
  }
  std::string_view significant = digits;
  if (prefixed)
    significant.remove_prefix(2);
  significant.remove_prefix(std::min(significant.find_first_not_of('0'), significant.size()));
  if (significant.size() > max_digits)
    return false;

  std::string hex = base == 'x'   ? HexOfPowerOfTwoBase(significant, 4)
                    : base == 'o' ? HexOfPowerOfTwoBase(significant, 3)
                    : base == 'b' ? HexOfPowerOfTwoBase(significant, 1)
                                  : HexOfDecimal(significant);
  hex.erase(0, std::min(hex.find_first_not_of('0'), hex.size()));
  if (hex.empty())
    hex = "0";
  out.constant_kind = ConstantKind::Int;
  out.int_fits = hex.size() <= 16;
  if (out.int_fits)
    for (char c : hex)
      out.int_value = out.int_value << 4 | static_cast<uint64_t>(HexValue(c));
  out.int_hex = arena.CopyText(hex);
  return true;
}

namespace {

class StringDecoder {
public:
  StringDecoder(std::string_view text, EscapeMode mode, bool doubled_braces, FaultSink report,
                std::string &out)
      : text_(text), mode_(mode), doubled_braces_(doubled_braces), report_(report), out_(out) {}

  void Run() {
    while (pos_ < text_.size()) {
      char c = text_[pos_];
      if (c == '\\' && mode_ != EscapeMode::Raw) {
        DecodeEscape();
      } else if (c == '\r') {
        out_.push_back('\n');
        pos_ += text_.substr(pos_).starts_with("\r\n") ? 2 : 1;
      } else if (doubled_braces_ && (c == '{' || c == '}')) {
        out_.push_back(c);
        pos_ += 2;
      } else {
        out_.push_back(c);
        ++pos_;
      }
    }
  }

private:
  void Fault(bool warning, std::string_view code, size_t offset, size_t length,
             std::string message) {
    report_({warning, code, offset, length, std::move(message)});
  }

  void Append(uint32_t code_point) {
    if (mode_ == EscapeMode::Bytes)
      out_.push_back(static_cast<char>(code_point));
    else
      AppendUtf8(out_, code_point);
  }

  void DecodeEscape() {
    size_t start = pos_++;
    if (pos_ >= text_.size()) { // "\" before a field of an f-string
      out_.push_back('\\');
      return;
    }
    char c = text_[pos_++];
    constexpr std::string_view kPlain = "\\'\"abfnrtv";
    constexpr std::string_view kMeaning = "\\'\"\a\b\f\n\r\t\v";
    if (size_t i = kPlain.find(c); i != std::string_view::npos) {
      out_.push_back(kMeaning[i]);
      return;
    }
    switch (c) {
    case '\n':
      return;
    case '\r':
      if (pos_ < text_.size() && text_[pos_] == '\n')
        ++pos_;
      return;
    case 'x':
      return DecodeHex(start, 2);
    case 'u':
      if (mode_ == EscapeMode::Str)
        return DecodeHex(start, 4);
      break;
    case 'U':
      if (mode_ == EscapeMode::Str)
        return DecodeHex(start, 8);
      break;
    case 'N':
      if (mode_ == EscapeMode::Str)
        return DecodeName(start);
      break;
    default:
      break;
    }
    if (c >= '0' && c <= '7')
      return DecodeOctal(start);
    // The backslash stays; what follows it is read again, as it may be a doubled brace.
    out_.push_back('\\');
    pos_ = start + 1;
    size_t length = 1 + Utf8Length(static_cast<unsigned char>(c));
    Fault(true, "invalid-escape", start, length,
          "'" + std::string(text_.substr(start, length)) +
              "' is no escape sequence, so the backslash stays; write '\\\\' or a raw string");
  }

  void DecodeOctal(size_t start) {
    uint32_t value = 0;
    pos_ = start + 1;
    for (int n = 0; n < 3 && pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '7'; ++n)
      value = value * 8 + static_cast<uint32_t>(text_[pos_++] - '0');
    if (value > 0377)
      Fault(true, "invalid-escape", start, pos_ - start,
            "this octal escape is greater than '\\377'");
    Append(value);
  }

  void DecodeHex(size_t start, int digits) {
    uint32_t value = 0;
    for (int n = 0; n < digits; ++n) {
      if (pos_ >= text_.size() || !llvm::isHexDigit(text_[pos_])) {
        Fault(false, "invalid-escape", start, pos_ - start,
              "expected " + std::to_string(digits) + " hexadecimal digits after '" +
                  std::string(text_.substr(start, 2)) + "'");
        return;
      }
      value = value << 4 | static_cast<uint32_t>(HexValue(text_[pos_++]));
    }
    if (value > 0x10FFFF) {
      Fault(false, "invalid-escape", start, pos_ - start,
            "this escape is beyond the last Unicode character, '\\U0010FFFF'");
      return;
    }
    Append(value);
  }

  void DecodeName(size_t start) {
    size_t close = text_.substr(0, std::min(text_.size(), pos_ + kMaxNameLength)).find('}', pos_);
    if (pos_ >= text_.size() || text_[pos_] != '{' || close == std::string_view::npos) {
      Fault(false, "invalid-escape", start, 2, "expected '\\N{name of a character}'");
      return;
    }
    std::string name(text_.substr(pos_ + 1, close - pos_ - 1));
    pos_ = close + 1;
    for (char &c : name)
      c = llvm::toUpper(c);
    std::optional<char32_t> point = llvm::sys::unicode::nameToCodepointStrict(name);
    if (!point) {
      Fault(false, "invalid-escape", start, pos_ - start,
            "there is no Unicode character named '" + name + "'");
      return;
    }
    Append(static_cast<uint32_t>(*point));
  }

  static constexpr size_t kMaxNameLength = 128;

  std::string_view text_;
  EscapeMode mode_;
  bool doubled_braces_;
  FaultSink report_;
  std::string &out_;
  size_t pos_ = 0;
};

} // namespace

void DecodeString(std::string_view text, EscapeMode mode, bool doubled_braces, FaultSink report,
                  std::string &out) {
  StringDecoder(text, mode, doubled_braces, report, out).Run();
}

} // namespace pyasc::syntax
