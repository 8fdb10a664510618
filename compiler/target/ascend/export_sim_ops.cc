// The npu dialect's instructions in a simulator program.
//
// Composite ops expand by the rule in their description in npu_ops.td, the same that the Ascend C
// printer follows.
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/target/ascend/export_sim_function.h"

using namespace mlir;

namespace pyasc::npu {
namespace {

using sim_isa::Descriptor;
using sim_isa::PipeOp;

constexpr int64_t kMaxRepeats = 255;
constexpr int64_t kMaxRepeatStride = 255;

sim_isa::Pipe pipeOf(Pipe pipe) {
  switch (pipe) {
  case Pipe::S:
    return sim_isa::Pipe::kS;
  case Pipe::V:
    return sim_isa::Pipe::kV;
  case Pipe::M:
    return sim_isa::Pipe::kM;
  case Pipe::MTE1:
    return sim_isa::Pipe::kMte1;
  case Pipe::MTE2:
    return sim_isa::Pipe::kMte2;
  case Pipe::MTE3:
    return sim_isa::Pipe::kMte3;
  case Pipe::FIX:
    return sim_isa::Pipe::kFix;
  case Pipe::ALL:
    break;
  }
  return sim_isa::Pipe::kAll;
}

sim_isa::Space spaceIn(Value memory) { return simSpace(spaceOf(memory)); }

Type elementOf(Value memory) { return cast<MemRefType>(memory.getType()).getElementType(); }
sim_isa::Type typeOf(Value memory) { return *simType(elementOf(memory)); }
int64_t sizeOf(Value memory) { return bytesOf(elementOf(memory)); }

uint8_t subOf(Binary op) {
  using S = sim_isa::Binary;
  switch (op) {
  case Binary::add:
    return static_cast<uint8_t>(S::kAdd);
  case Binary::sub:
    return static_cast<uint8_t>(S::kSub);
  case Binary::mul:
    return static_cast<uint8_t>(S::kMul);
  case Binary::div:
    return static_cast<uint8_t>(S::kDiv);
  case Binary::max:
    return static_cast<uint8_t>(S::kMax);
  case Binary::min:
    return static_cast<uint8_t>(S::kMin);
  case Binary::and_:
    return static_cast<uint8_t>(S::kAnd);
  case Binary::or_:
    break;
  }
  return static_cast<uint8_t>(S::kOr);
}

uint8_t subOf(Unary op) {
  using S = sim_isa::Unary;
  switch (op) {
  case Unary::exp:
    return static_cast<uint8_t>(S::kExp);
  case Unary::ln:
    return static_cast<uint8_t>(S::kLn);
  case Unary::abs:
    return static_cast<uint8_t>(S::kAbs);
  case Unary::sqrt:
    return static_cast<uint8_t>(S::kSqrt);
  case Unary::rsqrt:
    return static_cast<uint8_t>(S::kRsqrt);
  case Unary::reciprocal:
    return static_cast<uint8_t>(S::kReciprocal);
  case Unary::relu:
    return static_cast<uint8_t>(S::kRelu);
  case Unary::not_:
    return static_cast<uint8_t>(S::kNot);
  case Unary::neg:
    break;
  }
  return static_cast<uint8_t>(S::kNeg);
}

uint8_t subOf(Scalar op) {
  using S = sim_isa::Scalar;
  switch (op) {
  case Scalar::adds:
    return static_cast<uint8_t>(S::kAdds);
  case Scalar::muls:
    return static_cast<uint8_t>(S::kMuls);
  case Scalar::maxs:
    return static_cast<uint8_t>(S::kMaxs);
  case Scalar::mins:
    break;
  }
  return static_cast<uint8_t>(S::kMins);
}

uint8_t subOf(Compare op) {
  using S = sim_isa::Compare;
  switch (op) {
  case Compare::lt:
    return static_cast<uint8_t>(S::kLt);
  case Compare::le:
    return static_cast<uint8_t>(S::kLe);
  case Compare::gt:
    return static_cast<uint8_t>(S::kGt);
  case Compare::ge:
    return static_cast<uint8_t>(S::kGe);
  case Compare::eq:
    return static_cast<uint8_t>(S::kEq);
  case Compare::ne:
    break;
  }
  return static_cast<uint8_t>(S::kNe);
}

uint8_t subOf(Round round) {
  using S = sim_isa::Rounding;
  switch (round) {
  case Round::none:
    return static_cast<uint8_t>(S::kNone);
  case Round::rint:
    return static_cast<uint8_t>(S::kRint);
  case Round::floor:
    return static_cast<uint8_t>(S::kFloor);
  case Round::ceil:
    return static_cast<uint8_t>(S::kCeil);
  case Round::round:
    return static_cast<uint8_t>(S::kRound);
  case Round::trunc:
    break;
  }
  return static_cast<uint8_t>(S::kTrunc);
}

uint8_t subOf(Reduce op) {
  using S = sim_isa::Reduce;
  switch (op) {
  case Reduce::sum:
    return static_cast<uint8_t>(S::kSum);
  case Reduce::max:
    return static_cast<uint8_t>(S::kMax);
  case Reduce::min:
    break;
  }
  return static_cast<uint8_t>(S::kMin);
}

uint8_t subOf(Atomic atomic) {
  using S = sim_isa::Atomic;
  switch (atomic) {
  case Atomic::none:
    return static_cast<uint8_t>(S::kNone);
  case Atomic::add:
    return static_cast<uint8_t>(S::kAdd);
  case Atomic::max:
    return static_cast<uint8_t>(S::kMax);
  case Atomic::min:
    break;
  }
  return static_cast<uint8_t>(S::kMin);
}

// The vector operation that combines as the reduction does.
uint8_t combinerOf(Reduce op) {
  return subOf(op == Reduce::sum ? Binary::add : op == Reduce::max ? Binary::max : Binary::min);
}

Descriptor vectorKind(PipeOp op, sim_isa::Type type, uint8_t sub = 0) {
  Descriptor d;
  d.op = op;
  d.pipe = sim_isa::Pipe::kV;
  d.type = d.src_type = type;
  d.space = sim_isa::Space::kUb;
  d.sub = sub;
  return d;
}

} // namespace

SimFunctionExporter::Outcome SimFunctionExporter::exportNpu(Operation *op) {
  auto done = [](bool ok) { return ok ? Outcome::kDone : Outcome::kRefused; };
  return llvm::TypeSwitch<Operation *, Outcome>(op)
      .Case([&](BlockIdxOp o) {
        define(o.getResult(), builder.Compute(Op::kBlockIdx, 0));
        return Outcome::kDone;
      })
      .Case([&](NumBlocksOp o) {
        define(o.getResult(), builder.Compute(Op::kNumBlocks, 0));
        return Outcome::kDone;
      })
      .Case<LoadOp, StoreOp, LoadNd2NzOp>([&](auto) { return done(exportDma(op)); })
      .Case<LoadL0Op, MmadOp, FixpipeOp>([&](auto) { return done(exportCube(op)); })
      .Case<VBinaryOp, VUnaryOp, VCopyOp, VScalarOp, VDupOp, VCastOp, VCompareOp, VComparesOp,
            VSelectOp, VReduceOp, VBlockReduceOp, VDeinterleaveOp>(
          [&](auto) { return done(exportVector(op)); })
      .Case([&](VRowReduceOp o) {
        exportRowReduce(o);
        return Outcome::kDone;
      })
      .Case([&](VRowBinaryOp o) {
        exportRowBinary(o);
        return Outcome::kDone;
      })
      .Case([&](VColBinaryOp o) {
        exportColBinary(o);
        return Outcome::kDone;
      })
      .Case([&](VTransposeOp o) {
        exportTranspose(o);
        return Outcome::kDone;
      })
      .Case<SetFlagOp, WaitFlagOp, PipeBarrierOp, DcacheFlushOp, ScalarWorkOp, CrossSetOp,
            CrossWaitOp>([&](auto) { return done(exportSync(op)); })
      .Default([](Operation *) { return Outcome::kUnknown; });
}

bool SimFunctionExporter::exportDma(Operation *op) {
  Descriptor d;
  auto count = [&](Value value, int64_t scale = 1) {
    return SimBuilder::FieldOf(quantity(value), scale);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](LoadOp o) {
        const int64_t size = sizeOf(o.getSrc());
        d.op = PipeOp::kLoad;
        d.pipe = sim_isa::Pipe::kMte2;
        d.type = d.src_type = typeOf(o.getSrc());
        d.space = spaceIn(o.getDst());
        d.aux = o.getBypassL2();
        builder.Issue(d,
                      {address(o.getDst(), o.getDstOffset()), address(o.getSrc(), o.getSrcOffset()),
                       count(o.getCount()), count(o.getLen(), size), count(o.getSrcStride(), size),
                       count(o.getDstStride(), size)});
        return true;
      })
      .Case([&](StoreOp o) {
        const int64_t size = sizeOf(o.getSrc());
        d.op = PipeOp::kStore;
        d.pipe = sim_isa::Pipe::kMte3;
        d.type = d.src_type = typeOf(o.getDst());
        d.space = sim_isa::Space::kGm;
        d.sub = subOf(o.getAtomic());
        builder.Issue(d,
                      {address(o.getDst(), o.getDstOffset()), address(o.getSrc(), o.getSrcOffset()),
                       count(o.getCount()), count(o.getLen(), size), count(o.getDstStride(), size),
                       count(o.getSrcStride(), size)});
        return true;
      })
      .Case([&](LoadNd2NzOp o) {
        d.op = PipeOp::kLoadNd2Nz;
        d.pipe = sim_isa::Pipe::kMte2;
        d.type = d.src_type = typeOf(o.getSrc());
        d.space = sim_isa::Space::kL1;
        d.aux = o.getBypassL2();
        builder.Issue(d,
                      {address(o.getDst(), o.getDstOffset()), address(o.getSrc(), o.getSrcOffset()),
                       count(o.getRows()), count(o.getCols()),
                       count(o.getSrcStride(), sizeOf(o.getSrc())), count(o.getDstRows()),
                       SimBuilder::FieldOf(static_cast<int64_t>(o.getRowStep()), 1)});
        return true;
      })
      .Default([&](Operation *) { return refuse(op); });
}

