#include "compiler/target/ascend/export_sim_builder.h"

#include <algorithm>
#include <cassert>

namespace pyasc::npu {

using namespace sim_isa;

namespace {

bool IsJump(ScalarOp op) {
  const Form form = InfoOf(op).form;
  return form == Form::kJump || form == Form::kJumpA || form == Form::kJumpAB;
}

[[maybe_unused]] bool FitsScale(int64_t scale) { return scale >= INT32_MIN && scale <= INT32_MAX; }

} // namespace

int SimBuilder::ConstantRegister(int64_t bits) {
  auto [it, added] = constants_.try_emplace(bits, 0);
  if (added)
    it->second = NewRegister();
  return it->second;
}

void SimBuilder::Emit(Op op, int a, int b, int c, int64_t imm) {
  code_.push_back(
      {op, static_cast<uint16_t>(a), static_cast<uint16_t>(b), static_cast<uint16_t>(c), imm});
  lines_.push_back(line_);
}

int SimBuilder::Compute(Op op, int b, int c, int64_t imm) {
  const int a = NewRegister();
  Emit(op, a, b, c, imm);
  return a;
}

int SimBuilder::NewLabel() {
  labels_.push_back(-1);
  return static_cast<int>(labels_.size()) - 1;
}

void SimBuilder::Bind(int label) {
  assert(labels_[label] < 0);
  labels_[label] = static_cast<int64_t>(code_.size());
}

void SimBuilder::EmitJump(Op op, int a, int b, int label) { Emit(op, a, b, 0, label); }

Quantity SimBuilder::Add(const Quantity &a, const Quantity &b) {
  if (a.constant && b.constant)
    return a.value + b.value;
  if (a.constant)
    return Add(b, a);
  if (b.constant)
    return b.value == 0 ? a : Quantity::Register(Compute(Op::kAddI64, a.reg, 0, b.value));
  return Quantity::Register(Compute(Op::kAdd64, a.reg, b.reg));
}

Quantity SimBuilder::Subtract(const Quantity &a, const Quantity &b) {
  if (b.constant)
    return Add(a, -b.value);
  return Quantity::Register(Compute(Op::kSub64, RegisterOf(a), b.reg));
}

Quantity SimBuilder::Scale(const Quantity &a, int64_t by) {
  if (a.constant)
    return a.value * by;
  return by == 1 ? a : Quantity::Register(Compute(Op::kMulI64, a.reg, 0, by));
}

Quantity SimBuilder::Min(const Quantity &a, const Quantity &b) {
  if (a.constant && b.constant)
    return std::min(a.value, b.value);
  return Quantity::Register(Compute(Op::kMinS, RegisterOf(a), RegisterOf(b)));
}

Quantity SimBuilder::AddScaled(const Quantity &a, const Quantity &b, int64_t scale) {
  if (b.constant)
    return Add(a, b.value * scale);
  if (a.constant && a.value == 0)
    return Scale(b, scale);
  return Quantity::Register(Compute(Op::kScaledAdd64, RegisterOf(a), b.reg, scale));
}

Quantity SimBuilder::Divide(const Quantity &a, int64_t by) {
  if (a.constant)
    return a.value / by;
  return by == 1 ? a : Quantity::Register(Compute(Op::kDivS64, a.reg, ConstantRegister(by)));
}

Quantity SimBuilder::DivideUp(const Quantity &a, int64_t by) {
  if (a.constant)
    return (a.value + by - 1) / by;
  return by == 1 ? a : Quantity::Register(Compute(Op::kCeilDivS64, a.reg, ConstantRegister(by)));
}

Quantity SimBuilder::SelectLess(const Quantity &a, const Quantity &b, const Quantity &x,
                                const Quantity &y) {
  if (a.constant && b.constant)
    return a.value < b.value ? x : y;
  const int less = Compute(Op::kCmpLtS, RegisterOf(a), RegisterOf(b));
  return Quantity::Register(Compute(Op::kSelect, less, RegisterOf(x), RegisterOf(y)));
}

Field SimBuilder::FieldOf(const Quantity &value, int64_t scale) {
  assert(FitsScale(scale));
  if (value.constant)
    return {.value = value.value * scale};
  return {
      .value = 0, .reg = static_cast<uint16_t>(value.reg), .scale = static_cast<int32_t>(scale)};
}

Field SimBuilder::AddressField(const Quantity &base, const Quantity &offset, int64_t scale) {
  if (offset.constant) {
    Field field = FieldOf(base);
    field.value += offset.value * scale;
    return field;
  }
  if (base.constant) {
    Field field = FieldOf(offset, scale);
    field.value += base.value;
    return field;
  }
  return FieldOf(AddScaled(base, offset, scale));
}

void SimBuilder::Issue(Descriptor kind, std::initializer_list<Field> fields) {
  kind.fields.assign(fields.begin(), fields.end());
  kind.fields.resize(NumFields(kind.op));
  Emit(Op::kIssue, 0, 0, 0, static_cast<int64_t>(descriptors_.size()));
  descriptors_.push_back(std::move(kind));
}

void SimBuilder::Barrier(Pipe pipe) {
  Descriptor d;
  d.op = PipeOp::kBarrier;
  d.pipe = pipe;
  Issue(d, {});
}

bool SimBuilder::Finish(v1::SimFunction &function) {
  Emit(Op::kHalt);
  if (num_registers_ > static_cast<int>(kMaxRegisters))
    return false;
  // Constants come first, so every jump moves by their number.
  std::vector<Instruction> code;
  std::vector<uint32_t> lines(constants_.size(), 0);
  for (const auto &[bits, reg] : constants_)
    code.push_back({Op::kConst, static_cast<uint16_t>(reg), 0, 0, bits});
  const auto shift = static_cast<int64_t>(code.size());
  for (Instruction i : code_) {
    if (IsJump(i.op)) {
      assert(labels_[i.imm] >= 0);
      i.imm = labels_[i.imm] + shift;
    }
    code.push_back(i);
  }
  lines.insert(lines.end(), lines_.begin(), lines_.end());
  function.set_num_registers(static_cast<uint32_t>(num_registers_));
  function.set_code(EncodeInstructions(code));
  function.set_descriptors(EncodeDescriptors(descriptors_));
  function.mutable_lines()->Assign(lines.begin(), lines.end());
  return true;
}

} // namespace pyasc::npu
