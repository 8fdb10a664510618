// Scalar computations of Ascend C text: arith and math ops as C++ expressions.

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include "compiler/target/ascend/ascendc_printer.h"

using namespace mlir;

namespace pyasc::npu {
namespace {

std::string cast(const std::string &type, const std::string &value) {
  return "static_cast<" + type + ">(" + value + ")";
}

std::string unsignedType(Type type) {
  std::string signed_type = cppType(type);
  return signed_type == "bool" ? signed_type : "u" + signed_type;
}

class Expression {
public:
  Expression(AscendCPrinter &printer, Operation *op) : printer(printer), op(op) {}

  std::string operand(unsigned i) { return printer.use(op->getOperand(i)); }
  Type type() { return op->getResult(0).getType(); }

  // Index arithmetic does not overflow; user integers wrap, which C++ defines for unsigned only.
  std::string wrapping(const char *sign) {
    if (isa<IndexType>(type()))
      return "(" + operand(0) + " " + sign + " " + operand(1) + ")";
    return cast(cppType(type()), cast(unsignedType(type()), operand(0)) + " " + sign + " " +
                                     cast(unsignedType(type()), operand(1)));
  }
  std::string asUnsigned(const char *sign) {
    return cast(cppType(type()), cast(unsignedType(type()), operand(0)) + " " + sign + " " +
                                     cast(unsignedType(type()), operand(1)));
  }
  std::string infix(const char *sign) {
    return "(" + operand(0) + " " + sign + " " + operand(1) + ")";
  }
  // 16-bit floats are computed in float and rounded once an operation.
  std::string floating(const char *sign) {
    if (isa<Float32Type>(type()))
      return infix(sign);
    return round(wide(0) + " " + sign + " " + wide(1));
  }
  std::string wide(unsigned i) {
    return isa<Float32Type>(op->getOperand(i).getType()) ? operand(i) : cast("float", operand(i));
  }
  std::string round(const std::string &value) {
    return isa<Float32Type>(type()) ? value : cast(cppType(type()), value);
  }
  std::string call(const char *function, Piece piece) {
    printer.need(piece);
    return round(std::string(function) + "(" + wide(0) +
                 (op->getNumOperands() > 1 ? ", " + wide(1) : "") + ")");
  }
  std::string integerCall(const char *function, Piece piece) {
    printer.need(piece);
    return std::string(function) + "<" + cppType(type()) + ">(" + operand(0) + ", " + operand(1) +
           ")";
  }
  // The whole part of a float in the result's type, whose ends stand for what lies outside.
  std::string toInteger(bool is_signed) {
    printer.need(Piece::kToInteger);
    unsigned width = isa<IndexType>(type()) ? 64 : type().getIntOrFloatBitWidth();
    std::string target = is_signed ? cppType(type()) : unsignedType(type());
    unsigned bits = is_signed ? width - 1 : width;
    std::string least = is_signed ? llvm::formatv("1ull << {0}", bits).str() : "0";
    std::string most = llvm::formatv("~0ull >> {0}", 64 - bits).str();
    std::string end = llvm::formatv("{0:f1}f", std::ldexp(1.0, static_cast<int>(bits))).str();
    std::string value = llvm::formatv("ToInteger<{0}>({1}, {2}, {3}, {4})", target, wide(0),
                                      cast(target, least), cast(target, most), end)
                            .str();
    return is_signed ? value : cast(cppType(type()), value);
  }
  std::string scalarMath(const char *function) {
    printer.need(Piece::kScalarMath);
    return round(llvm::formatv("{0}({1}, {2})", function, wide(0), printer.scratch_address).str());
  }
  std::string pick(const char *sign, bool is_unsigned) {
    std::string a = operand(0);
    std::string b = operand(1);
    std::string left = is_unsigned ? cast(unsignedType(type()), a) : a;
    std::string right = is_unsigned ? cast(unsignedType(type()), b) : b;
    return "(" + left + " " + sign + " " + right + " ? " + a + " : " + b + ")";
  }