bool SimFunctionExporter::exportCube(Operation *op) {
  Descriptor d;
  auto count = [&](Value value, int64_t scale = 1) {
    return SimBuilder::FieldOf(quantity(value), scale);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](LoadL0Op o) {
        d.op = PipeOp::kLoadL0;
        d.pipe = sim_isa::Pipe::kMte1;
        d.type = d.src_type = typeOf(o.getSrc());
        d.space = spaceIn(o.getDst());
        d.sub = o.getTranspose();
        builder.Issue(d,
                      {address(o.getDst(), o.getDstOffset()), address(o.getSrc(), o.getSrcOffset()),
                       count(o.getExtent()), count(o.getK()), count(o.getSrcRows())});
        return true;
      })
      .Case([&](MmadOp o) {
        d.op = PipeOp::kMmad;
        d.pipe = sim_isa::Pipe::kM;
        d.type = typeOf(o.getA());
        d.src_type = typeOf(o.getC());
        d.space = sim_isa::Space::kL0C;
        d.aux = o.getATransposed();
        Quantity unit_flag = static_cast<int64_t>(sim_isa::UnitFlag::kNone);
        if (Value closes = o.getUnitFlag())
          unit_flag =
              builder.Add(quantity(closes), static_cast<int64_t>(sim_isa::UnitFlag::kCheck));
        builder.Issue(d, {address(o.getC(), o.getCOffset()), address(o.getA(), o.getAOffset()),
                          address(o.getB(), o.getBOffset()), count(o.getM()), count(o.getN()),
                          count(o.getK()), count(o.getInit()), SimBuilder::FieldOf(unit_flag)});
        return true;
      })
      .Case([&](FixpipeOp o) {
        d.op = PipeOp::kFixpipe;
        d.pipe = sim_isa::Pipe::kFix;
        d.type = typeOf(o.getDst());
        d.src_type = typeOf(o.getSrc());
        d.space = sim_isa::Space::kL0C;
        d.sub = subOf(o.getAtomic());
        d.aux = static_cast<uint8_t>((o.getRelu() ? 1 : 0) | (o.getUnitFlag() ? 2 : 0));
        builder.Issue(d, {address(o.getDst(), o.getDstOffset()),
                          address(o.getSrc(), o.getSrcOffset()), count(o.getM()), count(o.getN()),
                          count(o.getDstStride(), sizeOf(o.getDst())), count(o.getSrcRows())});
        return true;
      })
      .Default([&](Operation *) { return refuse(op); });
}

