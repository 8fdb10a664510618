// What several steps of a row group compute, so that it is computed once.
#ifndef PYASC_COMPILER_TARGET_ASCEND_ROW_SHARING_H
#define PYASC_COMPILER_TARGET_ASCEND_ROW_SHARING_H

#include <map>
#include <vector>

#include "compiler/target/ascend/row_group.h"

namespace pyasc::npu {

// Operations of two bodies have the same key only when they give the same value of each element:
// the same operation on what is the same. Steps that write a tensor between them tell its reads
// apart.
class RowSharing {
public:
  explicit RowSharing(const RowGroup &group);

  struct Shared {
    mlir::Value value; // of the step's body
    unsigned key;
  };
  // What the step wants and an earlier one has computed; and what later ones will want of it.
  llvm::ArrayRef<Shared> taken(size_t step) const { return taken_[step]; }
  llvm::ArrayRef<Shared> kept(size_t step) const { return kept_[step]; }
  // Whether no step after this one wants it.
  bool isLast(unsigned key, size_t step) const { return last_.at(key) <= step; }

private:
  std::vector<llvm::SmallVector<Shared, 2>> taken_, kept_;
  std::map<unsigned, size_t> last_;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_ROW_SHARING_H