  std::string compare(arith::CmpIOp compare);
  std::string compare(arith::CmpFOp compare);
  std::string text();

private:
  AscendCPrinter &printer;
  Operation *op;
};

std::string Expression::compare(arith::CmpIOp compare) {
  using P = arith::CmpIPredicate;
  Type type = compare.getLhs().getType();
  auto plain = [&](const char *sign) { return infix(sign); };
  auto unsign = [&](const char *sign) {
    return "(" + cast(unsignedType(type), operand(0)) + " " + sign + " " +
           cast(unsignedType(type), operand(1)) + ")";
  };
  switch (compare.getPredicate()) {
  case P::eq:
    return plain("==");
  case P::ne:
    return plain("!=");
  case P::slt:
    return plain("<");
  case P::sle:
    return plain("<=");
  case P::sgt:
    return plain(">");
  case P::sge:
    return plain(">=");
  case P::ult:
    return unsign("<");
  case P::ule:
    return unsign("<=");
  case P::ugt:
    return unsign(">");
  case P::uge:
    return unsign(">=");
  }
  return "";
}

std::string Expression::compare(arith::CmpFOp compare) {
  using P = arith::CmpFPredicate;
  std::string a = wide(0);
  std::string b = wide(1);
  auto plain = [&](const char *sign) { return "(" + a + " " + sign + " " + b + ")"; };
  switch (compare.getPredicate()) {
  case P::OEQ:
    return plain("==");
  case P::OGT:
    return plain(">");
  case P::OGE:
    return plain(">=");
  case P::OLT:
    return plain("<");
  case P::OLE:
    return plain("<=");
  case P::ONE:
    return "(" + plain("<") + " || " + plain(">") + ")";
  case P::UNE:
    return plain("!=");
  // The unordered predicates are the negations of the opposite ordered ones.
  case P::UGT:
    return "!" + plain("<=");
  case P::UGE:
    return "!" + plain("<");
  case P::ULT:
    return "!" + plain(">=");
  case P::ULE:
    return "!" + plain(">");
  case P::UEQ:
    return "!(" + plain("<") + " || " + plain(">") + ")";
  case P::ORD:
    return "(" + a + " == " + a + " && " + b + " == " + b + ")";
  case P::UNO:
    return "(" + a + " != " + a + " || " + b + " != " + b + ")";
  case P::AlwaysTrue:
    return "true";
  case P::AlwaysFalse:
    return "false";
  }
  return "";
}

std::string Expression::text() {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::AddIOp>([&](auto) { return wrapping("+"); })
      .Case<arith::SubIOp>([&](auto) { return wrapping("-"); })
      .Case<arith::MulIOp>([&](auto) { return wrapping("*"); })
      .Case<arith::DivSIOp>([&](auto) { return infix("/"); })
      .Case<arith::RemSIOp>([&](auto) { return infix("%"); })
      .Case<arith::DivUIOp>([&](auto) { return asUnsigned("/"); })
      .Case<arith::RemUIOp>([&](auto) { return asUnsigned("%"); })
      .Case<arith::FloorDivSIOp>([&](auto) { return integerCall("FloorDiv", Piece::kFloorDiv); })
      .Case<arith::CeilDivSIOp>([&](auto) { return integerCall("CeilDiv", Piece::kFloorDiv); })
      .Case<arith::CeilDivUIOp>([&](auto) {
        printer.need(Piece::kFloorDiv);
        std::string wide = unsignedType(type());
        return cast(cppType(type()), "CeilDiv<" + wide + ">(" + cast(wide, operand(0)) + ", " +
                                         cast(wide, operand(1)) + ")");
      })
      .Case<arith::AndIOp>([&](auto) { return infix("&"); })
      .Case<arith::OrIOp>([&](auto) { return infix("|"); })
      .Case<arith::XOrIOp>([&](auto) { return infix("^"); })
      .Case<arith::ShLIOp>([&](auto) { return wrapping("<<"); })
      .Case<arith::ShRSIOp>([&](auto) { return infix(">>"); })
      .Case<arith::ShRUIOp>([&](auto) { return asUnsigned(">>"); })
      .Case<arith::MinSIOp>([&](auto) { return pick("<", false); })
      .Case<arith::MaxSIOp>([&](auto) { return pick(">", false); })
      .Case<arith::MinUIOp>([&](auto) { return pick("<", true); })
      .Case<arith::MaxUIOp>([&](auto) { return pick(">", true); })
      .Case<arith::SelectOp>(
          [&](auto) { return "(" + operand(0) + " ? " + operand(1) + " : " + operand(2) + ")"; })
      .Case<arith::CmpIOp>([&](auto o) { return compare(o); })
      .Case<arith::CmpFOp>([&](auto o) { return compare(o); })
      .Case<arith::AddFOp>([&](auto) { return floating("+"); })
      .Case<arith::SubFOp>([&](auto) { return floating("-"); })
      .Case<arith::MulFOp>([&](auto) { return floating("*"); })
      .Case<arith::DivFOp>([&](auto) { return floating("/"); })
      .Case<arith::NegFOp>([&](auto) { return round("(-" + wide(0) + ")"); })
      .Case<arith::MaximumFOp>([&](auto) { return call("Maximum", Piece::kMinMax); })
      .Case<arith::MinimumFOp>([&](auto) { return call("Minimum", Piece::kMinMax); })
      .Case<arith::MaxNumFOp>([&](auto) { return call("MaximumNumber", Piece::kMinMax); })
      .Case<arith::MinNumFOp>([&](auto) { return call("MinimumNumber", Piece::kMinMax); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        // Between two 16-bit types there is no direct conversion.
        return isa<Float32Type>(type()) ? wide(0) : cast(cppType(type()), wide(0));
      })
      .Case<arith::SIToFPOp>([&](auto) { return round(cast("float", operand(0))); })
      .Case<arith::UIToFPOp>([&](auto) {
        return round(cast("float", cast(unsignedType(op->getOperand(0).getType()), operand(0))));
      })
      .Case<arith::FPToSIOp>([&](auto) { return toInteger(true); })
      .Case<arith::FPToUIOp>([&](auto) { return toInteger(false); })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) {
        // A bool that is extended with its sign is 0 or -1.
        if (op->getOperand(0).getType().isInteger(1) && isa<arith::ExtSIOp>(op))
          return "(" + operand(0) + " ? " + cast(cppType(type()), "-1") + " : " +
                 cast(cppType(type()), "0") + ")";
        if (type().isInteger(1))
          return "((" + operand(0) + " & 1) != 0)";
        return cppType(type()) == cppType(op->getOperand(0).getType())
                   ? operand(0)
                   : cast(cppType(type()), operand(0));
      })
      .Case<arith::BitcastOp>([&](auto) {
        printer.need(Piece::kBitCast);
        return "BitCast<" + cppType(type()) + ">(" + operand(0) + ")";
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        return cast(cppType(type()), cast(unsignedType(op->getOperand(0).getType()), operand(0)));
      })
      .Case<math::ExpOp>([&](auto) { return scalarMath("ScalarExp"); })
      .Case<math::LogOp>([&](auto) { return scalarMath("ScalarLn"); })
      .Case<math::SqrtOp>([&](auto) { return scalarMath("ScalarSqrt"); })
      .Case<math::RsqrtOp>([&](auto) { return scalarMath("ScalarRsqrt"); })
      .Case<math::AbsFOp>([&](auto) { return call("ScalarAbs", Piece::kMinMax); })
      .Case<math::AbsIOp>([&](auto) {
        return "(" + operand(0) + " < 0 ? -" + operand(0) + " : " + operand(0) + ")";
      })
      .Default([](Operation *) { return std::string(); });
}

} // namespace

