#include "proto/contract/python_format.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/contract/tensor_type.h"

namespace pyasc::contract {
namespace {

// ------------------------------------------------------------------------- shortest decimals

// value = 0.d1d2d3... * 10^point, without trailing zeros; "0" and 1 for zero.
struct Decimal {
  std::string digits;
  int point = 1;
};

// From "d.ddde+xx".
Decimal FromScientific(std::string_view text) {
  Decimal decimal;
  const size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c >= '0' && c <= '9')
      decimal.digits += c;
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0')
    decimal.digits.pop_back();
  decimal.point = std::atoi(std::string(text.substr(e + 1)).c_str()) + 1;
  if (decimal.digits == "0")
    decimal.point = 1;
  return decimal;
}

template <typename Float> Decimal Shortest(Float value) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
  return FromScientific(std::string_view(text, end.ptr - text));
}

// Bits of the half nearest to a positive finite double, to even; enough for reading decimals back.
double RoundToHalf(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  // 11 significant bits, and no finer than the smallest subnormal number 2^-24.
  const int unit = std::max(exponent - 11, -24);
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

// float16 has no shortest conversion in the library: try with more and more digits.
Decimal ShortestHalf(double value) {
  char text[32];
  for (int digits = 1;; ++digits) {
    std::snprintf(text, sizeof(text), "%.*e", digits - 1, value);
    if (digits >= 6 || RoundToHalf(std::strtod(text, nullptr)) == value)
      return FromScientific(text);
  }
}

// As Python and NumPy lay it out: scientific below 1e-4 and from 1e16 on.
std::string LayOut(const Decimal &decimal, bool scientific) {
  const std::string &digits = decimal.digits;
  if (scientific) {
    std::string text = digits.substr(0, 1);
    if (digits.size() > 1)
      text += "." + digits.substr(1);
    const int exponent = decimal.point - 1;
    char tail[16];
    std::snprintf(tail, sizeof(tail), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return text + tail;
  }
  const int size = static_cast<int>(digits.size());
  if (decimal.point <= 0)
    return "0." + std::string(-decimal.point, '0') + digits;
  if (decimal.point >= size)
    return digits + std::string(decimal.point - size, '0') + ".0";
  return digits.substr(0, decimal.point) + "." + digits.substr(decimal.point);
}

std::optional<std::string> NotFinite(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return std::nullopt;
}

bool IsScientific(double magnitude) {
  return magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
}

double ToDouble(PrintNumber number) {
  if (number.dtype == v1::DTYPE_FLOAT64)
    return std::bit_cast<double>(number.word);
  if (IsFloat(number.dtype))
    return std::bit_cast<float>(static_cast<uint32_t>(number.word));
  if (number.dtype == v1::DTYPE_UINT64)
    return static_cast<double>(number.word);
  return static_cast<double>(static_cast<int64_t>(number.word));
}

// ------------------------------------------------------------------------- specifications

struct Spec {
  std::string fill = " ";
  char align = 0;
  char sign = '-';
  bool no_negative_zero = false;
  bool alternate = false;
  int64_t width = 0;
  char grouping = 0;
  int precision = -1;
  char type = 0;
};

absl::Status Bad(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

bool IsAlign(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

absl::StatusOr<Spec> ParseSpec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  auto peek = [&](size_t n = 0) { return at + n < text.size() ? text[at + n] : '\0'; };
  // The fill is one character of UTF-8.
  size_t first = 1;
  while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xC0) == 0x80)
    ++first;
  if (!text.empty() && first < text.size() && IsAlign(text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    at = first + 1;
  } else if (IsAlign(peek())) {
    spec.align = text[at++];
  }
  if (peek() == '+' || peek() == '-' || peek() == ' ')
    spec.sign = text[at++];
  if (peek() == 'z')
    spec.no_negative_zero = true, ++at;
  if (peek() == '#')
    spec.alternate = true, ++at;
  if (peek() == '0') {
    ++at;
    if (!spec.align) {
      spec.align = '=';
      spec.fill = "0";
    }
  }
  auto number = [&](int64_t &to) {
    to = 0;
    const size_t begin = at;
    for (; peek() >= '0' && peek() <= '9'; ++at)
      to = std::min<int64_t>(to * 10 + (peek() - '0'), 1'000'000);
    return at != begin;
  };
  (void)number(spec.width);
  if (spec.width > 1000)
    return Bad("a width above 1000");
  if (peek() == ',' || peek() == '_')
    spec.grouping = text[at++];
  if (peek() == '.') {
    ++at;
    int64_t precision = 0;
    if (!number(precision))
      return Bad("Format specifier missing precision");
    if (precision > 1000)
      return Bad("a precision above 1000");
    spec.precision = static_cast<int>(precision);
  }
  if (at < text.size())
    spec.type = text[at++];
  if (at < text.size())
    return Bad("Invalid format specifier");
  return spec;
}

// Digits before the point, grouped from the right; zeros in front until `width` is reached.
std::string Group(std::string digits, char separator, size_t every, size_t width) {
  auto grouped = [&] {
    std::string text;
    for (size_t i = 0; i < digits.size(); ++i) {
      if (separator && i && (digits.size() - i) % every == 0)
        text += separator;
      text += digits[i];
    }
    return text;
  };
  std::string text = grouped();
  while (text.size() < width) {
    digits.insert(digits.begin(), '0');
    text = grouped();
  }
  return text;
}

// Sign or prefix, digits before the point, and what follows them, in their width.
std::string Pad(const Spec &spec, const std::string &sign, std::string whole,
                const std::string &rest, size_t group_every, bool digits) {
  const size_t width = static_cast<size_t>(spec.width);
  const bool zeros = spec.align == '=' && spec.fill == "0" && digits;
  const size_t around = sign.size() + rest.size();
  whole = digits ? Group(std::move(whole), spec.grouping, group_every,
                         zeros && width > around ? width - around : 0)
                 : whole;
  const size_t size = around + whole.size();
  const size_t missing = width > size ? width - size : 0;
  auto fill = [&](size_t count) {
    std::string text;
    while (count--)
      text += spec.fill;
    return text;
  };
  switch (spec.align) {
  case '<':
    return sign + whole + rest + fill(missing);
  case '^':
    return fill(missing / 2) + sign + whole + rest + fill(missing - missing / 2);
  case '=':
    return sign + fill(missing) + whole + rest;
  default: // numbers stand on the right
    return fill(missing) + sign + whole + rest;
  }
}

std::string SignOf(const Spec &spec, bool negative) {
  if (negative)
    return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string Print(const char *format, int precision, double value) {
  char small[64];
  const int size = std::snprintf(small, sizeof(small), format, precision, value);
  if (size < static_cast<int>(sizeof(small)))
    return small;
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, precision, value);
  text.resize(static_cast<size_t>(size));
  return text;
}

// 'g', and the presentation without a type, which differs in that it keeps a digit behind the
// point.
std::string General(double magnitude, int precision, bool keep_point, bool alternate) {
  precision = std::max(precision, 1);
  const std::string scientific = Print("%.*e", precision - 1, magnitude);
  const int point = std::atoi(scientific.c_str() + scientific.find('e') + 1) + 1;
  const bool use_exponent = point < -3 || point > precision - (keep_point ? 1 : 0);
  std::string text = use_exponent ? scientific.substr(0, scientific.find('e'))
                                  : Print("%.*f", std::max(precision - point, 0), magnitude);
  if (!alternate && text.find('.') != std::string::npos) {
    while (text.back() == '0')
      text.pop_back();
    if (text.back() == '.')
      text.pop_back();
  }
  if (use_exponent)
    return text + scientific.substr(scientific.find('e'));
  if (text.find('.') == std::string::npos && (keep_point || alternate))
    text += keep_point ? ".0" : ".";
  return text;
}

absl::StatusOr<std::string> FormatFloat(double value, const Spec &spec) {
  if (spec.type && std::string_view("eEfFgGn%").find(spec.type) == std::string_view::npos)
    return Bad(absl::StrCat("Unknown format code '", std::string(1, spec.type),
                            "' for object of type 'float'"));
  if (spec.type == 'n' && spec.grouping)
    return Bad(absl::StrCat("Cannot specify '", std::string(1, spec.grouping), "' with 'n'."));
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  double magnitude = std::fabs(value);
  bool negative = std::signbit(value) && !std::isnan(value);
  std::string text;
  bool percent = false;
  if (auto special = NotFinite(magnitude)) {
    text = *special;
    percent = spec.type == '%';
    if (upper)
      std::transform(text.begin(), text.end(), text.begin(), ::toupper);
    return Pad(spec, SignOf(spec, negative), text, percent ? "%" : "", 3, /*digits=*/false);
  }
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
  case 'e':
  case 'E':
    text = Print(spec.alternate ? "%#.*e" : "%.*e", precision, magnitude);
    break;
  case 'f':
  case 'F':
    text = Print(spec.alternate ? "%#.*f" : "%.*f", precision, magnitude);
    break;
  case '%':
    text = Print(spec.alternate ? "%#.*f" : "%.*f", precision, magnitude * 100);
    percent = true;
    break;
  case 'g':
  case 'G':
  case 'n':
    text = General(magnitude, precision, false, spec.alternate);
    break;
  default:
    text = spec.precision < 0 ? LayOut(Shortest(magnitude), IsScientific(magnitude))
                              : General(magnitude, spec.precision, true, spec.alternate);
  }
  if (spec.no_negative_zero && text.find_first_of("123456789") == std::string::npos)
    negative = false;
  if (upper)
    std::transform(text.begin(), text.end(), text.begin(), ::toupper);
  const size_t end = text.find_first_not_of("0123456789");
  std::string rest = end == std::string::npos ? "" : text.substr(end);
  return Pad(spec, SignOf(spec, negative), text.substr(0, end), rest + (percent ? "%" : ""), 3,
             /*digits=*/true);
}

absl::StatusOr<std::string> FormatInteger(bool negative, uint64_t magnitude, const Spec &spec) {
  if (spec.type && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    const double value = static_cast<double>(magnitude);
    return FormatFloat(negative ? -value : value, spec);
  }
  if (spec.type && std::string_view("bcdnoxX").find(spec.type) == std::string_view::npos)
    return Bad(absl::StrCat("Unknown format code '", std::string(1, spec.type),
                            "' for object of type 'int'"));
  if (spec.precision >= 0)
    return Bad("Precision not allowed in integer format specifier");
  if (spec.no_negative_zero)
    return Bad("Negative zero coercion (z) not allowed in format specifier with integer format "
               "code 'd'");
  if (spec.grouping && (spec.type == 'n' || spec.type == 'c' ||
                        (spec.grouping == ',' && spec.type && spec.type != 'd')))
    return Bad(absl::StrCat("Cannot specify '", std::string(1, spec.grouping), "' with '",
                            std::string(1, spec.type), "'."));
  if (spec.type == 'c')
    return Bad("characters are not printed in kernels");
  const unsigned base = spec.type == 'b'                       ? 2
                        : spec.type == 'o'                     ? 8
                        : spec.type == 'x' || spec.type == 'X' ? 16
                                                               : 10;
  char text[72];
  auto end = std::to_chars(text, text + sizeof(text), magnitude, static_cast<int>(base));
  std::string digits(text, end.ptr);
  std::string sign = SignOf(spec, negative);
  if (spec.alternate && base != 10)
    sign += std::string("0") + spec.type;
  if (spec.type == 'X')
    std::transform(digits.begin(), digits.end(), digits.begin(), ::toupper);
  return Pad(spec, sign, digits, "", base == 10 ? 3 : 4, /*digits=*/true);
}

absl::StatusOr<std::string> FormatLevel(const v1::TensorType &type, int axis,
                                        std::span<const uint64_t> words, std::string_view spec) {
  if (words.empty() && axis == type.shape_size())
    return std::string("?");
  if (axis == type.shape_size())
    return FormatNumber({type.dtype(), words.front()}, spec);
  std::string text = "[";
  const int64_t extent = type.shape(axis);
  const size_t step = extent ? words.size() / static_cast<size_t>(extent) : 0;
  for (int64_t i = 0; i < extent; ++i) {
    if (i)
      text += ", ";
    auto part =
        FormatLevel(type, axis + 1, words.subspan(static_cast<size_t>(i) * step, step), spec);
    if (!part.ok())
      return part;
    text += *part;
  }
  return text + "]";
}

} // namespace

