// The npu ops of Ascend C text: one call of the basic API each, or one of a prelude function that
// makes the expansion npu_ops.td describes.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/target/ascend/ascendc_printer.h"

using namespace mlir;

namespace pyasc::npu {
namespace {

Type elementOf(Value memory) { return cast<MemRefType>(memory.getType()).getElementType(); }

std::string elementType(Value memory) {
  Type type = elementOf(memory);
  return type.isInteger(1) ? "uint8_t" : cppType(type);
}

std::string join(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string count32(AscendCPrinter &printer, Value value) {
  if (std::optional<int64_t> constant = constantOf(value))
    return std::to_string(*constant);
  return "static_cast<int32_t>(" + printer.use(value) + ")";
}

const char *binaryName(Binary op) {
  switch (op) {
  case Binary::add:
    return "Add";
  case Binary::sub:
    return "Sub";
  case Binary::mul:
    return "Mul";
  case Binary::div:
    return "Div";
  case Binary::max:
    return "Max";
  case Binary::min:
    return "Min";
  case Binary::and_:
    return "And";
  case Binary::or_:
    return "Or";
  }
  return "";
}

const char *unaryName(Unary op) {
  switch (op) {
  case Unary::exp:
    return "Exp";
  case Unary::ln:
    return "Ln";
  case Unary::abs:
    return "Abs";
  case Unary::sqrt:
    return "Sqrt";
  case Unary::rsqrt:
    return "Rsqrt";
  case Unary::reciprocal:
    return "Reciprocal";
  case Unary::relu:
    return "Relu";
  case Unary::not_:
    return "Not";
  case Unary::neg:
    return "Muls";
  }
  return "";
}

const char *scalarName(Scalar op) {
  switch (op) {
  case Scalar::adds:
    return "Adds";
  case Scalar::muls:
    return "Muls";
  case Scalar::maxs:
    return "Maxs";
  case Scalar::mins:
    return "Mins";
  }
  return "";
}

const char *compareName(Compare op) {
  switch (op) {
  case Compare::lt:
    return "CMPMODE::LT";
  case Compare::le:
    return "CMPMODE::LE";
  case Compare::gt:
    return "CMPMODE::GT";
  case Compare::ge:
    return "CMPMODE::GE";
  case Compare::eq:
    return "CMPMODE::EQ";
  case Compare::ne:
    return "CMPMODE::NE";
  }
  return "";
}

const char *reduceName(Reduce op) {
  return op == Reduce::sum ? "Sum" : op == Reduce::max ? "Max" : "Min";
}

const char *roundName(Round round) {
  switch (round) {
  case Round::none:
    return "RoundMode::CAST_NONE";
  case Round::rint:
    return "RoundMode::CAST_RINT";
  case Round::floor:
    return "RoundMode::CAST_FLOOR";
  case Round::ceil:
    return "RoundMode::CAST_CEIL";
  case Round::round:
    return "RoundMode::CAST_ROUND";
  case Round::trunc:
    return "RoundMode::CAST_TRUNC";
  }
  return "";
}

// Wraps `body` in the atomic mode of a transfer to GM.
void withAtomic(AscendCPrinter &printer, Atomic atomic, const std::string &type,
                const std::string &body) {
  if (atomic == Atomic::none)
    return printer.line(body);
  const char *mode = atomic == Atomic::add   ? "SetAtomicAdd"
                     : atomic == Atomic::max ? "SetAtomicMax"
                                             : "SetAtomicMin";
  printer.line(std::string(mode) + "<" + type + ">();");
  printer.line(body);
  printer.line("SetAtomicNone();");
}

// A tensor and offset with another element type of any width.
std::string reinterpreted(AscendCPrinter &printer, Value memory, Value offset,
                          const std::string &type) {
  std::string text = printer.at(memory, offset);
  return elementType(memory) == type ? text : text + ".ReinterpretCast<" + type + ">()";
}

class Instruction {
public:
  explicit Instruction(AscendCPrinter &printer) : p(printer) {}

  bool print(Operation *op);

private:
  void slot(SlotOp op);
  void load(LoadOp op);
  void store(StoreOp op);
  void loadL0(LoadL0Op op);
  void binary(VBinaryOp op);
  void unary(VUnaryOp op);
  void select(VSelectOp op);
  void cast(VCastOp op);
  // The 16-bit elements in `count` elements of a memory's type.
  std::string count16(Value memory, Value count);
  void sync(Operation *op);
  void crossWait(CrossWaitOp wait);

  AscendCPrinter &p;
};

void Instruction::slot(SlotOp op) {
  auto buffer = op.getBuffer().getDefiningOp<BufferOp>();
  int64_t elements = buffer.slotBytes() / bytesOf(elementOf(op.getBuffer()));
  std::string stem = p.use(op.getBuffer());
  std::string name = p.fresh(stem + "_slot");
  std::string which = "(" + p.use(op.getIteration()) + " % " + std::to_string(buffer.getDepth()) +
                      ") * " + std::to_string(elements);
  if (buffer.getDepth() == 1)
    which = "0";
  else if (auto iteration = getConstantIntValue(op.getIteration()); iteration && *iteration >= 0)
    which = std::to_string(*iteration % buffer.getDepth() * elements);
  p.line("LocalTensor<" + elementType(op.getBuffer()) + "> " + name + " = " + stem + "[" + which +
         "];");
  p.name(op, name);
}

void Instruction::load(LoadOp op) {
  if (spaceOf(op.getDst()) != Space::ub)
    return p.refuse(op, "bursts go to UB, L1 takes fractals");
  p.need(Piece::kCopyIn);
  p.line("CopyIn<" + elementType(op.getDst()) + ">(" +
         join({p.at(op.getDst(), op.getDstOffset()), p.at(op.getSrc(), op.getSrcOffset()),
               p.use(op.getCount()), p.use(op.getLen()), p.use(op.getSrcStride()),
               p.use(op.getDstStride())}) +
         ");");
}

void Instruction::store(StoreOp op) {
  p.need(Piece::kCopyOut);
  withAtomic(p, op.getAtomic(), elementType(op.getDst()),
             "CopyOut<" + elementType(op.getDst()) + ">(" +
                 join({p.at(op.getDst(), op.getDstOffset()), p.at(op.getSrc(), op.getSrcOffset()),
                       p.use(op.getCount()), p.use(op.getLen()), p.use(op.getDstStride()),
                       p.use(op.getSrcStride())}) +
                 ");");
}

void Instruction::loadL0(LoadL0Op op) {
  bool to_a = spaceOf(op.getDst()) == Space::l0a;
  bool wide = bytesOf(elementOf(op.getDst())) == 4;
  std::string function = to_a ? "LoadL0A" : "LoadL0B";
  if (op.getTranspose()) {
    function += wide ? "Transposed32" : "Transposed16";
    p.need(wide ? Piece::kLoadL0Transposed32 : Piece::kLoadL0Transposed16);
  } else {
    p.need(Piece::kLoadL0);
  }
  p.line(function + "<" + elementType(op.getDst()) + ">(" +
         join({p.at(op.getDst(), op.getDstOffset()), p.at(op.getSrc(), op.getSrcOffset()),
               p.use(op.getExtent()), p.use(op.getK()), p.use(op.getSrcRows())}) +
         ");");
}

std::string Instruction::count16(Value memory, Value count) {
  int64_t bytes = bytesOf(elementOf(memory));
  std::string text = count32(p, count);
  return bytes == 2 ? text : bytes == 1 ? text + " / 2" : text + " * " + std::to_string(bytes / 2);
}

void Instruction::binary(VBinaryOp op) {
  // And and Or know 16-bit elements only.
  bool bits = op.getOp() == Binary::and_ || op.getOp() == Binary::or_;
  std::string type = bits ? "int16_t" : elementType(op.getDst());
  p.line(std::string(binaryName(op.getOp())) + "(" +
         join({reinterpreted(p, op.getDst(), op.getDstOffset(), type),
               reinterpreted(p, op.getA(), op.getAOffset(), type),
               reinterpreted(p, op.getB(), op.getBOffset(), type),
               bits ? count16(op.getDst(), op.getCount()) : count32(p, op.getCount())}) +
         ");");
}

void Instruction::unary(VUnaryOp op) {
  bool bits = op.getOp() == Unary::not_;
  std::string type = bits ? "int16_t" : elementType(op.getDst());
  std::string minus =
      op.getOp() == Unary::neg ? "static_cast<" + elementType(op.getDst()) + ">(-1), " : "";
  p.line(std::string(unaryName(op.getOp())) + "(" +
         join({reinterpreted(p, op.getDst(), op.getDstOffset(), type),
               reinterpreted(p, op.getA(), op.getAOffset(), type),
               minus + (bits ? count16(op.getDst(), op.getCount()) : count32(p, op.getCount()))}) +
         ");");
}

void Instruction::select(VSelectOp op) {
  // Integers move bit by bit, as floats of their width.
  std::string type = bytesOf(elementOf(op.getDst())) == 2 ? "half" : "float";
  p.line("Select(" +
         join({reinterpreted(p, op.getDst(), op.getDstOffset(), type),
               reinterpreted(p, op.getMask(), op.getMaskOffset(), "uint8_t"),
               reinterpreted(p, op.getA(), op.getAOffset(), type),
               reinterpreted(p, op.getB(), op.getBOffset(), type),
               "SELMODE::VSEL_TENSOR_TENSOR_MODE", count32(p, op.getCount())}) +
         ");");
}

void Instruction::cast(VCastOp op) {
  auto typed = [&](Value memory, Value offset) {
    bool flip = op.getIsUnsigned() && elementType(memory) == "int8_t";
    return reinterpreted(p, memory, offset, flip ? "uint8_t" : elementType(memory));
  };
  p.line("Cast(" +
         join({typed(op.getDst(), op.getDstOffset()), typed(op.getA(), op.getAOffset()),
               roundName(op.getRound()), count32(p, op.getCount())}) +
         ");");
}

void Instruction::sync(Operation *op) {
  auto event = [](Pipe from, Pipe to) {
    return "HardEvent::" + stringifyPipe(from).str() + "_" + stringifyPipe(to).str();
  };
  if (auto set = dyn_cast<SetFlagOp>(op))
    p.line("SetFlag<" + event(set.getFrom(), set.getTo()) + ">(" + count32(p, set.getId()) + ");");
  else if (auto wait = dyn_cast<WaitFlagOp>(op))
    p.line("WaitFlag<" + event(wait.getFrom(), wait.getTo()) + ">(" + count32(p, wait.getId()) +
           ");");
  else if (auto barrier = dyn_cast<PipeBarrierOp>(op))
    p.line("PipeBarrier<PIPE_" + stringifyPipe(barrier.getPipe()).str() + ">();");
  else if (auto set = dyn_cast<CrossSetOp>(op))
    p.line("CrossCoreSetFlag<" + std::to_string(set.getMode()) + ", PIPE_" +
           stringifyPipe(set.getPipe()).str() + ">(" + count32(p, set.getId()) + ");");
  else if (auto wait = dyn_cast<CrossWaitOp>(op))
    crossWait(wait);
  else
    p.line("FlushDataCache();");
}

// The wait names the mode of the flag's sets, which stand in this function and in the other of its
// group.
void Instruction::crossWait(CrossWaitOp wait) {
  auto function = wait->getParentOfType<func::FuncOp>();
  std::optional<int64_t> id = constantOf(wait.getId()), mode;
  bool unique = id.has_value();
  for (auto other : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) {
    bool together = other == function || (function->hasAttr(kGroup) &&
                                          other->getAttr(kGroup) == function->getAttr(kGroup));
    if (together)
      other.walk([&](CrossSetOp set) {
        std::optional<int64_t> one = constantOf(set.getId());
        unique &= one.has_value();
        if (one != id)
          return;
        unique &= !mode || *mode == static_cast<int64_t>(set.getMode());
        mode = set.getMode();
      });
  }
  if (!unique || !mode)
    return p.refuse(wait, "a wait for a flag between cores whose mode is not known");
  p.line("CrossCoreWaitFlag<" + std::to_string(*mode) + ", PIPE_" +
         stringifyPipe(wait.getPipe()).str() + ">(" + count32(p, wait.getId()) + ");");
}

bool Instruction::print(Operation *op) {
  if (isa<SetFlagOp, WaitFlagOp, PipeBarrierOp, DcacheFlushOp, CrossSetOp, CrossWaitOp>(op)) {
    sync(op);
    return true;
  }
  if (auto one = dyn_cast<SlotOp>(op)) {
    slot(one);
    return true;
  }
  if (!isa<InstructionOpInterface>(op))
    return false;
  p.position(op->getLoc());
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](auto o) { load(o); })
      .Case<StoreOp>([&](auto o) { store(o); })
      .Case<LoadNd2NzOp>([&](auto o) {
        p.need(Piece::kNd2Nz);
        p.line("CopyNd2Nz<" + elementType(o.getDst()) + ">(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getSrc(), o.getSrcOffset()),
                     p.use(o.getRows()), p.use(o.getCols()), p.use(o.getSrcStride()),
                     p.use(o.getDstRows()), std::to_string(o.getRowStep())}) +
               ");");
      })
      .Case<LoadL0Op>([&](auto o) { loadL0(o); })
      .Case<MmadOp>([&](auto o) {
        p.need(Piece::kMmad);
        p.line("Multiply(" +
               join({p.at(o.getC(), o.getCOffset()), p.at(o.getA(), o.getAOffset()),
                     p.at(o.getB(), o.getBOffset()), p.use(o.getM()), p.use(o.getN()),
                     p.use(o.getK()), p.use(o.getInit()), o.getATransposed() ? "true" : "false"}) +
               ");");
      })
      .Case<FixpipeOp>([&](auto o) {
        p.need(Piece::kFixpipe);
        withAtomic(p, o.getAtomic(), elementType(o.getDst()),
                   "CopyL0COut(" +
                       join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getSrc(), o.getSrcOffset()),
                             p.use(o.getM()), p.use(o.getN()), p.use(o.getDstStride()),
                             p.use(o.getSrcRows()), o.getRelu() ? "true" : "false"}) +
                       ");");
      })
      .Case<VBinaryOp>([&](auto o) { binary(o); })
      .Case<VUnaryOp>([&](auto o) { unary(o); })
      .Case<VScalarOp>([&](auto o) {
        p.line(std::string(scalarName(o.getOp())) + "(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.use(o.getScalar()), count32(p, o.getCount())}) +
               ");");
      })
      .Case<VDupOp>([&](auto o) {
        p.line("Duplicate(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.use(o.getScalar()),
                     count32(p, o.getCount())}) +
               ");");
      })
      .Case<VCastOp>([&](auto o) { cast(o); })
      .Case<VCompareOp>([&](auto o) {
        p.line("Compare(" +
               join({reinterpreted(p, o.getDst(), o.getDstOffset(), "uint8_t"),
                     p.at(o.getA(), o.getAOffset()), p.at(o.getB(), o.getBOffset()),
                     compareName(o.getOp()), count32(p, o.getCount())}) +
               ");");
      })
      .Case<VComparesOp>([&](auto o) {
        p.line("Compares(" +
               join({reinterpreted(p, o.getDst(), o.getDstOffset(), "uint8_t"),
                     p.at(o.getA(), o.getAOffset()), p.use(o.getScalar()), compareName(o.getOp()),
                     count32(p, o.getCount())}) +
               ");");
      })
      .Case<VSelectOp>([&](auto o) { select(o); })
      .Case<VReduceOp>([&](auto o) {
        p.line("Reduce" + std::string(reduceName(o.getOp())) + "(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.at(o.getTmp(), o.getTmpOffset()),
                     count32(p, o.getCount()) + (o.getOp() == Reduce::sum ? "" : ", false")}) +
               ");");
      })
      .Case<VRowReduceOp>([&](auto o) {
        p.need(Piece::kRowReduce);
        p.line("RowReduce" + std::string(reduceName(o.getOp())) + "<" + elementType(o.getDst()) +
               ">(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.at(o.getTmp(), o.getTmpOffset()), p.use(o.getRows()), p.use(o.getCols()),
                     p.use(o.getRowStride())}) +
               ");");
      })
      .Case<VRowBinaryOp>([&](auto o) {
        p.need(Piece::kRowBinary);
        p.line("RowBinary<Op" + std::string(binaryName(o.getOp())) + ", " +
               elementType(o.getDst()) + ", " + (o.getReverse() ? "true" : "false") + ">(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.at(o.getB(), o.getBOffset()), p.at(o.getTmp(), o.getTmpOffset()),
                     p.use(o.getRows()), p.use(o.getCols()), p.use(o.getRowStride())}) +
               ");");
      })
      .Case<VColBinaryOp>([&](auto o) {
        p.need(Piece::kColBinary);
        p.line("ColBinary<Op" + std::string(binaryName(o.getOp())) + ", " +
               elementType(o.getDst()) + ", " + (o.getReverse() ? "true" : "false") + ">(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.at(o.getB(), o.getBOffset()), p.use(o.getRows()), p.use(o.getCols()),
                     p.use(o.getRowStride())}) +
               ");");
      })
      .Case<VBlockReduceOp>([&](auto o) {
        p.need(Piece::kBlockReduce);
        p.line("BlockReduce" + std::string(reduceName(o.getOp())) + "Of(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.use(o.getCount())}) +
               ");");
      })
      .Case<VDeinterleaveOp>([&](auto o) {
        p.need(Piece::kDeinterleave);
        // Patterns 1 and 3 of GatherMask.
        p.line("Deinterleave(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     count32(p, o.getCount()), o.getStep() == 2 ? "1" : "3"}) +
               ");");
      })
      .Case<VTransposeOp>([&](auto o) {
        p.need(Piece::kTranspose);
        p.line("TransposeTile<" + elementType(o.getDst()) + ">(" +
               join({p.at(o.getDst(), o.getDstOffset()), p.at(o.getA(), o.getAOffset()),
                     p.use(o.getRows()), p.use(o.getCols()), p.use(o.getAStride()),
                     p.use(o.getDstStride())}) +
               ");");
      })
      .Default([&](Operation *o) { p.refuse(o, "the printer does not know this instruction"); });
  return true;
}

} // namespace

bool printInstruction(AscendCPrinter &printer, Operation *op) {
  return Instruction(printer).print(op);
}

} // namespace pyasc::npu
