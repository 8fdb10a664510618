#include "compiler/sema/value.h"

#include "compiler/sema/library.h"

namespace pyasc::sema {

std::string ShapeText(const std::vector<int64_t> &shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i)
      out += ", ";
    out += std::to_string(shape[i]);
  }
  if (shape.size() == 1)
    out += ",";
  return out + ")";
}

std::string Describe(const Value &value) {
  switch (value.kind) {
  case Value::Kind::Invalid:
    return "an invalid value";
  case Value::Kind::None:
    return "None";
  case Value::Kind::Scalar: {
    std::string type(Name(value.dtype));
    if (value.weak)
      type = IsFloat(value.dtype) ? "float" : "int";
    bool vowel = type[0] == 'i'; // a uint8, as it is spoken
    return (vowel ? "an " : "a ") + type + (value.weak ? " literal" : " scalar");
  }
  case Value::Kind::Tensor: {
    std::string type(Name(value.dtype));
    bool vowel = type[0] == 'i'; // a uint8, as it is spoken
    return (vowel ? "an " : "a ") + type + " tensor of shape " + ShapeText(value.tensor.Shape());
  }
  case Value::Kind::Tuple:
    return (value.is_list ? "a list of " : "a tuple of ") + std::to_string(value.items->size());
  case Value::Kind::DType:
    return "the type " + std::string(Name(value.dtype));
  case Value::Kind::String:
    return "a string";
  case Value::Kind::Function:
    return "the function '" + std::string(value.function->name) + "'";
  case Value::Kind::Library:
    return "the function '" + std::string(value.library->name) + "'";
  case Value::Kind::Module:
    return "the module '" + value.text + "'";
  case Value::Kind::Method:
    return "a method";
  case Value::Kind::Ellipsis:
    return "...";
  case Value::Kind::Slice:
    return "a slice";
  case Value::Kind::Range:
    return "a range";
  }
  return "a value";
}

} // namespace pyasc::sema
