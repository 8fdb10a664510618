#include "client/cli/kernel_scan.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "client/cpp/tensor.h"

namespace pyasc::cli {
namespace {

bool IsWordChar(char c) {
  return absl::ascii_isalnum(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// The text with comments and the contents of strings made blank, newlines kept.
std::string Blank(absl::string_view source) {
  std::string text(source);
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n')
        text[i++] = ' ';
    } else if (text[i] == '"' || text[i] == '\'') {
      std::string quote(1, text[i]);
      if (text.compare(i, 3, std::string(3, text[i])) == 0)
        quote.append(2, text[i]);
      size_t j = i + quote.size();
      while (j < text.size() && text.compare(j, quote.size(), quote) != 0) {
        if (quote.size() == 1 && text[j] == '\n')
          break;
        j += text[j] == '\\' ? 2 : 1;
      }
      size_t end = std::min(j + quote.size(), text.size());
      for (; i < end; ++i)
        if (text[i] != '\n')
          text[i] = ' ';
    } else {
      ++i;
    }
  }
  return text;
}

absl::string_view TakeWord(absl::string_view *rest) {
  *rest = absl::StripLeadingAsciiWhitespace(*rest);
  size_t n = 0;
  while (n < rest->size() && IsWordChar((*rest)[n]))
    ++n;
  absl::string_view word = rest->substr(0, n);
  rest->remove_prefix(n);
  return word;
}

// Takes "(...)" with its nested brackets; what is inside.
absl::string_view TakeBrackets(absl::string_view *rest) {
  int depth = 0;
  for (size_t i = 0; i < rest->size(); ++i) {
    char c = (*rest)[i];
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (depth == 0) {
      absl::string_view inside = rest->substr(1, i - 1);
      rest->remove_prefix(i + 1);
      return inside;
    }
  }
  absl::string_view inside = rest->substr(std::min<size_t>(1, rest->size()));
  *rest = {};
  return inside;
}

std::vector<absl::string_view> SplitParameters(absl::string_view list) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (c == ',' && depth == 0) {
      parts.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(list.substr(begin));
  return parts;
}

bool HasWord(absl::string_view text, absl::string_view word) {
  while (!text.empty()) {
    if (TakeWord(&text) == word)
      return true;
    while (!text.empty() && !IsWordChar(text[0]))
      text.remove_prefix(1);
  }
  return false;
}

// nullopt for "/", "*" and an empty place.
std::optional<ScannedParameter> ScanParameter(absl::string_view text) {
  ScannedParameter parameter;
  parameter.name = std::string(TakeWord(&text));
  if (parameter.name.empty())
    return std::nullopt;
  text = absl::StripLeadingAsciiWhitespace(text);
  size_t equals = text.find('=');
  parameter.has_default = equals != text.npos;
  absl::string_view annotation = text.substr(0, equals);
  if (absl::ConsumePrefix(&annotation, ":")) {
    parameter.annotation = std::string(absl::StripAsciiWhitespace(annotation));
    parameter.is_constexpr = HasWord(annotation, "constexpr");
  }
  return parameter;
}

// `@asc.kernel` and the like at the start of `rest`, which is taken up to its end.
bool TakeKernelDecorator(absl::string_view *rest) {
  if (!absl::ConsumePrefix(rest, "@"))
    return false;
  absl::string_view last = TakeWord(rest);
  while (absl::ConsumePrefix(rest, "."))
    last = TakeWord(rest);
  absl::string_view options = absl::StripLeadingAsciiWhitespace(*rest);
  if (!options.empty() && options[0] == '(') {
    TakeBrackets(&options);
    *rest = options;
  }
  return last == "kernel";
}

} // namespace

std::vector<ScannedKernel> ScanKernels(absl::string_view source) {
  std::string text = Blank(source);
  std::vector<ScannedKernel> kernels;
  absl::string_view rest = text;
  bool decorated = false;
  while (!rest.empty()) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
    absl::string_view line = rest;
    if (TakeKernelDecorator(&rest)) {
      decorated = true;
    } else if (absl::StartsWith(line, "@")) {
      // Another decorator, between ours and the function: already taken.
    } else {
      absl::string_view word = TakeWord(&rest);
      if (word == "def" && decorated) {
        ScannedKernel kernel;
        kernel.name = std::string(TakeWord(&rest));
        rest = absl::StripLeadingAsciiWhitespace(rest);
        for (absl::string_view parameter : SplitParameters(TakeBrackets(&rest)))
          if (std::optional<ScannedParameter> scanned = ScanParameter(parameter))
            kernel.parameters.push_back(*std::move(scanned));
        kernels.push_back(std::move(kernel));
      }
      if (!word.empty())
        decorated = false;
    }
    size_t newline = rest.find('\n');
    rest.remove_prefix(newline == rest.npos ? rest.size() : newline + 1);
  }
  return kernels;
}

std::optional<v1::Argument> ArgumentFromAnnotation(const ScannedParameter &parameter) {
  v1::Argument argument;
  argument.set_name(parameter.name);
  const std::string &annotation = parameter.annotation;
  // A Python number's kind, as for a literal.
  if (annotation == "int")
    argument.set_scalar(v1::DTYPE_INT64);
  else if (annotation == "float")
    argument.set_scalar(v1::DTYPE_FLOAT32);
  else if (annotation == "bool")
    argument.set_scalar(v1::DTYPE_BOOL);
  if (argument.has_scalar())
    return argument;
  // "asc.float32[...]", "pyasc.float32", "float32[...]".
  size_t dot = annotation.substr(0, annotation.find('[')).rfind('.');
  std::string type_text = dot == std::string::npos ? annotation : annotation.substr(dot + 1);
  if (std::optional<v1::DType> dtype = client::ParseDType(type_text)) {
    argument.set_scalar(*dtype);
    return argument;
  }
  if (!type_text.empty() && type_text.back() == ']') {
    absl::StatusOr<v1::TensorType> type = client::ParseType(type_text);
    if (type.ok() && type->shape_size() > 0) {
      *argument.mutable_tensor() = *std::move(type);
      return argument;
    }
  }
  return std::nullopt;
}

} // namespace pyasc::cli
