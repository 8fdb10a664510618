#include "client/cli/made_array.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/argument_spec.h"

namespace pyasc::cli {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int kMostAxes = 8;

// The least and greatest integer of a dtype; of a float type, what it holds exactly.
struct Bounds {
  int64_t least, most;
};
Bounds BoundsOf(v1::DType dtype) {
  auto of = [](auto zero) {
    using T = decltype(zero);
    return Bounds{static_cast<int64_t>(std::numeric_limits<T>::min()),
                  static_cast<int64_t>(std::numeric_limits<T>::max())};
  };
  switch (dtype) {
  case v1::DTYPE_BOOL:
    return {0, 1};
  case v1::DTYPE_INT8:
    return of(int8_t{});
  case v1::DTYPE_INT16:
    return of(int16_t{});
  case v1::DTYPE_INT32:
    return of(int32_t{});
  case v1::DTYPE_UINT8:
    return of(uint8_t{});
  case v1::DTYPE_UINT16:
    return of(uint16_t{});
  case v1::DTYPE_UINT32:
    return of(uint32_t{});
  case v1::DTYPE_UINT64:
    return {0, std::numeric_limits<int64_t>::max()};
  default:
    return of(int64_t{});
  }
}

template <typename T> void Put(T value, std::string &to) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

// A list as it is read: all elements in order, and the shape.
struct Reader {
  absl::string_view rest;
  std::vector<v1::ScalarValue> elements;
  std::vector<int64_t> shape;

  void Space() { rest = absl::StripLeadingAsciiWhitespace(rest); }

  // What stands behind "[" at `depth`.
  absl::Status List(size_t depth) {
    if (depth >= kMostAxes)
      return absl::InvalidArgumentError(
          absl::StrCat("lists are nested more than ", kMostAxes, " deep"));
    int64_t count = 0;
    bool known = depth < shape.size();
    if (!known && !elements.empty())
      return absl::InvalidArgumentError("a list holds numbers or lists, not both");
    if (!known)
      shape.push_back(0);
    for (Space(); !absl::ConsumePrefix(&rest, "]"); Space()) {
      if (absl::ConsumePrefix(&rest, "[")) {
        if (absl::Status status = List(depth + 1); !status.ok())
          return status;
      } else {
        if (depth + 1 != shape.size())
          return absl::InvalidArgumentError("a list holds numbers or lists, not both");
        size_t end = std::min(rest.find_first_of(",]["), rest.size());
        absl::string_view word = absl::StripAsciiWhitespace(rest.substr(0, end));
        absl::StatusOr<v1::ScalarValue> element = ParseLiteral(word);
        if (!element.ok())
          return absl::InvalidArgumentError(
              absl::StrCat("expected a number, True, False or a list, met '", word, "'"));
        elements.push_back(*element);
        rest.remove_prefix(end);
      }
      ++count;
      Space();
      if (!absl::ConsumePrefix(&rest, ",") && !absl::StartsWith(rest, "]"))
        return absl::InvalidArgumentError(
            absl::StrCat("expected ',' or ']' in a list, met '", rest.substr(0, 16), "'"));
    }
    if (known && shape[depth] != count)
      return absl::InvalidArgumentError(
          absl::StrCat("the lists of one axis have ", shape[depth], " and ", count, " elements"));
    shape[depth] = count;
    return absl::OkStatus();
  }
};

absl::StatusOr<MadeArray> ParseList(absl::string_view text, std::optional<v1::DType> dtype) {
  Reader reader{.rest = text.substr(1), .elements = {}, .shape = {}};
  if (absl::Status status = reader.List(0); !status.ok())
    return status;
  if (!reader.rest.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("met '", reader.rest.substr(0, 16), "' after the list"));
  bool floats = false, bools = !reader.elements.empty();
  int64_t least = 0, most = 0;
  for (const v1::ScalarValue &e : reader.elements) {
    floats |= e.has_float_value();
    bools &= e.has_bool_value();
    least = std::min(least, e.int_value());
    most = std::max(most, e.int_value());
  }
  MadeArray array;
  Bounds int32 = BoundsOf(v1::DTYPE_INT32);
  array.type.set_dtype(dtype                                      ? *dtype
                       : bools                                    ? v1::DTYPE_BOOL
                       : floats                                   ? v1::DTYPE_FLOAT32
                       : least < int32.least || most > int32.most ? v1::DTYPE_INT64
                                                                  : v1::DTYPE_INT32);
  for (int64_t size : reader.shape)
    array.type.add_shape(size);
  bool real = client::IsFloat(array.type.dtype());
  if (floats && !real)
    return absl::InvalidArgumentError(absl::StrCat(
        "the list holds fractions, which ", client::LongName(array.type.dtype()), " does not"));
  Bounds fits = BoundsOf(array.type.dtype());
  for (const v1::ScalarValue &e : reader.elements) {
    int64_t whole = e.has_bool_value() ? e.bool_value() : e.int_value();
    if (real) {
      array.reals.push_back(e.has_float_value() ? e.float_value() : static_cast<double>(whole));
      continue;
    }
    if (whole < fits.least || whole > fits.most)
      return absl::InvalidArgumentError(
          absl::StrCat(whole, " does not fit ", client::LongName(array.type.dtype())));
    array.integers.push_back(whole);
  }
  return array;
}

absl::StatusOr<MadeArray> ParseRule(absl::string_view prefix, absl::string_view text,
                                    MadeArray array) {
  size_t close = text.find(']');
  absl::string_view type_text = text.substr(0, close == text.npos ? close : close + 1);
  absl::StatusOr<v1::TensorType> type = client::ParseType(type_text);
  if (!type.ok())
    return type.status();
  array.type = *type;
  const bool random = array.rule == MadeArray::Rule::kRandint;
  if (array.type.dtype() == v1::DTYPE_BOOL)
    array.high = 2;
  Bounds fits = BoundsOf(array.type.dtype());
  for (absl::string_view part :
       absl::StrSplit(text.substr(type_text.size()), ',', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    absl::string_view name = absl::StripAsciiWhitespace(option.first);
    bool ok = random && ((name == "low" && absl::SimpleAtoi(option.second, &array.low)) ||
                         (name == "high" && absl::SimpleAtoi(option.second, &array.high)) ||
                         (name == "seed" && absl::SimpleAtoi(option.second, &array.seed)));
    if (!ok)
      return absl::InvalidArgumentError(absl::StrCat(
          prefix,
          random ? " takes ,low=N ,high=N ,seed=N after the type" : " takes nothing after the type",
          ", met '", part, "'"));
  }
  if (random && array.low >= array.high)
    return absl::InvalidArgumentError(absl::StrCat("there is no whole number from ", array.low,
                                                   " to ", array.high, " without ", array.high));
  if (random && (array.low < fits.least || array.high - 1 > fits.most))
    return absl::InvalidArgumentError(absl::StrCat("the numbers from ", array.low, " to ",
                                                   array.high - 1, " do not fit ",
                                                   client::LongName(array.type.dtype())));
  return array;
}

// A bijection of 64-bit numbers in which every input bit reaches every output bit.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void PutNumber(v1::DType dtype, int64_t whole, double real, std::string &to) {
  switch (dtype) {
  case v1::DTYPE_BOOL:
  case v1::DTYPE_INT8:
  case v1::DTYPE_UINT8:
    return Put(static_cast<uint8_t>(whole), to);
  case v1::DTYPE_INT16:
  case v1::DTYPE_UINT16:
    return Put(static_cast<uint16_t>(whole), to);
  case v1::DTYPE_INT32:
  case v1::DTYPE_UINT32:
    return Put(static_cast<uint32_t>(whole), to);
  case v1::DTYPE_FLOAT16:
    return Put(static_cast<_Float16>(real), to);
  case v1::DTYPE_FLOAT64:
    return Put(real, to);
  case v1::DTYPE_FLOAT32:
  case v1::DTYPE_BFLOAT16: // rounded at the end
    return Put(static_cast<float>(real), to);
  default:
    return Put(whole, to);
  }
}

} // namespace