std::string FormatDouble(double value) {
  if (auto special = NotFinite(value))
    return *special;
  const double magnitude = std::fabs(value);
  return (std::signbit(value) ? "-" : "") + LayOut(Shortest(magnitude), IsScientific(magnitude));
}

std::string FormatNumber(PrintNumber number) {
  if (number.dtype == v1::DTYPE_BOOL)
    return number.word ? "True" : "False";
  if (number.dtype == v1::DTYPE_UINT64)
    return absl::StrCat(number.word);
  if (!IsFloat(number.dtype))
    return absl::StrCat(static_cast<int64_t>(number.word));
  const double value = ToDouble(number);
  if (number.dtype == v1::DTYPE_FLOAT64)
    return FormatDouble(value);
  if (auto special = NotFinite(value))
    return *special;
  const double magnitude = std::fabs(value);
  const Decimal decimal = number.dtype == v1::DTYPE_FLOAT16
                              ? ShortestHalf(magnitude)
                              : Shortest(static_cast<float>(magnitude));
  return (std::signbit(value) ? "-" : "") + LayOut(decimal, IsScientific(magnitude));
}

absl::StatusOr<std::string> FormatDouble(double value, std::string_view spec) {
  if (spec.empty())
    return FormatDouble(value);
  absl::StatusOr<Spec> parsed = ParseSpec(spec);
  if (!parsed.ok())
    return parsed.status();
  return FormatFloat(value, *parsed);
}