bool SimFunctionExporter::exportVector(Operation *op) {
  auto count = [&](Value value) { return SimBuilder::FieldOf(quantity(value)); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](VBinaryOp o) {
        builder.Issue(vectorKind(PipeOp::kVBinary, typeOf(o.getDst()), subOf(o.getOp())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       address(o.getB(), o.getBOffset()), count(o.getCount())});
        return true;
      })
      .Case([&](VUnaryOp o) {
        builder.Issue(vectorKind(PipeOp::kVUnary, typeOf(o.getDst()), subOf(o.getOp())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       count(o.getCount())});
        return true;
      })
      .Case([&](VCopyOp o) {
        builder.Issue(vectorKind(PipeOp::kVUnary, typeOf(o.getDst()),
                                 static_cast<uint8_t>(sim_isa::Unary::kCopy)),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       count(o.getCount()), count(o.getRepeats()), count(o.getDstBlock()),
                       count(o.getDstRepeat()), count(o.getABlock()), count(o.getARepeat())});
        return true;
      })
      .Case([&](VScalarOp o) {
        builder.Issue(vectorKind(PipeOp::kVScalar, typeOf(o.getDst()), subOf(o.getOp())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       count(o.getScalar()), count(o.getCount())});
        return true;
      })
      .Case([&](VDupOp o) {
        builder.Issue(
            vectorKind(PipeOp::kVDup, typeOf(o.getDst())),
            {address(o.getDst(), o.getDstOffset()), count(o.getScalar()), count(o.getCount())});
        return true;
      })
      .Case([&](VCastOp o) {
        Descriptor d = vectorKind(PipeOp::kVCast, typeOf(o.getDst()), subOf(o.getRound()));
        d.src_type = typeOf(o.getA());
        if (o.getIsUnsigned())
          for (sim_isa::Type *type : {&d.type, &d.src_type})
            if (*type == sim_isa::Type::kI8)
              *type = sim_isa::Type::kU8;
        builder.Issue(d, {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                          count(o.getCount())});
        return true;
      })
      .Case([&](VCompareOp o) {
        builder.Issue(vectorKind(PipeOp::kVCompare, typeOf(o.getA()), subOf(o.getOp())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       address(o.getB(), o.getBOffset()), count(o.getCount())});
        return true;
      })
      .Case([&](VComparesOp o) {
        builder.Issue(vectorKind(PipeOp::kVCompareS, typeOf(o.getA()), subOf(o.getOp())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       count(o.getScalar()), count(o.getCount())});
        return true;
      })
      .Case([&](VSelectOp o) {
        builder.Issue(vectorKind(PipeOp::kVSelect, typeOf(o.getDst())),
                      {address(o.getDst(), o.getDstOffset()),
                       address(o.getMask(), o.getMaskOffset()), address(o.getA(), o.getAOffset()),
                       address(o.getB(), o.getBOffset()), count(o.getCount())});
        return true;
      })
      .Case([&](VReduceOp o) {
        builder.Issue(vectorKind(PipeOp::kVReduce, typeOf(o.getDst()), subOf(o.getOp())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       address(o.getTmp(), o.getTmpOffset()), count(o.getCount())});
        return true;
      })
      .Case([&](VDeinterleaveOp o) {
        builder.Issue(vectorKind(PipeOp::kVDeinterleave, typeOf(o.getDst())),
                      {address(o.getDst(), o.getDstOffset()), address(o.getA(), o.getAOffset()),
                       count(o.getCount()),
                       SimBuilder::FieldOf(static_cast<int64_t>(o.getStep()))});
        return true;
      })
      .Case([&](VBlockReduceOp o) {
        const Descriptor kind =
            vectorKind(PipeOp::kVReduceBlock, typeOf(o.getDst()), subOf(o.getOp()));
        const Quantity dst = addressQuantity(o.getDst(), o.getDstOffset());
        const Quantity a = addressQuantity(o.getA(), o.getAOffset());
        builder.ForChunks(builder.Divide(quantity(o.getCount()), 64), kMaxRepeats,
                          [&](const Quantity &first, const Quantity &n) {
                            builder.Issue(kind, {builder.AddressField(dst, first, 32),
                                                 builder.AddressField(a, first, 256),
                                                 SimBuilder::FieldOf(n)});
                          });
        return true;
      })
      .Default([&](Operation *) { return refuse(op); });
}

