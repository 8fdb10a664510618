#include "compiler/sema/library.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "llvm/ADT/StringRef.h"

namespace pyasc::sema {

std::vector<LibrarySection> LibrarySections() {
  return {{"Python's builtins, loops and compile time", BuiltinTable()},
          {"Making, placing and copying tensors; checks", CreationTable()},
          {"Elementwise", ElementwiseTable()},
          {"Reductions", ReductionTable()},
          {"Linear algebra", LinearAlgebraTable()},
          {"Shape and movement", ShapeTable()},
          {"Normalisation", NormalizationTable()},
          {"Convolution and pooling", ConvolutionTable()},
          {"Order", OrderTable()},
          {"Atomics and blocks", CoresTable()},
          {"Random numbers", RandomTable()}};
}

std::vector<const LibraryEntry *> AllLibraryEntries() {
  std::vector<const LibraryEntry *> all;
  for (const LibrarySection &section : LibrarySections())
    for (const LibraryEntry &e : section.entries)
      all.push_back(&e);
  return all;
}

const LibraryEntry *FindLibraryEntry(std::string_view name, uint8_t reach) {
  for (const LibrarySection &section : LibrarySections())
    for (const LibraryEntry &e : section.entries)
      if (e.name == name && (e.reach & reach))
        return &e;
  return nullptr;
}

Value LibraryAttribute(std::string_view module, std::string_view name) {
  bool asc = module == "asc", math = module == "math", numpy = module == "numpy";
  if (!math) {
    if (auto t = DTypeFromName(name))
      return Value::DTypeOf(*t);
  }
  if (name == "inf")
    return Value::WeakFloat(std::numeric_limits<double>::infinity());
  if (name == "nan")
    return Value::WeakFloat(std::numeric_limits<double>::quiet_NaN());
  if (name == "pi")
    return Value::WeakFloat(std::numbers::pi);
  if (name == "e")
    return Value::WeakFloat(std::numbers::e);
  if (math && name == "tau")
    return Value::WeakFloat(2 * std::numbers::pi);
  if (!math && name == "newaxis")
    return Value::NoneValue();
  if (asc && name == "__version__")
    return Value::StringOf("1.0.0");
  if (const LibraryEntry *entry = FindLibraryEntry(name, asc     ? kAsc
                                                         : math  ? kMath
                                                         : numpy ? kNumpy
                                                                 : 0)) {
    Value v = Value::OfKind(Value::Kind::Library);
    v.library = entry;
    return v;
  }
  return Value::Invalid();
}

std::string ClosestName(std::string_view name, const std::vector<std::string_view> &candidates) {
  std::string_view best;
  unsigned best_distance = name.size() < 4 ? 1 : 2;
  for (std::string_view c : candidates) {
    if (c == name || c.size() < 2)
      continue;
    unsigned d = llvm::StringRef(name.data(), name.size())
                     .edit_distance(llvm::StringRef(c.data(), c.size()), true, best_distance);
    // Two letters of four are half of the name, unless they changed places.
    if (d == 2 && name.size() == 4) {
      std::string x(name), y(c);
      std::sort(x.begin(), x.end());
      std::sort(y.begin(), y.end());
      if (x != y)
        continue;
    }
    if (d <= best_distance && (best.empty() || d < best_distance)) {
      best = c;
      best_distance = d;
    }
  }
  return std::string(best);
}

} // namespace pyasc::sema
