// Control flow, memory of scalars and names of Ascend C text.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

#include "compiler/target/ascend/ascendc_printer.h"

using namespace mlir;

namespace pyasc::npu {
namespace {

// Longer expressions get a name of their own.
constexpr size_t kInlineLimit = 60;

bool isCell(Value memref) { return cast<MemRefType>(memref.getType()).getRank() == 0; }

// Declares `value` as a variable that later statements assign.
std::string declare(AscendCPrinter &printer, Value value, const llvm::Twine &initial) {
  std::string variable = printer.fresh("var");
  printer.name(value, variable);
  printer.line(cppType(value.getType()) + " " + variable + " = " + initial + ";");
  return variable;
}

void assignAll(AscendCPrinter &printer, ValueRange variables, ValueRange values) {
  // A yielded value may be another variable of the same loop: read all before writing any.
  SmallVector<std::string> texts;
  for (Value value : values)
    texts.push_back(printer.use(value));
  if (variables.size() == 1) {
    if (printer.use(variables[0]) != texts[0])
      printer.line(printer.use(variables[0]) + " = " + texts[0] + ";");
    return;
  }
  SmallVector<std::string> copies;
  for (auto [value, text] : llvm::zip(values, texts)) {
    copies.push_back(printer.fresh("next"));
    printer.line("const " + cppType(value.getType()) + " " + copies.back() + " = " + text + ";");
  }
  for (auto [variable, copy] : llvm::zip(variables, copies))
    printer.line(printer.use(variable) + " = " + copy + ";");
}

void printFor(AscendCPrinter &printer, scf::ForOp loop) {
  for (auto [result, argument, initial] :
       llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs())) {
    std::string variable = declare(printer, result, printer.use(initial));
    printer.name(argument, variable);
  }
  std::string iv = printer.fresh("i");
  printer.name(loop.getInductionVar(), iv);
  std::string step = printer.use(loop.getStep());
  std::string type = cppType(loop.getInductionVar().getType());
  printer.line("for (" + type + " " + iv + " = " + printer.use(loop.getLowerBound()) + "; " + iv +
               " < " + printer.use(loop.getUpperBound()) + "; " +
               (step == "1" ? "++" + iv : iv + " += " + step) + ") {");
  printer.indent(1);
  printer.block(*loop.getBody());
  assignAll(printer, loop.getResults(), loop.getBody()->getTerminator()->getOperands());
  printer.indent(-1);
  printer.line("}");
}

void printIf(AscendCPrinter &printer, scf::IfOp branch) {
  for (Value result : branch.getResults())
    declare(printer, result, cppType(result.getType()) + "(0)");
  printer.line("if (" + printer.use(branch.getCondition()) + ") {");
  printer.indent(1);
  printer.block(*branch.thenBlock());
  assignAll(printer, branch.getResults(), branch.thenYield().getOperands());
  printer.indent(-1);
  if (branch.elseBlock() &&
      (branch.elseBlock()->getOperations().size() > 1 || branch.getNumResults() > 0)) {
    printer.line("} else {");
    printer.indent(1);
    printer.block(*branch.elseBlock());
    assignAll(printer, branch.getResults(), branch.elseYield().getOperands());
    printer.indent(-1);
  }
  printer.line("}");
}

void printWhile(AscendCPrinter &printer, scf::WhileOp loop) {
  for (auto [argument, initial] : llvm::zip(loop.getBeforeArguments(), loop.getInits()))
    declare(printer, argument, printer.use(initial));
  for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getAfterArguments())) {
    std::string variable = declare(printer, result, cppType(result.getType()) + "(0)");
    printer.name(argument, variable);
  }
  printer.line("while (true) {");
  printer.indent(1);
  printer.block(*loop.getBeforeBody());
  auto condition = loop.getConditionOp();
  assignAll(printer, loop.getResults(), condition.getArgs());
  printer.line("if (!" + printer.use(condition.getCondition()) + ") {");
  printer.line("  break;");
  printer.line("}");
  printer.block(*loop.getAfterBody());
  assignAll(printer, loop.getBeforeArguments(), loop.getYieldOp().getOperands());
  printer.indent(-1);
  printer.line("}");
}

} // namespace

void AscendCPrinter::line(const llvm::Twine &text) {
  out.append(static_cast<size_t>(depth) * 2, ' ');
  out += text.str();
  out += '\n';
}