absl::StatusOr<std::optional<MadeArray>> ParseMadeArray(absl::string_view text, uint64_t seed) {
  auto some = [](absl::StatusOr<MadeArray> array) -> absl::StatusOr<std::optional<MadeArray>> {
    if (!array.ok())
      return array.status();
    return std::optional(*std::move(array));
  };
  if (absl::StartsWith(text, "["))
    return some(ParseList(text, std::nullopt));
  MadeArray array;
  array.seed = seed;
  array.rule = MadeArray::Rule::kArange;
  if (absl::ConsumePrefix(&text, "arange:"))
    return some(ParseRule("arange:", text, array));
  array.rule = MadeArray::Rule::kRandint;
  if (absl::ConsumePrefix(&text, "randint:"))
    return some(ParseRule("randint:", text, array));
  size_t list = text.find(":[");
  if (list != text.npos) {
    std::optional<v1::DType> dtype = client::ParseDType(text.substr(0, list));
    if (!dtype)
      return absl::InvalidArgumentError(
          absl::StrCat("'", text.substr(0, list), "' is no element type; write f16:[1, 2]"));
    return some(ParseList(text.substr(list + 1), dtype));
  }
  return std::nullopt;
}

absl::StatusOr<client::Tensor> MakeArray(const MadeArray &array) {
  absl::StatusOr<int64_t> bytes = client::ByteSize(array.type);
  if (!bytes.ok())
    return bytes.status();
  if (*bytes > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat(
        client::FormatType(array.type), " is more than 1 GiB; give it as a file, @FILE"));
  const v1::DType dtype = array.type.dtype();
  const int64_t count = *client::NumElements(array.type);
  client::Tensor tensor{.type = array.type, .data = {}};
  tensor.data.reserve(static_cast<size_t>(*bytes));
  const Bounds fits = BoundsOf(dtype);
  if (array.rule == MadeArray::Rule::kArange && count > 0 && count - 1 > fits.most)
    return absl::InvalidArgumentError(
        absl::StrCat("arange: of ", count, " elements does not fit ", client::LongName(dtype)));
  const uint64_t span = static_cast<uint64_t>(array.high) - static_cast<uint64_t>(array.low);
  const uint64_t key = Mix(array.seed + 0x9e3779b97f4a7c15);
  for (int64_t i = 0; i < count; ++i) {
    int64_t whole = i;
    double real = 0;
    const size_t at = static_cast<size_t>(i);
    if (array.rule == MadeArray::Rule::kList) {
      whole = array.integers.empty() ? 0 : array.integers[at];
      real = array.reals.empty() ? 0 : array.reals[at];
    } else {
      if (array.rule == MadeArray::Rule::kRandint)
        whole = static_cast<int64_t>(
            static_cast<uint64_t>(array.low) +
            Mix(key + (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15) % span);
      real = static_cast<double>(whole);
    }
    PutNumber(dtype, whole, real, tensor.data);
  }
  if (dtype != v1::DTYPE_BFLOAT16)
    return tensor;
  tensor.type.set_dtype(v1::DTYPE_FLOAT32);
  return client::ToBFloat16(tensor);
}

} // namespace pyasc::cli
