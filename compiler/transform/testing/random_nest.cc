#include "compiler/transform/testing/random_nest.h"

#include <vector>

namespace pyasc::testing_support {
namespace {

class NestWriter {
public:
  NestWriter(std::mt19937 &random, const std::string &name) : random(random), name(name) {}

  std::string write() {
    text = "func.func @" + name +
           "(%A: memref<32x32xi32> {asc.name = \"A\"}, %B: memref<32x32xi32> {asc.name = \"B\"}, "
           "%D: memref<32xi32> {asc.name = \"D\"}) {\n"
           "  %s = memref.alloca() : memref<i32>\n  %t = memref.alloca() : memref<i32>\n"
           "  %zero = arith.constant 0 : i32\n  %three = arith.constant 3 : i32\n"
           "  affine.store %zero, %s[] : memref<i32>\n"
           "  affine.store %zero, %t[] : memref<i32>\n";
    loop(pick(3));
    text += "  %last = affine.load %s[] : memref<i32>\n"
            "  affine.store %last, %D[0] : memref<32xi32>\n  return\n}\n";
    return text;
  }

private:
  unsigned pick(unsigned n) { return random() % n; }
  bool chance(unsigned percent) { return pick(100) < percent; }
  std::string fresh() { return "%v" + std::to_string(next++); }
  void line(const std::string &content) { text += "  " + content + "\n"; }

  // Every induction variable stays in [0, 8).
  void loop(unsigned deeper) {
    if (chance(25))
      return stripMined(deeper);
    std::string iv = fresh();
    switch (ivs.empty() ? 0 : pick(4)) {
    case 1:
      line("affine.for " + iv + " = 0 to affine_map<(d0) -> (d0 + " + std::to_string(pick(2)) +
           ")>(" + anyIv() + ") {");
      break;
    case 2:
      line("affine.for " + iv + " = affine_map<(d0) -> (d0)>(" + anyIv() + ") to 7 {");
      break;
    default:
      line("affine.for " + iv + " = " + std::to_string(pick(3)) + " to " +
           std::to_string(3 + pick(5)) + (chance(15) ? " step 2 {" : " {"));
    }
    body(iv, deeper);
    line("}");
  }

  void stripMined(unsigned deeper) {
    std::string outer = fresh(), iv = fresh();
    unsigned size = 1 + pick(4), end = 4 + pick(4);
    bool overlaps = chance(15), isExact = chance(70);
    std::string step = std::to_string(size), reach = std::to_string(size + overlaps);
    line("affine.for " + outer + " = 0 to " + std::to_string(isExact ? end : end - 1) + " step " +
         step + " {");
    bool isInterchanged = chance(40) && !ivs.empty() && deeper > 0;
    std::string between = fresh();
    if (isInterchanged) {
      line("affine.for " + between + " = 0 to " + std::to_string(2 + pick(4)) + " {");
      ivs.push_back(between);
    }
    line("affine.for " + iv + " = affine_map<(d0) -> (d0)>(" + outer +
         ") to min affine_map<(d0) -> (d0 + " + reach + ", " + std::to_string(end) + ")>(" + outer +
         ") {");
    body(iv, isInterchanged ? deeper - 1 : deeper);
    line("}");
    if (isInterchanged) {
      ivs.pop_back();
      line("}");
    }
    line("}");
  }

  void body(const std::string &iv, unsigned deeper) {
    ivs.push_back(iv);
    unsigned parts = 1 + pick(3);
    bool hasLoop = false;
    for (unsigned i = 0; i < parts; ++i) {
      bool isLast = i + 1 == parts;
      if (deeper > 0 && (chance(40) || (isLast && !hasLoop))) {
        loop(deeper - 1);
        hasLoop = true;
      } else {
        statement();
      }
    }
    ivs.pop_back();
  }

  std::string anyIv() { return ivs[pick(ivs.size())]; }

  // In [0, 32) for induction variables in [0, 8).
  std::string index() {
    if (isPlain)
      return chance(70) ? anyIv() : anyIv() + " + " + std::to_string(pick(3));
    switch (pick(12)) {
    case 0:
      return std::to_string(pick(32));
    case 1:
      return "7 - " + anyIv();
    case 2:
      return anyIv() + " * 2";
    case 3:
      return anyIv() + " + " + anyIv();
    case 4:
      return anyIv() + " * 3 + " + anyIv();
    case 5:
      return anyIv() + " floordiv 2";
    case 6:
      return anyIv() + " mod 3";
    case 7:
    case 8:
      return anyIv() + " + " + std::to_string(pick(3));
    default:
      return anyIv();
    }
  }

  std::string place() {
    switch (pick(5)) {
    case 0:
      return "%D[" + index() + "] : memref<32xi32>";
    case 1:
    case 2:
      return "%A[" + index() + ", " + index() + "] : memref<32x32xi32>";
    default:
      return "%B[" + index() + ", " + index() + "] : memref<32x32xi32>";
    }
  }

  std::string load(const std::string &from) {
    std::string value = fresh();
    line(value + " = affine.load " + from);
    return value;
  }

  std::string binary(const std::string &op, const std::string &a, const std::string &b) {
    std::string value = fresh();
    line(value + " = arith." + op + " " + a + ", " + b + " : i32");
    return value;
  }

  std::string operand() {
    switch (pick(8)) {
    case 0:
      return "%three";
    case 1: {
      std::string value = fresh();
      line(value + " = arith.index_cast " + anyIv() + " : index to i32");
      return value;
    }
    case 2:
      return load(cell());
    default:
      return load(place());
    }
  }

  std::string cell() { return chance(70) ? "%s[] : memref<i32>" : "%t[] : memref<i32>"; }
  std::string combine() {
    const char *ops[] = {"addi", "addi", "muli", "maxsi", "minui", "subi"};
    return ops[pick(6)];
  }

  void statement() {
    if (chance(12)) {
      line("affine.if affine_set<(d0, d1) : (d0 " + std::string(chance(50) ? "+" : "-") + " d1 - " +
           std::to_string(pick(4)) + (chance(20) ? " == 0" : " >= 0") + ")>(" + anyIv() + ", " +
           anyIv() + ") {");
      simpleStatement();
      line("}");
    } else {
      simpleStatement();
    }
  }

  void simpleStatement() {
    std::string target = chance(40) ? cell() : place();
    std::string value;
    switch (pick(5)) {
    case 0:
      value = chance(50) ? "%zero" : operand();
      break;
    case 1:
      value = binary("addi", operand(), operand());
      break;
    case 2: { // a chain
      std::string old = load(target), a = operand(), b = operand();
      value = binary("addi", binary("addi", old, binary("muli", a, b)), operand());
      break;
    }
    default: {
      std::string old = load(target), a = operand();
      if (chance(40))
        a = binary("muli", a, operand());
      value = binary(combine(), old, a);
    }
    }
    line("affine.store " + value + ", " + target);
  }

  std::mt19937 &random;
  std::string name, text;
  std::vector<std::string> ivs;
  unsigned next = 0;
  // Half of the nests have simple indices, or hardly any would be raised.
  bool isPlain = chance(50);
};

} // namespace

std::string randomNest(std::mt19937 &random, const std::string &name) {
  return NestWriter(random, name).write();
}

} // namespace pyasc::testing_support