void AscendCPrinter::position(Location loc) {
  auto where = loc->findInstanceOf<FileLineColLoc>();
  if (!where || where.getLine() == 0 || where.getLine() == last_line)
    return;
  last_line = where.getLine();
  line("// kernel line " + std::to_string(last_line));
}

std::string AscendCPrinter::fresh(llvm::StringRef stem) {
  for (unsigned i = 0;; ++i) {
    std::string candidate = (stem + llvm::Twine(i)).str();
    if (taken.insert(candidate).second)
      return candidate;
  }
}

void AscendCPrinter::name(Value value, std::string text) { names[value] = std::move(text); }

std::string AscendCPrinter::expression(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return literal(*this, constant.getValue(), constant.getType());
  if (isa<BlockIdxOp>(op))
    return "static_cast<int64_t>(GetBlockIdx())";
  if (isa<NumBlocksOp>(op))
    return "static_cast<int64_t>(GetBlockNum())";
  return scalarExpression(*this, op);
}

std::string AscendCPrinter::use(Value value) {
  if (auto found = names.find(value); found != names.end())
    return found->second;
  if (Operation *op = value.getDefiningOp()) {
    std::string text = expression(op);
    if (!text.empty())
      return text;
    refuse(op, "a value without a form");
  }
  return "0";
}

std::string AscendCPrinter::at(Value memory, Value offset) {
  std::string text = use(memory);
  std::string index = use(offset);
  return index == "0" ? text : text + "[" + index + "]";
}

void AscendCPrinter::block(Block &body) {
  for (Operation &op : body.without_terminator())
    statement(&op);
}

void AscendCPrinter::refuse(Operation *op, const llvm::Twine &why) {
  failed = true;
  diag::SourceRange range;
  if (auto where = op->getLoc()->findInstanceOf<FileLineColLoc>()) {
    where.getFilename().getValue().getAsInteger(10, range.file);
    range.line = range.end_line = where.getLine();
    range.column = where.getColumn();
    range.end_column = range.column + 1;
  }
  diagnostics.Error(
      "no-ascendc-form", range,
      ("Ascend C's basic API has no form for '" + op->getName().getStringRef() + "': " + why)
          .str());
}

void AscendCPrinter::statement(Operation *op) {
  if (printControl(*this, op) || printInstruction(*this, op))
    return;
  std::string text = expression(op);
  if (text.empty())
    return refuse(op, "it is no scalar computation of the scalar unit");
  // Constants and short computations with one use stand where they are used. That moves no read:
  // only pure ops come here, and what reads memory has a name.
  if (isa<arith::ConstantOp>(op) || (op->hasOneUse() && text.size() <= kInlineLimit))
    return;
  if (op->use_empty())
    return;
  std::string variable = fresh("v");
  line("const " + cppType(op->getResult(0).getType()) + " " + variable + " = " + text + ";");
  name(op->getResult(0), variable);
}

bool printControl(AscendCPrinter &printer, Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    printFor(printer, loop);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    printIf(printer, branch);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    printWhile(printer, loop);
  } else if (auto cell = dyn_cast<memref::AllocaOp>(op)) {
    if (!isCell(cell)) {
      printer.refuse(op, "only single cells live in registers");
      return true;
    }
    std::string type = cppType(cell.getType().getElementType());
    printer.name(cell, printer.fresh("cell"));
    printer.line(type + " " + printer.use(cell) + " = " + type + "(0);");
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    printer.position(op->getLoc());
    std::string variable = printer.fresh("v");
    std::string from = printer.use(load.getMemRef());
    printer.line("const " + cppType(load.getType()) + " " + variable + " = " +
                 (isCell(load.getMemRef())
                      ? from
                      : from + ".GetValue(" + printer.use(load.getIndices()[0]) + ")") +
                 ";");
    printer.name(load, variable);
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    printer.position(op->getLoc());
    std::string to = printer.use(store.getMemRef());
    std::string value = printer.use(store.getValueToStore());
    printer.line(isCell(store.getMemRef())
                     ? to + " = " + value + ";"
                     : to + ".SetValue(" + printer.use(store.getIndices()[0]) + ", " + value +
                           ");");
  } else {
    return false;
  }
  return true;
}

} // namespace pyasc::npu
