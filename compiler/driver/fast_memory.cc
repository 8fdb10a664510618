#include "compiler/driver/fast_memory.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/driver/stages.h"
#include "compiler/ir/asc_dialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc::compiler {

bool CheckFastMemory(mlir::ModuleOp module, const machine::Soc &soc,
                     diag::DiagnosticList &diagnostics) {
  bool ok = true;
  std::map<mlir::Block *, std::vector<mlir::memref::AllocOp>> scopes;
  module.walk([&](mlir::memref::AllocOp alloc) {
    // Allocations stand at the top of their scope, the last request first.
    if (alloc->hasAttr(ir::AscDialect::kShared))
      scopes[alloc->getBlock()].push_back(alloc);
  });
  for (auto &[block, requests] : scopes) {
    int64_t placed = 0;
    for (auto it = requests.rbegin(); it != requests.rend(); ++it) {
      mlir::memref::AllocOp alloc = *it;
      mlir::MemRefType type = alloc.getType();
      int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
      if (placed + bytes <= soc.ub_bytes) {
        placed += bytes;
        continue;
      }
      std::string message = absl::StrCat(
          "shared memory of ", bytes, " bytes",
          placed ? absl::StrCat(" beside ", placed, " bytes asked for before") : "",
          " does not fit into the ", soc.ub_bytes, " bytes of a core of ", soc.product);
      bool strict = alloc->hasAttr(ir::AscDialect::kStrict);
      ok = ok && !strict;
      if (strict)
        diagnostics.Error("fast-memory-full", RangeOf(alloc.getLoc()),
                          message + "; make it smaller, or drop strict=True to have it in global "
                                    "memory");
      else
        diagnostics.Warning("fast-memory-full", RangeOf(alloc.getLoc()),
                            message + "; it is kept in global memory");
    }
  }
  return ok;
}

} // namespace pyasc::compiler
