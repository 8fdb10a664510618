#include "compiler/driver/npu_scan.h"

#include "gtest/gtest.h"

namespace pyasc::compiler {
namespace {

std::string FaultOf(const std::string &text) {
  const std::optional<TextFault> fault = ScanNpuText(text);
  return fault ? std::to_string(fault->line) + ":" + std::to_string(fault->column) + ": " +
                     fault->message
               : "";
}

std::string UsedBefore(const std::string &place, const std::string &name) {
  return place + ": the value '" + name + "' is used before it is defined";
}

TEST(NpuScanTest, ValuesAreVisibleFromTheirDefinitionToTheEndOfTheirRegion) {
  EXPECT_EQ(FaultOf(R"(
!gm = memref<16xf16, #npu.space<gm>>
module {
  func.func @f(%x: !gm {npu.name = "%y"}, %n: index) attributes {npu.blocks = 1 : i64} {
    %0 = arith.constant 0 : index // %nothing
    %r:2 = scf.while (%a = %0, %b = %n) : (index, index) -> (index, index) {
      %c = arith.cmpi slt, %a, %b : index
      scf.condition(%c) %a, %b : index, index
    } do {
    ^bb0(%d: index, %e: index):
      scf.yield %d, %e : index, index
    }
    %s = scf.for %i = %0 to %n step %r#0 iter_args(%t = %0) -> (index) {
      %u = arith.addi %t, %i : index %v = arith.addi %u, %i : index
      scf.yield %v : index
    }
    %k, %l = "some.op"(%s) : (index) -> (index, index)
    "scf.for"(%0, %n, %k) ({
    ^bb0(%j: index):
      npu.set_flag V -> MTE2, %j
    }) : (index, index, index) -> ()
    npu.set_flag V -> MTE2, %l
    return
  }
  func.func @g(%x: !gm) { return }
})"),
            "");
}

TEST(NpuScanTest, AUseBeforeItsDefinitionIsFound) {
  EXPECT_EQ(FaultOf("module {\n  npu.set_flag V -> M, %e\n}"), UsedBefore("2:24", "%e"));
  // As the parser of MLIR 19 crashed: a region behind the use defines the value, then it fails.
  EXPECT_EQ(FaultOf("module {\nnpu.set_flag M -> MTE1, %e\nscf.for %s = %0 to %1 step %2 {"),
            UsedBefore("2:25", "%e"));
  EXPECT_EQ(FaultOf("%0 = a.b\nscf.for %i = %0 to %0 step %0 {\n}\nc.d %i"),
            UsedBefore("4:5", "%i"));
  EXPECT_EQ(FaultOf("%0 = a.b\nscf.if %0 {\n%x = c.d\n}\ne.f %0, %x : i1, i1"),
            UsedBefore("5:9", "%x"));
  EXPECT_EQ(FaultOf("func.func @f(%x: i1) { return }\nfunc.func @g() { a.b %x }"),
            UsedBefore("2:22", "%x"));
  EXPECT_EQ(FaultOf("scf.reduce(%x : f32)"), UsedBefore("1:12", "%x"));
}

TEST(NpuScanTest, BracketsNestSoDeep) {
  EXPECT_EQ(FaultOf(std::string(500, '{')), "");
  EXPECT_EQ(FaultOf("\n" + std::string(501, '{')), "2:501: brackets are nested more than 500 deep");
  EXPECT_EQ(FaultOf("\"" + std::string(600, '(') + "\" // " + std::string(600, '[')), "");
  std::string arrows;
  for (int i = 0; i < 600; ++i)
    arrows += "() -> <i1>";
  EXPECT_EQ(FaultOf(arrows), "");
}

TEST(NpuScanTest, AnyTextIsTaken) {
  for (const char *text :
       {"", "%", "\"", "\"\\", "//", "-", "->", "%a:", "%a, ", "}}})", "^", "@("})
    EXPECT_LE(FaultOf(text).size(), 60u) << text;
  std::string list = "%a = x.y ";
  for (int i = 0; i < 100000; ++i)
    list += "%a, ";
  EXPECT_EQ(FaultOf(list), "");
}

} // namespace
} // namespace pyasc::compiler
