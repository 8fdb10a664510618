#include "client/cli/argument_spec.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/npy.h"

namespace pyasc::cli {
namespace {

bool IsIdentifier(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(text[0]))
    return false;
  for (char c : text)
    if (!absl::ascii_isalnum(c) && c != '_' && static_cast<unsigned char>(c) < 0x80)
      return false;
  return true;
}

struct Generator {
  absl::string_view prefix;
  v1::GeneratedTensor::Kind kind;
};
constexpr Generator kGenerators[] = {{"zeros:", v1::GeneratedTensor::KIND_ZEROS},
                                     {"ones:", v1::GeneratedTensor::KIND_ONES},
                                     {"rand:", v1::GeneratedTensor::KIND_UNIFORM},
                                     {"randn:", v1::GeneratedTensor::KIND_NORMAL}};

// The seed of an argument without one: another stream for each name (FNV-1a), the same every day.
uint64_t SeedOf(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

absl::StatusOr<v1::GeneratedTensor> ParseGenerated(const Generator &generator,
                                                   absl::string_view name, absl::string_view text) {
  v1::GeneratedTensor generated;
  generated.set_kind(generator.kind);
  size_t close = text.find(']');
  absl::string_view type_text = text.substr(0, close == text.npos ? close : close + 1);
  absl::StatusOr<v1::TensorType> type = client::ParseType(type_text);
  if (!type.ok())
    return type.status();
  *generated.mutable_type() = *type;
  bool random = generator.kind == v1::GeneratedTensor::KIND_UNIFORM ||
                generator.kind == v1::GeneratedTensor::KIND_NORMAL;
  if (random && !client::IsFloat(type->dtype()))
    return absl::InvalidArgumentError(absl::StrCat(
        generator.prefix, " makes floating-point numbers, not ", client::LongName(type->dtype()),
        "; write randint:", type_text, ",low=0,high=10"));
  absl::string_view rest = text.substr(type_text.size());
  if (rest.empty()) {
    if (random)
      generated.set_seed(SeedOf(name));
    return generated;
  }
  uint64_t seed;
  if (!absl::ConsumePrefix(&rest, ",seed=") || !absl::SimpleAtoi(rest, &seed))
    return absl::InvalidArgumentError(
        absl::StrCat("expected ',seed=N' after the type, met '", rest, "'"));
  if (!random)
    return absl::InvalidArgumentError(
        absl::StrCat("only rand: and randn: take a seed, not ", generator.prefix));
  generated.set_seed(seed);
  return generated;
}

// Python allows one underscore between two digits.
bool DropUnderscores(absl::string_view text, std::string *digits) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      *digits += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size() || !absl::ascii_isxdigit(text[i - 1]) ||
        !absl::ascii_isxdigit(text[i + 1]))
      return false;
  }
  return true;
}

absl::StatusOr<ArgumentSpec> Parse(absl::string_view text, ArgumentSpec spec) {
  if (absl::ConsumePrefix(&text, "@")) {
    spec.value = ArrayFile{std::string(text)};
    return spec;
  }
  if (absl::StartsWith(text, "bf16:@") || absl::StartsWith(text, "bfloat16:@")) {
    spec.value = ArrayFile{std::string(text.substr(text.find('@') + 1)), /*to_bfloat16=*/true};
    return spec;
  }
  for (const Generator &generator : kGenerators) {
    if (!absl::ConsumePrefix(&text, generator.prefix))
      continue;
    absl::StatusOr<v1::GeneratedTensor> generated = ParseGenerated(generator, spec.name, text);
    if (!generated.ok())
      return generated.status();
    spec.value = *generated;
    return spec;
  }
  absl::StatusOr<std::optional<MadeArray>> made = ParseMadeArray(text, SeedOf(spec.name));
  if (!made.ok())
    return made.status();
  if (made->has_value()) {
    spec.value = **std::move(made);
    return spec;
  }
  if (std::optional<v1::DType> dtype = client::ParseDType(text)) {
    spec.value = *dtype;
    return spec;
  }
  if (!text.empty() && text.back() == ']') {
    absl::StatusOr<v1::TensorType> type = client::ParseType(text);
    if (!type.ok())
      return type.status();
    spec.value = *type;
    return spec;
  }
  absl::StatusOr<v1::ScalarValue> literal = ParseLiteral(text);
  if (!literal.ok())
    return literal.status();
  spec.value = *literal;
  return spec;
}

v1::DType KindOf(const v1::ScalarValue &value) {
  switch (value.value_case()) {
  case v1::ScalarValue::kBoolValue:
    return v1::DTYPE_BOOL;
  case v1::ScalarValue::kIntValue:
    return v1::DTYPE_INT64;
  default:
    return v1::DTYPE_FLOAT32;
  }
}

} // namespace

absl::StatusOr<ArgumentSpec> ParseArgumentSpec(absl::string_view text) {
  size_t equals = text.find('=');
  ArgumentSpec spec;
  spec.name = std::string(absl::StripAsciiWhitespace(text.substr(0, equals)));
  if (equals == absl::string_view::npos || !IsIdentifier(spec.name))
    return absl::InvalidArgumentError(
        absl::StrCat("expected NAME=VALUE with the name of a parameter, met '", text, "'"));
  std::string name = spec.name;
  absl::StatusOr<ArgumentSpec> parsed =
      Parse(absl::StripAsciiWhitespace(text.substr(equals + 1)), std::move(spec));
  if (!parsed.ok())
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", parsed.status().message()));
  return parsed;
}

