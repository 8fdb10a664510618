#include "compiler/target/ascend/testing/kernels.h"

namespace pyasc::npu::testing {

namespace {

std::string memref(int64_t batch, int64_t rows, int64_t columns, const std::string &element) {
  std::string leading = batch > 0 ? std::to_string(batch) + "x" : "";
  return "memref<" + leading + std::to_string(rows) + "x" + std::to_string(columns) + "x" +
         element + ">";
}

std::string map(bool batch, const std::string &dims, const std::string &results) {
  return batch ? "affine_map<(b," + dims + ")->(b," + results + ")>"
               : "affine_map<(" + dims + ")->(" + results + ")>";
}

} // namespace

std::string MatmulKernel::text() const {
  std::string a = transpose_a ? memref(batch, k, m, element) : memref(batch, m, k, element);
  std::string b = transpose_b ? memref(batch, n, k, element) : memref(batch, k, n, element);
  std::string c = memref(batch, m, n, "f32");
  std::string result = rounded ? memref(batch, m, n, element) : c;
  std::string parallel =
      batch > 0 ? R"("parallel", "parallel", "parallel")" : R"("parallel", "parallel")";
  std::string name = rounded ? "%T" : "%C";
  std::string each = map(batch > 0, "m,n", "m,n");

  std::string body = "func.func @matmul(%A: " + a + " {asc.name = \"A\"}, %B: " + b +
                     " {asc.name = \"B\"}, %C: " + result +
                     " {asc.name = \"return\", asc.result}) attributes {asc.kernel} {\n"
                     "  %zero = arith.constant 0.0 : f32\n";
  if (rounded)
    body += "  %T = memref.alloc() : " + c + "\n";
  if (zero_first)
    body += "  linalg.generic {indexing_maps = [" + each + "], iterator_types = [" + parallel +
            "]} outs(" + name + " : " + c +
            ") {\n  ^bb0(%c: f32):\n    linalg.yield %zero : f32\n  }\n";
  body += "  linalg.generic {indexing_maps = [" +
          map(batch > 0, "m,n,k", transpose_a ? "k,m" : "m,k") + ", " +
          map(batch > 0, "m,n,k", transpose_b ? "n,k" : "k,n") + ", " +
          map(batch > 0, "m,n,k", "m,n") + "], iterator_types = [" + parallel +
          ", \"reduction\"]} ins(%A, %B : " + a + ", " + b + ") outs(" + name + " : " + c +
          ") {\n  ^bb0(%a: " + element + ", %b: " + element + ", %c: f32):\n";
  bool extended = element != "f32";
  if (extended)
    body += "    %x = arith.extf %a : " + element + " to f32\n    %y = arith.extf %b : " + element +
            " to f32\n";
  body += std::string("    %p = arith.mulf ") + (extended ? "%x, %y" : "%a, %b") +
          " : f32\n    %s = arith.addf %c, %p : f32\n    linalg.yield %s : f32\n  }\n";
  if (rounded)
    body += "  linalg.generic {indexing_maps = [" + each + ", " + each + "], iterator_types = [" +
            parallel + "]} ins(%T : " + c + ") outs(%C : " + result +
            ") {\n  ^bb0(%t: f32, %c: " + element + "):\n    %r = arith.truncf %t : f32 to " +
            element + "\n    linalg.yield %r : " + element + "\n  }\n";
  return body + "  return\n}\n";
}

} // namespace pyasc::npu::testing
