// What the semantic analysis of one kernel may cost. Helpers are inlined and static loops unrolled,
// so a short text can ask for any amount of work: this is the one place that says how much is too
// much, and what the user is told then. The bounds are such that what stays below them compiles in
// seconds, within the memory of a worker, on every target (tests/language/test_size_bounds.py).
#ifndef PYASC_COMPILER_SEMA_BUDGET_H
#define PYASC_COMPILER_SEMA_BUDGET_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace pyasc::sema {

// Values in a tuple or list, those of the tuples in it included.
inline constexpr size_t kMaxItems = 4096;
// Bytes of a string that a kernel makes.
inline constexpr size_t kMaxText = 64 << 10;
// Loops and branches around a statement: those of the text, and those that early exits make.
inline constexpr int kMaxRegionDepth = 128;

// Expressions of which an index is the minimum or maximum.
inline constexpr size_t kMaxAffineBounds = 8;
// Whether an index expression is small enough to reason about; a larger one is computed by code.
bool IsSmallAffine(mlir::AffineExpr e);
bool IsSmallAffine(mlir::AffineExpr a, mlir::AffineExpr b);

// Counts the work of one compilation. Attach it to the builder, so that it sees the operations.
class Budget : public mlir::OpBuilder::Listener {
public:
  enum class Repeated : uint8_t { Loop, Comprehension, Function };

  // Types are found in rounds, each of which walks the kernel anew.
  void BeginRound();
  // One statement or expression; `weight`: or what costs as much. False: there is no more.
  bool Spend(int64_t weight = 1);
  // A proof about an index, by a solver.
  bool SpendProof();
  // The body of `what` is gone through once more.
  void Repeat(const void *what, Repeated kind, std::string_view name,
              const diag::SourceRange &range);
  bool exhausted() const { return exhausted_; }
  // Says once why there is no more. `here`: what was being analysed.
  void Report(diag::DiagnosticList &diags, const diag::SourceRange &here);

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override;

private:
  struct Repeats {
    Repeated kind = Repeated::Loop;
    std::string name;
    diag::SourceRange range;
    int64_t count = 0;
  };

  int64_t steps_ = 0, operations_ = 0; // of this round
  int64_t all_steps_ = 0;
  std::map<const void *, Repeats> repeats_;
  bool exhausted_ = false, reported_ = false;
};

} // namespace pyasc::sema

#endif // PYASC_COMPILER_SEMA_BUDGET_H