std::string cppType(Type type) {
  if (isa<IndexType>(type))
    return "int64_t";
  if (isa<Float32Type>(type))
    return "float";
  if (isa<Float16Type>(type))
    return "half";
  if (isa<BFloat16Type>(type))
    return "bfloat16_t";
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
    case 16:
    case 32:
    case 64:
      return "int" + std::to_string(integer.getWidth()) + "_t";
    default:
      return "";
    }
  }
  return "";
}

std::string literal(AscendCPrinter &printer, Attribute value, Type type) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    if (type.isInteger(1))
      return integer.getValue().isZero() ? "false" : "true";
    int64_t number = integer.getInt();
    // The literal of the smallest int64 is an expression in C++.
    if (number == INT64_MIN)
      return "(-9223372036854775807LL - 1)";
    std::string text = std::to_string(number);
    if (isa<IndexType>(type) || type.isInteger(64))
      return number > INT32_MAX || number < INT32_MIN ? text + "LL" : text;
    return type.isInteger(32) ? text : cast(cppType(type), text);
  }
  if (auto real = dyn_cast<FloatAttr>(value)) {
    double number = real.getValueAsDouble();
    std::string text;
    if (std::isfinite(number)) {
      llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
      if (text.find_first_of(".e") == std::string::npos)
        text += ".0";
      text += "f";
    } else {
      printer.need(Piece::kBits);
      text = std::isnan(number) ? "FloatFromBits(0x7fc00000u)"
             : number > 0       ? "FloatFromBits(0x7f800000u)"
                                : "FloatFromBits(0xff800000u)";
    }
    return isa<Float32Type>(type) ? text : cast(cppType(type), text);
  }
  return "";
}

std::string scalarExpression(AscendCPrinter &printer, Operation *op) {
  return Expression(printer, op).text();
}

} // namespace pyasc::npu
