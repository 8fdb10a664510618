// Prints the library's table as JSON: for docs/generate_library.py, which makes the documentation
// and the Python package's names from it, and for the test that runs every row.
#include "compiler/sema/library.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace pyasc::sema;

namespace {

llvm::StringRef Text(std::string_view s) { return {s.data(), s.size()}; }

llvm::StringRef Text(DTypes t) {
  switch (t) {
  case DTypes::Any:
    return "any";
  case DTypes::Numeric:
    return "numeric";
  case DTypes::Float:
    return "float";
  case DTypes::Integer:
    return "integer";
  }
  return "";
}

llvm::StringRef Text(ShapeRule s) {
  switch (s) {
  case ShapeRule::None:
    return "none";
  case ShapeRule::Elementwise:
    return "elementwise";
  case ShapeRule::Reduction:
    return "reduction";
  case ShapeRule::Argument:
    return "argument";
  case ShapeRule::Own:
    return "own";
  }
  return "";
}

llvm::StringRef Text(Lowering l) {
  switch (l) {
  case Lowering::CompileTime:
    return "compile time";
  case Lowering::View:
    return "view";
  case Lowering::Vector:
    return "vector";
  case Lowering::Cube:
    return "cube";
  case Lowering::Scalar:
    return "scalar";
  }
  return "";
}

} // namespace

int main() {
  llvm::json::OStream json(llvm::outs(), 1);
  json.arrayBegin();
  for (const LibrarySection &section : LibrarySections())
    for (const LibraryEntry &e : section.entries) {
      json.objectBegin();
      json.attribute("section", Text(section.title));
      json.attribute("name", Text(e.name));
      json.attributeArray("reach", [&] {
        constexpr std::pair<Reach, llvm::StringRef> kNames[] = {{kAsc, "asc"},
                                                                {kMath, "math"},
                                                                {kBuiltin, "builtin"},
                                                                {kMethod, "method"},
                                                                {kNumpy, "numpy"}};
        for (auto [bit, name] : kNames)
          if (e.reach & bit)
            json.value(name);
      });
      json.attribute("signature", Text(e.signature));
      json.attribute("dtypes", Text(e.dtypes));
      json.attribute("shape", Text(e.shape));
      json.attribute("doc", Text(e.doc));
      json.attribute("reference", Text(e.reference));
      json.attribute("lowering", Text(e.lowering));
      json.objectEnd();
    }
  json.arrayEnd();
  llvm::outs() << "\n";
}
