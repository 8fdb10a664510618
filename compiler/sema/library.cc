#include "compiler/sema/library.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

Suggestion ClosestName(std::string_view name, const std::vector<std::string_view> &candidates) {
  auto sorted = [](std::string_view text) {
    std::string letters(text);
    std::sort(letters.begin(), letters.end());
    return letters;
  };
  auto digits = [](std::string_view text) {
    std::string kept;
    std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
                 [](char c) { return c >= '0' && c <= '9'; });
    return kept;
  };
  // One letter is little of any name that has three, two of one that has six; of a shorter one only
  // where they changed places.
  auto distance = [&](std::string_view candidate) -> unsigned {
    unsigned most = name.size() < 6 && sorted(name) != sorted(candidate) ? 1 : 2;
    unsigned d = llvm::StringRef(name.data(), name.size())
                     .edit_distance(llvm::StringRef(candidate.data(), candidate.size()),
                                    /*AllowReplacements=*/true, most);
    return d <= most ? d : 0;
  };
  Suggestion best;
  unsigned best_distance = 0;
  for (std::string_view c : candidates) {
    if (c == name || c == best.name || c.size() < 2 || name.size() < 2)
      continue;
    unsigned d = distance(c);
    if (d == 0 || (!best.empty() && d > best_distance))
      continue;
    bool alone = best.empty() || d < best_distance;
    if (!alone) {
      best.certain = false;
      continue;
    }
    best_distance = d;
    best.name = c;
    // float23 may be float32, and exp3 neither exp nor exp2.
    best.certain = name.size() >= 3 && digits(c) == digits(name) &&
                   (d == 1 || name.size() >= 8 || sorted(c) == sorted(name));
  }
  return best;
}

} // namespace pyasc::sema