bool SimFunctionExporter::exportSync(Operation *op) {
  Descriptor d;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SetFlagOp, WaitFlagOp>([&](auto o) {
        const bool set = isa<SetFlagOp>(o.getOperation());
        d.op = set ? PipeOp::kSetFlag : PipeOp::kWaitFlag;
        const sim_isa::Pipe from = pipeOf(o.getFrom()), to = pipeOf(o.getTo());
        d.pipe = set ? from : to;
        d.sub = static_cast<uint8_t>(from);
        d.aux = static_cast<uint8_t>(to);
        builder.Issue(d, {SimBuilder::FieldOf(quantity(o.getId()))});
        return true;
      })
      .Case([&](CrossSetOp o) {
        d.op = PipeOp::kCrossSet;
        d.pipe = pipeOf(o.getPipe());
        d.sub = static_cast<uint8_t>(o.getMode());
        builder.Issue(d, {SimBuilder::FieldOf(quantity(o.getId()))});
        return true;
      })
      .Case([&](CrossWaitOp o) {
        d.op = PipeOp::kCrossWait;
        d.pipe = pipeOf(o.getPipe());
        builder.Issue(d, {SimBuilder::FieldOf(quantity(o.getId()))});
        return true;
      })
      .Case([&](PipeBarrierOp o) {
        builder.Barrier(pipeOf(o.getPipe()));
        return true;
      })
      .Case([&](ScalarWorkOp o) {
        const Quantity cycles = quantity(o.getCycles());
        builder.Emit(Op::kWork, 0, cycles.constant ? builder.ConstantRegister(0) : cycles.reg, 0,
                     cycles.constant ? cycles.value : 0);
        return true;
      })
      .Case([&](DcacheFlushOp) {
        builder.Emit(Op::kDcacheFlush);
        return true;
      })
      .Default([&](Operation *) { return refuse(op); });
}