absl::StatusOr<v1::ScalarValue> ParseLiteral(absl::string_view text) {
  v1::ScalarValue value;
  if (text == "True" || text == "False") {
    value.set_bool_value(text == "True");
    return value;
  }
  absl::Status unknown =
      absl::InvalidArgumentError(absl::StrCat("expected @FILE.npy, a number, True, False, a list "
                                              "like [1, 2], a type like f32[2,3], or one of "
                                              "zeros: ones: rand: randn: randint: arange:, met '",
                                              text, "'"));
  absl::string_view unsigned_text = text;
  bool negative = absl::ConsumePrefix(&unsigned_text, "-");
  if (!negative)
    absl::ConsumePrefix(&unsigned_text, "+");
  std::string digits;
  if (unsigned_text.empty() || absl::ascii_isspace(unsigned_text[0]) || unsigned_text[0] == '-' ||
      unsigned_text[0] == '+' || !DropUnderscores(unsigned_text, &digits))
    return unknown;
  bool is_hex = absl::StartsWithIgnoreCase(digits, "0x");
  bool all_digits = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (all_digits || is_hex) {
    std::string signed_digits = (negative ? "-" : "") + digits;
    int64_t integer;
    if (is_hex ? absl::SimpleHexAtoi(signed_digits, &integer)
               : absl::SimpleAtoi(signed_digits, &integer)) {
      value.set_int_value(integer);
      return value;
    }
    if (is_hex && digits.find_first_not_of("0123456789abcdefABCDEF", 2) != digits.npos)
      return unknown;
    return absl::InvalidArgumentError(
        absl::StrCat("the integer ", text, " does not fit into 64 bits"));
  }
  double number;
  if (digits == "inf")
    number = INFINITY;
  else if (digits == "nan")
    number = NAN;
  else if (digits.find_first_not_of("0123456789.eE+-") != digits.npos ||
           !absl::SimpleAtod(digits, &number))
    return unknown;
  value.set_float_value(negative ? -number : number);
  return value;
}

absl::StatusOr<v1::Argument> SignatureOf(const ArgumentSpec &spec, bool is_constexpr) {
  v1::Argument argument;
  argument.set_name(spec.name);
  if (is_constexpr && !std::holds_alternative<v1::ScalarValue>(spec.value))
    return absl::InvalidArgumentError(
        absl::StrCat(spec.name, ": an asc.constexpr parameter takes a number, True or False"));
  if (const auto *file = std::get_if<ArrayFile>(&spec.value)) {
    absl::StatusOr<v1::TensorType> type = client::ReadNpyType(file->path);
    if (!type.ok())
      return type.status();
    *argument.mutable_tensor() = *type;
    if (file->to_bfloat16)
      argument.mutable_tensor()->set_dtype(v1::DTYPE_BFLOAT16);
  } else if (const auto *scalar = std::get_if<v1::ScalarValue>(&spec.value)) {
    if (is_constexpr)
      *argument.mutable_constexpr_value() = *scalar;
    else
      argument.set_scalar(KindOf(*scalar));
  } else if (const auto *made = std::get_if<MadeArray>(&spec.value)) {
    *argument.mutable_tensor() = made->type;
  } else if (const auto *generated = std::get_if<v1::GeneratedTensor>(&spec.value)) {
    *argument.mutable_tensor() = generated->type();
  } else if (const auto *type = std::get_if<v1::TensorType>(&spec.value)) {
    *argument.mutable_tensor() = *type;
  } else {
    argument.set_scalar(std::get<v1::DType>(spec.value));
  }
  return argument;
}

absl::StatusOr<client::Tensor> LoadArray(const ArgumentSpec &spec) {
  if (const auto *made = std::get_if<MadeArray>(&spec.value)) {
    absl::StatusOr<client::Tensor> tensor = MakeArray(*made);
    if (!tensor.ok())
      return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", tensor.status().message()));
    return tensor;
  }
  const ArrayFile &file = std::get<ArrayFile>(spec.value);
  absl::StatusOr<client::Tensor> tensor = client::ReadNpy(file.path);
  if (!tensor.ok() || !file.to_bfloat16)
    return tensor;
  tensor = client::ToBFloat16(*tensor);
  if (!tensor.ok())
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", tensor.status().message()));
  return tensor;
}

absl::StatusOr<OutputSpec> ParseOutputSpec(absl::string_view text) {
  size_t equals = text.find('=');
  OutputSpec spec;
  spec.name = std::string(absl::StripAsciiWhitespace(text.substr(0, equals)));
  absl::string_view base = spec.name, index;
  // A returned tuple's values are return.0, return.1, ...
  if (absl::ConsumePrefix(&base, "return.")) {
    index = base;
    base = "return";
  }
  if (equals == absl::string_view::npos || !IsIdentifier(base) || equals + 1 == text.size() ||
      index.find_first_not_of("0123456789") != index.npos)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected NAME=FILE.npy with the name of a parameter, return or return.0, met '", text,
        "'"));
  absl::string_view path = text.substr(equals + 1);
  if (absl::ConsumePrefix(&path, "f32:") || absl::ConsumePrefix(&path, "float32:"))
    spec.to_float32 = true;
  spec.path = std::string(path);
  return spec;
}

} // namespace pyasc::cli
