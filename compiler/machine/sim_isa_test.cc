#include "compiler/machine/sim_isa.h"

#include "gtest/gtest.h"

namespace pyasc::sim_isa {
namespace {

TEST(SimIsaTest, WideFamiliesAreFourNeighbours) {
  EXPECT_EQ(OfWidth(ScalarOp::kAdd8, 64), ScalarOp::kAdd64);
  EXPECT_EQ(OfWidth(ScalarOp::kF32ToU8, 32), ScalarOp::kF32ToU32);
  EXPECT_EQ(OfWidth(ScalarOp::kLoadGm8, 16), ScalarOp::kLoadGm16);
  EXPECT_EQ(InfoOf(ScalarOp::kIssue).form, Form::kIssue);
  EXPECT_EQ(NumScalarOps(), static_cast<int>(ScalarOp::kIssue) + 1);
}

TEST(SimIsaTest, InstructionsSurviveEncoding) {
  std::vector<Instruction> code = {{ScalarOp::kConst, 7, 0, 0, -123456789012345},
                                   {ScalarOp::kAdd32, 65534, 2, 3, 0},
                                   {ScalarOp::kHalt, 0, 0, 0, 0}};
  std::vector<Instruction> back;
  std::string bytes = EncodeInstructions(code);
  EXPECT_EQ(bytes.size(), code.size() * kInstructionBytes);
  ASSERT_TRUE(DecodeInstructions(bytes, back));
  ASSERT_EQ(back.size(), code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(back[i].op, code[i].op);
    EXPECT_EQ(back[i].a, code[i].a);
    EXPECT_EQ(back[i].imm, code[i].imm);
  }
  EXPECT_FALSE(DecodeInstructions(bytes.substr(1), back));
  bytes[1] = '\x7f';
  EXPECT_FALSE(DecodeInstructions(bytes, back)) << "an op that does not exist";
}

TEST(SimIsaTest, DescriptorsSurviveEncoding) {
  Descriptor d;
  d.op = PipeOp::kMmad;
  d.pipe = Pipe::kM;
  d.type = Type::kF16;
  d.src_type = Type::kF32;
  d.space = Space::kL0C;
  d.sub = 3;
  d.aux = 1;
  for (int i = 0; i < NumFields(d.op); ++i)
    d.fields.push_back({.value = -i, .reg = static_cast<uint16_t>(i), .scale = -4 * i});
  std::string bytes = EncodeDescriptors({d, d});
  std::vector<Descriptor> back;
  ASSERT_TRUE(DecodeDescriptors(bytes, back));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].op, PipeOp::kMmad);
  EXPECT_EQ(back[1].sub, 3);
  EXPECT_EQ(back[1].fields[5].value, -5);
  EXPECT_EQ(back[1].fields[5].scale, -20);
  EXPECT_EQ(back[1].fields[5].reg, 5);
  EXPECT_FALSE(DecodeDescriptors(std::string_view(bytes).substr(0, bytes.size() - 1), back));
  bytes[7] = 1;
  EXPECT_FALSE(DecodeDescriptors(bytes, back)) << "the wrong number of fields";
}

} // namespace
} // namespace pyasc::sim_isa