// ------------------------------------------------------------------------------ composite ops

void SimFunctionExporter::issueRows(Descriptor kind, const Rows &dst, const Rows &a, const Rows *b,
                                    const Quantity &rows, const Quantity &cols) {
  // How many rows one instruction takes: all that fit, or one where a stride is too wide.
  Quantity step = kMaxRepeats;
  for (const Rows *operand : {&dst, &a, b})
    if (operand)
      step = builder.SelectLess(kMaxRepeatStride * 32, operand->row_bytes, 1, step);
  auto stride = [&](const Rows &operand) {
    // With one repeat the stride has no meaning; what is too wide for the field becomes zero.
    const Quantity blocks = builder.Divide(operand.row_bytes, 32);
    return SimBuilder::FieldOf(builder.SelectLess(kMaxRepeatStride, blocks, 0, blocks));
  };
  // The strides are the same for every chunk: compute them before the loop.
  const sim_isa::Field dst_stride = stride(dst), a_stride = stride(a),
                       b_stride = b ? stride(*b) : sim_isa::Field();
  builder.ForChunks(rows, step, [&](const Quantity &first, const Quantity &n) {
    auto at = [&](const Rows &operand) {
      if (operand.row_bytes.constant)
        return builder.AddressField(operand.base, first, operand.row_bytes.value);
      if (first.constant && first.value == 0)
        return SimBuilder::FieldOf(operand.base);
      const int bytes = builder.Compute(Op::kMul64, builder.RegisterOf(first),
                                        builder.RegisterOf(operand.row_bytes));
      return builder.AddressField(operand.base, Quantity::Register(bytes), 1);
    };
    const auto repeats = SimBuilder::FieldOf(n), columns = SimBuilder::FieldOf(cols);
    switch (kind.op) {
    case PipeOp::kVReduceRepeat: // dst lies densely, its row_bytes is the element size
      builder.Issue(kind, {at(dst), at(a), columns, repeats, SimBuilder::FieldOf(dst.row_bytes),
                           SimBuilder::FieldOf(a.block), a_stride});
      return;
    case PipeOp::kVUnary:
      builder.Issue(kind, {at(dst), at(a), columns, repeats, SimBuilder::FieldOf(dst.block),
                           dst_stride, SimBuilder::FieldOf(a.block), a_stride});
      return;
    default:
      builder.Issue(kind, {at(dst), at(a), at(*b), columns, repeats, SimBuilder::FieldOf(dst.block),
                           dst_stride, SimBuilder::FieldOf(a.block), a_stride,
                           SimBuilder::FieldOf(b->block), b_stride});
    }
  });
}

