// Exports one phase's function; the parts of the exporter share its state.
#ifndef PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_FUNCTION_H
#define PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_FUNCTION_H

#include <optional>

#include "compiler/diag/diagnostic.h"
#include "compiler/target/ascend/export_sim_builder.h"
#include "compiler/target/ascend/npu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace pyasc::npu {

// The simulator's type of an element or a scalar; nothing for types that it lacks. i1 is kI8.
std::optional<sim_isa::Type> simType(mlir::Type type);
sim_isa::Space simSpace(Space space);
// The position of a location as a line table has it; 0 when it has none.
uint32_t packedLine(mlir::Location location);

class SimFunctionExporter {
public:
  using Op = sim_isa::ScalarOp;

  SimFunctionExporter(mlir::func::FuncOp function, diag::DiagnosticList &diagnostics)
      : function(function), diagnostics(diagnostics),
        builder(static_cast<int>(function.getNumArguments())) {}

  // False after a diagnostic.
  bool run(v1::SimFunction &to);

private:
  // export_sim.cc: structure and memory.
  bool exportBlock(mlir::Block &block);
  bool exportOp(mlir::Operation *op);
  bool exportFor(mlir::scf::ForOp loop);
  bool exportIf(mlir::scf::IfOp branch);
  bool exportWhile(mlir::scf::WhileOp loop);
  bool exportLoad(mlir::memref::LoadOp load);
  bool exportStore(mlir::memref::StoreOp store);
  bool exportBuffer(BufferOp buffer);
  bool exportSlot(SlotOp slot);
  // Copies values to registers as if at the same time.
  void assign(mlir::ValueRange from, llvm::ArrayRef<int> to);
  llvm::SmallVector<int> newRegisters(mlir::ValueRange values);
  bool refuse(mlir::Operation *op, const std::string &why = "");

  // export_sim_scalar.cc: arith and math. False without a diagnostic when the op is none of them;
  // with one when it has no form.
  enum class Outcome { kDone, kUnknown, kRefused };
  Outcome exportScalar(mlir::Operation *op);
  Outcome exportInteger(mlir::Operation *op);
  Outcome exportFloat(mlir::Operation *op);
  Outcome exportConversion(mlir::Operation *op);
  Outcome exportMath(mlir::Operation *op);
  // Register of a float operand widened to f32 (or f64 as it is).
  int wide(mlir::Value value);
  // Rounds a register of f32 (f64) to the result's type and names it.
  void defineFloat(mlir::Value result, int reg);

  // export_sim_ops.cc: the npu dialect. exportNpu: as exportScalar.
  Outcome exportNpu(mlir::Operation *op);
  bool exportDma(mlir::Operation *op);
  bool exportCube(mlir::Operation *op);
  bool exportVector(mlir::Operation *op);
  bool exportSync(mlir::Operation *op);
  void exportRowReduce(VRowReduceOp op);
  void exportRowBinary(VRowBinaryOp op);
  void exportColBinary(VColBinaryOp op);
  void exportTranspose(VTransposeOp op);

  // A vector operand in repeat form: address of its first row, bytes from row to row, strides.
  struct Rows {
    Quantity base;
    Quantity row_bytes;
    int64_t block = 1;
  };
  // op(dst, a, b) on `cols` columns of each of `rows` rows, in as many instructions as it needs.
  void issueRows(sim_isa::Descriptor kind, const Rows &dst, const Rows &a, const Rows *b,
                 const Quantity &rows, const Quantity &cols);

  // Where a memref's element 0 lies.
  Quantity baseOf(mlir::Value memory) const { return places.at(memory); }
  Quantity quantity(mlir::Value value);
  int reg(mlir::Value value) { return builder.RegisterOf(quantity(value)); }
  sim_isa::Field address(mlir::Value memory, mlir::Value offset);
  Quantity addressQuantity(mlir::Value memory, mlir::Value offset);
  void define(mlir::Value value, int reg) { registers[value] = reg; }

  mlir::func::FuncOp function;
  diag::DiagnosticList &diagnostics;
  SimBuilder builder;
  v1::SimFunction *out = nullptr;
  llvm::DenseMap<mlir::Value, int> registers;
  llvm::DenseMap<mlir::Value, Quantity> places;
};

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_EXPORT_SIM_FUNCTION_H
