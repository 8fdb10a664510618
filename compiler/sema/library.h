// The table of the language's library: one entry an operation.
//
// To add an operation: write its entry in one of the library_*.cc tables (name, signature, dtypes,
// shape rule, emitter, one line of documentation) and a test. Nothing else knows its name.
#ifndef PYASC_COMPILER_SEMA_LIBRARY_H
#define PYASC_COMPILER_SEMA_LIBRARY_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/sema/value.h"

namespace pyasc::sema {

class Emitter;
class ScalarOps;

// A call whose arguments are sorted into the order of the entry's signature.
struct BoundCall {
  const LibraryEntry *entry = nullptr;
  diag::SourceRange range;
  std::vector<Value> args;              // absent ones hold their default
  std::vector<diag::SourceRange> where; // of each argument; the call's own for a default
  std::vector<Value> rest;              // what `*args` took
  bool Given(size_t i) const { return !(where[i] == range); }
};

// What element types an operation takes.
enum class DTypes : uint8_t {
  Any,
  Numeric, // no bool
  Float,   // integers become float32
  Integer, // and bool
};

// What the shape of the result is.
enum class ShapeRule : uint8_t {
  None,        // no tensor comes out
  Elementwise, // the operands' shapes, broadcast
  Reduction,   // without the axes, or with ones there when keepdims
  Argument,    // given as an argument
  Own,         // as the documentation says
};

// What an Ascend core does for it, where its element types allow; the scalar unit does the rest.
enum class Lowering : uint8_t {
  CompileTime, // nothing: it is decided, or said to the compiler
  View,        // nothing by itself: the same memory, seen otherwise
  Vector,      // whole tensors on the vector unit
  Cube,        // products on the cube unit
  Scalar,      // element by element
};

// Which names reach it, as bits.
enum Reach : uint8_t {
  kAsc = 1,
  kMath = 2,
  kBuiltin = 4,
  kMethod = 8, // of a tensor or scalar, which becomes the first argument
  kNumpy = 16,
};

struct LibraryEntry {
  std::string_view name;
  uint8_t reach = kAsc;
  // Parameters as Python writes them: "x, axis=None, keepdims=False", "*values", "x, /".
  std::string_view signature;
  DTypes dtypes = DTypes::Any;
  ShapeRule shape = ShapeRule::Own;
  std::string_view doc;
  // What it computes, as a NumPy expression of the parameters' names. Functions that NumPy lacks
  // (erf, softmax, conv2d, ...) are those of tests/language/reference.py.
  std::string_view reference;
  Lowering lowering = Lowering::Scalar;
  Value (*emit)(Emitter &, const BoundCall &) = nullptr;
  // Elementwise functions of one argument: the body for a float type, and its value for a constant.
  mlir::Value (*body)(ScalarOps &, mlir::Value, DType) = nullptr;
  double (*fold)(double) = nullptr;
  int tag = 0; // for emitters that serve several entries
};

// The parts of the table.
std::span<const LibraryEntry> ElementwiseTable();
std::span<const LibraryEntry> BuiltinTable();
std::span<const LibraryEntry> CreationTable();
std::span<const LibraryEntry> ReductionTable();
std::span<const LibraryEntry> LinearAlgebraTable();
std::span<const LibraryEntry> ShapeTable();
std::span<const LibraryEntry> NormalizationTable();
std::span<const LibraryEntry> ConvolutionTable();
std::span<const LibraryEntry> OrderTable();
std::span<const LibraryEntry> CoresTable();
std::span<const LibraryEntry> RandomTable();

// A part of the table under its heading in the documentation.
struct LibrarySection {
  std::string_view title;
  std::span<const LibraryEntry> entries;
};
std::vector<LibrarySection> LibrarySections();

// Every entry, in the order of the tables.
std::vector<const LibraryEntry *> AllLibraryEntries();
const LibraryEntry *FindLibraryEntry(std::string_view name, uint8_t reach);

// `module`.`name` for the modules "asc", "math" and "numpy": a function, dtype or constant; an
// invalid value when there is none.
Value LibraryAttribute(std::string_view module, std::string_view name);

// What a misspelt name may have meant.
struct Suggestion {
  std::string name; // "" when nothing is near
  // Surely meant: nothing else is as near, and little of the name differs. A fix may replace it.
  bool certain = false;

  bool empty() const { return name.empty(); }
  // What to replace the name by, "" when it is not certain.
  std::string Fix() const { return certain ? name : ""; }
};

// The candidate nearest to a name by edit distance, where that is small beside its length.
Suggestion ClosestName(std::string_view name, const std::vector<std::string_view> &candidates);

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_LIBRARY_H