void SimFunctionExporter::exportRowReduce(VRowReduceOp op) {
  const sim_isa::Type type = typeOf(op.getA());
  const int64_t size = sizeOf(op.getA()), lanes = 256 / size;
  const Quantity rows = quantity(op.getRows()), cols = quantity(op.getCols());
  const Rows dst{addressQuantity(op.getDst(), op.getDstOffset()), size};
  const Rows a{addressQuantity(op.getA(), op.getAOffset()),
               builder.Scale(quantity(op.getRowStride()), size)};
  const Descriptor reduce = vectorKind(PipeOp::kVReduceRepeat, type, subOf(op.getOp()));
  const Descriptor combine = vectorKind(PipeOp::kVBinary, type, combinerOf(op.getOp()));
  const Descriptor copy =
      vectorKind(PipeOp::kVUnary, type, static_cast<uint8_t>(sim_isa::Unary::kCopy));
  // if (x < y) then(); else otherwise(); decided now where it is known.
  auto ifLess = [&](const Quantity &x, const Quantity &y, auto then, auto otherwise) {
    if (x.constant && y.constant)
      return x.value < y.value ? then() : otherwise();
    const int less = builder.NewLabel(), end = builder.NewLabel();
    builder.JumpLess(x, y, less);
    otherwise();
    builder.Jump(end);
    builder.Bind(less);
    then();
    builder.Bind(end);
  };
  auto short_rows = [&] { issueRows(reduce, dst, a, nullptr, rows, cols); };
  auto long_rows = [&] {
    const Rows tmp{addressQuantity(op.getTmp(), op.getTmpOffset()), 256};
    auto chunk = [&](const Quantity &first) {
      return Rows{builder.AddScaled(a.base, first, size), a.row_bytes};
    };
    // The first two chunks: both whole, or the second narrower than the first.
    auto both_whole = [&] {
      const Rows second = chunk(lanes);
      issueRows(combine, tmp, a, &second, rows, lanes);
    };
    auto narrow = [&] {
      const Rows second = chunk(lanes);
      issueRows(copy, tmp, a, nullptr, rows, lanes);
      builder.Barrier(sim_isa::Pipe::kV);
      issueRows(combine, tmp, tmp, &second, rows, builder.Subtract(cols, lanes));
    };
    ifLess(cols, 2 * lanes, narrow, both_whole);
    builder.ForChunks(builder.Subtract(cols, 2 * lanes), lanes,
                      [&](const Quantity &first, const Quantity &n) {
                        builder.Barrier(sim_isa::Pipe::kV);
                        const Rows next = chunk(builder.Add(first, 2 * lanes));
                        issueRows(combine, tmp, tmp, &next, rows, n);
                      });
    builder.Barrier(sim_isa::Pipe::kV);
    issueRows(reduce, dst, tmp, nullptr, rows, lanes);
  };
  ifLess(lanes, cols, long_rows, short_rows);
}