absl::StatusOr<std::string> FormatNumber(PrintNumber number, std::string_view spec) {
  if (spec.empty())
    return FormatNumber(number);
  if (IsFloat(number.dtype))
    return FormatDouble(ToDouble(number), spec);
  absl::StatusOr<Spec> parsed = ParseSpec(spec);
  if (!parsed.ok())
    return parsed.status();
  const bool negative = number.dtype != v1::DTYPE_UINT64 && static_cast<int64_t>(number.word) < 0;
  return FormatInteger(negative, negative ? -number.word : number.word, *parsed);
}

absl::StatusOr<std::string> FormatTensor(const v1::TensorType &type,
                                         std::span<const uint64_t> words, std::string_view spec) {
  return FormatLevel(type, 0, words, spec);
}

std::string FormatText(std::string_view format, std::span<const v1::TensorType> types,
                       std::span<const uint64_t> words) {
  std::string text;
  size_t field = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      text += c;
      ++i;
      continue;
    }
    if (c != '{') {
      text += c;
      continue;
    }
    size_t end = std::min(format.find('}', i), format.size());
    std::string_view spec = format.substr(i + 1, end - i - 1);
    if (!spec.empty())
      spec.remove_prefix(1); // the colon
    i = end;
    if (field >= types.size()) {
      text += "?";
      continue;
    }
    const v1::TensorType &type = types[field++];
    size_t count = 1;
    for (int64_t extent : type.shape())
      count *= static_cast<size_t>(extent);
    count = std::min(count, words.size());
    absl::StatusOr<std::string> shown = FormatTensor(type, words.first(count), spec);
    words = words.subspan(count);
    text += shown.ok() ? *shown : "?";
  }
  return text;
}

} // namespace pyasc::contract
