// x.name: of modules, tensors, types.
#include "compiler/sema/emitter.h"
#include "compiler/sema/foreign_names.h"

namespace pyasc::sema {

namespace {

// Where what a name of another module means is found here; "" when it is not known.
std::string ElsewhereHint(std::string_view name, std::string_view module) {
  if (module != "asc" && !LibraryAttribute("asc", name).IsInvalid())
    return "; asc." + std::string(name) + " exists";
  std::string_view advice = ForeignFunction(name);
  return advice.empty() ? "" : "; " + std::string(advice);
}

} // namespace

Value Emitter::Attribute(const Value &object, const syntax::Attribute *a) {
  std::string_view name = a->attr;
  switch (object.kind) {
  case Value::Kind::Module: {
    if (object.text == "asc" || object.text == "math" || object.text == "numpy") {
      Value v = LibraryAttribute(object.text, name);
      if (!v.IsInvalid())
        return v;
      std::vector<std::string_view> names;
      for (const LibraryEntry *entry : AllLibraryEntries())
        names.push_back(entry->name);
      for (int t = 0; t <= static_cast<int>(DType::Float64); ++t)
        names.push_back(sema::Name(static_cast<DType>(t)));
      std::erase_if(
          names, [&](std::string_view n) { return LibraryAttribute(object.text, n).IsInvalid(); });
      // Who writes another language's name means what that does, not what looks alike.
      Suggestion close;
      std::string hint = ElsewhereHint(name, object.text);
      if (hint.empty()) {
        close = ClosestName(name, names);
        hint = close.empty() ? "; write it with loops, or with the functions of asc"
                             : "; did you mean '" + object.text + "." + close.name + "'?";
      }
      return ErrorWithFix("unknown-function", a->attr_range,
                          "'" + object.text + "' has no '" + std::string(name) + "' in kernels" +
                              hint,
                          a->attr_range, close.Fix());
    }
    uint32_t file = frames_.empty() ? current_file_ : frame().file;
    if (const ModuleName *other = scope_.FindElsewhere(file, name))
      return other->value;
    if (std::string hint = ElsewhereHint(name, object.text); !hint.empty())
      return Error("unknown-module", a->range,
                   "kernels cannot use the module '" + object.text + "'" + hint);
    return Error("unknown-module", a->range,
                 "kernels cannot use the module '" + object.text +
                     "'; they reach asc, math, numpy's constants and dtypes, and functions of the "
                     "files that were sent");
  }
  case Value::Kind::Scalar:
  case Value::Kind::Tensor: {
    if (name == "shape") {
      std::vector<Value> dims;
      for (int64_t d : object.tensor.Shape())
        dims.push_back(Value::WeakInt(d));
      return Value::TupleOf(std::move(dims));
    }
    if (name == "dtype")
      return Value::DTypeOf(object.dtype);
    if (name == "ndim")
      return Value::WeakInt(static_cast<Int>(object.tensor.dims.size()));
    if (name == "size")
      return Value::WeakInt(object.IsTensor() ? object.tensor.Count() : 1);
    if (name == "itemsize")
      return Value::WeakInt(Bits(object.dtype) / 8);
    if ((name == "T" || name == "mT") && object.IsTensor()) {
      int rank = static_cast<int>(object.tensor.dims.size());
      std::vector<int> order;
      for (int i = 0; i < rank; ++i)
        order.push_back(name == "T" ? rank - 1 - i : i);
      if (name == "mT") {
        if (rank < 2)
          return Error("rank-mismatch", a->range, "mT needs at least two axes");
        std::swap(order[static_cast<size_t>(rank) - 1], order[static_cast<size_t>(rank) - 2]);
      }
      return TransposeView(object, order);
    }
    if (const LibraryEntry *entry = FindLibraryEntry(name, kMethod)) {
      Value v = Value::OfKind(Value::Kind::Method);
      v.library = entry;
      v.items = std::make_shared<std::vector<Value>>(std::vector<Value>{object});
      v.text = std::string(name);
      return v;
    }
    std::vector<std::string_view> names = {"shape", "dtype", "ndim", "size", "T", "mT"};
    for (const LibraryEntry *entry : AllLibraryEntries())
      if (entry->reach & kMethod)
        names.push_back(entry->name);
    Suggestion close;
    std::string hint;
    if (std::string_view advice = ForeignAttribute(name); !advice.empty())
      hint = "; " + std::string(advice);
    else if (close = ClosestName(name, names); !close.empty())
      hint = "; did you mean '" + close.name + "'?";
    else
      hint = "; write it with loops, or with the functions of asc";
    return ErrorWithFix("unknown-attribute", a->attr_range,
                        (object.IsTensor() ? "a tensor" : "a number") +
                            (" has no attribute '" + std::string(name) + "'") + hint,
                        a->attr_range, close.Fix());
  }
  case Value::Kind::DType:
    if (name == "itemsize")
      return Value::WeakInt(Bits(object.dtype) / 8);
    if (name == "name")
      return Value::StringOf(std::string(sema::Name(object.dtype)));
    break;
  case Value::Kind::Tuple:
    if (name == "append") {
      grown_lists_.insert(object.items.get());
      return Error("unsupported-list", a->attr_range,
                   "lists do not grow in kernels; build it in one go: [f(i) for i in range(4)]");
    }
    break;
  case Value::Kind::Library:
    // np.finfo(...).max and the like come through calls; np.add.reduce does not exist here.
    break;
  default:
    break;
  }
  return Error("unknown-attribute", a->attr_range,
               Describe(object) + " has no attribute '" + std::string(name) + "' in kernels");
}

} // namespace pyasc::sema