void SimFunctionExporter::exportRowBinary(VRowBinaryOp op) {
  const sim_isa::Type type = typeOf(op.getDst());
  const int64_t size = sizeOf(op.getDst()), lanes = 256 / size;
  const Quantity rows = quantity(op.getRows());
  const Quantity stride = builder.Scale(quantity(op.getRowStride()), size);
  const Quantity dst = addressQuantity(op.getDst(), op.getDstOffset());
  const Quantity a = addressQuantity(op.getA(), op.getAOffset());
  const Quantity b = addressQuantity(op.getB(), op.getBOffset());
  const Rows tmp{addressQuantity(op.getTmp(), op.getTmpOffset()), 32, /*block=*/0};
  builder.ForChunks(
      builder.DivideUp(rows, 8), kMaxRepeats, [&](const Quantity &first, const Quantity &n) {
        builder.Issue(vectorKind(PipeOp::kVBroadcast, type),
                      {builder.AddressField(tmp.base, first, int64_t{8} * 32),
                       builder.AddressField(b, first, 8 * size), SimBuilder::FieldOf(n)});
      });
  builder.Barrier(sim_isa::Pipe::kV);
  const Descriptor kind = vectorKind(PipeOp::kVBinary, type, subOf(op.getOp()));
  builder.ForChunks(quantity(op.getCols()), lanes, [&](const Quantity &first, const Quantity &n) {
    const Rows to{builder.AddScaled(dst, first, size), stride};
    const Rows from{builder.AddScaled(a, first, size), stride};
    op.getReverse() ? issueRows(kind, to, tmp, &from, rows, n)
                    : issueRows(kind, to, from, &tmp, rows, n);
  });
}

void SimFunctionExporter::exportColBinary(VColBinaryOp op) {
  const sim_isa::Type type = typeOf(op.getDst());
  const int64_t size = sizeOf(op.getDst()), lanes = 256 / size;
  const Quantity rows = quantity(op.getRows());
  const Quantity stride = builder.Scale(quantity(op.getRowStride()), size);
  const Quantity dst = addressQuantity(op.getDst(), op.getDstOffset());
  const Quantity a = addressQuantity(op.getA(), op.getAOffset());
  const Quantity b = addressQuantity(op.getB(), op.getBOffset());
  const Descriptor kind = vectorKind(PipeOp::kVBinary, type, subOf(op.getOp()));
  builder.ForChunks(quantity(op.getCols()), lanes, [&](const Quantity &first, const Quantity &n) {
    const Rows to{builder.AddScaled(dst, first, size), stride};
    const Rows from{builder.AddScaled(a, first, size), stride};
    const Rows columns{builder.AddScaled(b, first, size), 0};
    op.getReverse() ? issueRows(kind, to, columns, &from, rows, n)
                    : issueRows(kind, to, from, &columns, rows, n);
  });
}

// What the scalar unit does for the 32 addresses of a transposing instruction: each is multiplied,
// added, stored into a list and read back from it.
static constexpr int64_t kAddressListCycles = 128;

void SimFunctionExporter::exportTranspose(VTransposeOp op) {
  const int64_t size = sizeOf(op.getDst()), block = 32 / size;
  const Quantity dst_stride = builder.Scale(quantity(op.getDstStride()), size);
  const Quantity a_stride = builder.Scale(quantity(op.getAStride()), size);
  const Quantity dst = addressQuantity(op.getDst(), op.getDstOffset());
  const Quantity a = addressQuantity(op.getA(), op.getAOffset());
  const Descriptor kind = vectorKind(PipeOp::kVTranspose, typeOf(op.getDst()));
  auto times = [&](const Quantity &n, const Quantity &bytes) {
    if (bytes.constant)
      return builder.Scale(n, bytes.value);
    return Quantity::Register(
        builder.Compute(Op::kMul64, builder.RegisterOf(n), builder.RegisterOf(bytes)));
  };
  builder.ForChunks(quantity(op.getRows()), 16, [&](const Quantity &row, const Quantity &) {
    const Quantity from = builder.Add(a, times(row, a_stride));
    const Quantity to = builder.AddScaled(dst, row, size);
    builder.ForChunks(
        builder.DivideUp(quantity(op.getCols()), block), kMaxRepeats,
        [&](const Quantity &first, const Quantity &n) {
          builder.Emit(Op::kWork, 0, builder.ConstantRegister(0), 0, kAddressListCycles);
          const Quantity column = builder.Scale(first, block);
          builder.Issue(kind, {SimBuilder::FieldOf(builder.Add(to, times(column, dst_stride))),
                               builder.AddressField(from, first, 32), SimBuilder::FieldOf(n),
                               SimBuilder::FieldOf(dst_stride), SimBuilder::FieldOf(a_stride)});
        });
  });
}

} // namespace pyasc::npu
