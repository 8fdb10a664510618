// pyasc-sema-dump FILE [--kernel K] [--target host|sim|ascend] [--precision P] [--debug] [--key]
// [--generic]
//   [--arg NAME=f32[4,8] | NAME=i64 | NAME==3]...
// Prints the kernel form of a kernel, for developers. Exit 1: the kernel is wrong.
#include <fstream>
#include <iostream>
#include <sstream>

#include "compiler/sema/build_kernel.h"
#include "compiler/sema/test_request.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace pyasc;

int main(int argc, char **argv) {
  v1::CompileRequest request;
  request.set_target(v1::TARGET_HOST);
  bool key = false, generic = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    std::string next = i + 1 < argc ? argv[i + 1] : "";
    if (arg == "--kernel") {
      request.set_kernel(next), ++i;
    } else if (arg == "--target") {
      request.set_target(next == "sim"    ? v1::TARGET_SIM
                         : next == "host" ? v1::TARGET_HOST
                                          : v1::TARGET_ASCEND);
      ++i;
    } else if (arg == "--precision") {
      request.mutable_options()->set_precision(next), ++i;
    } else if (arg == "--debug") {
      request.mutable_options()->set_debug(true);
    } else if (arg == "--key") {
      key = true;
    } else if (arg == "--generic") {
      generic = true;
    } else if (arg == "--arg") {
      sema::AddArgument(next, request), ++i;
    } else {
      std::ifstream file(arg);
      std::stringstream text;
      text << file.rdbuf();
      request.add_files()->set_content(text.str());
    }
  }
  mlir::MLIRContext context;
  diag::DiagnosticList diags;
  auto kernel = sema::BuildKernel(context, request, diags);
  for (const v1::Diagnostic &d : diags.Take()) {
    std::cerr << d.range().line() << ":" << d.range().column() << "-" << d.range().end_line() << ":"
              << d.range().end_column() << ": " << d.message() << " [" << d.code() << "]\n";
    for (const v1::Diagnostic &n : d.notes())
      std::cerr << "  " << n.range().line() << ":" << n.range().column() << ": " << n.message()
                << "\n";
  }
  if (!kernel)
    return 1;
  if (key)
    std::cout << kernel->semantic_key_text;
  else
    kernel->module->print(llvm::outs(), mlir::OpPrintingFlags().printGenericOpForm(generic));
  return 0;
}
