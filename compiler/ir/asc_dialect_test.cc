#include "compiler/ir/asc_dialect.h"

#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace pyasc::ir {
namespace {

// Parses and verifies; returns the first diagnostic, "" when there is none.
std::string Verify(const char *text) {
  mlir::MLIRContext context;
  LoadKernelDialects(context);
  std::string first;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (first.empty())
      first = d.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module && first.empty())
    return "no module";
  return first;
}

TEST(AscDialect, ACheckNamesARowOfTheErrorTable) {
  EXPECT_EQ(Verify(R"(
    func.func @k(%ok: i1, %i: index) attributes {asc.errors = [{code = 1 : i64, message = "m"}]} {
      asc.check %ok, %i, %i {code = 1 : i64}
      return
    })"),
            "");
  EXPECT_NE(Verify(R"(
    func.func @k(%ok: i1, %i: index) attributes {asc.errors = [{code = 1 : i64, message = "m"}]} {
      asc.check %ok, %i, %i {code = 2 : i64}
      return
    })")
                .find("code 2, which asc.errors does not list"),
            std::string::npos);
  EXPECT_NE(Verify(R"(
    func.func @k(%ok: i1, %i: index) {
      asc.check %ok, %i, %i {code = 2 : i64}
      return
    })")
                .find("asc.errors"),
            std::string::npos);
}

TEST(AscDialect, APrintHasAFieldAValue) {
  EXPECT_EQ(Verify(R"(
    func.func @k(%x: f32) {
      asc.print "{{x}} = {:.3f}\0A" ["float32"], %x : f32
      asc.print "hello\0A" []
      return
    })"),
            "");
  EXPECT_NE(Verify(R"(
    func.func @k(%x: f32) {
      asc.print "x" ["float32"], %x : f32
      return
    })")
                .find("0 fields for 1 values"),
            std::string::npos);
}

} // namespace
} // namespace pyasc::ir
