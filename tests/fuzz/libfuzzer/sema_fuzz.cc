// A kernel and its arguments: semantic analysis refuses it or makes valid code of it.
//
// The first line may be `#:` and letters, one a parameter of the first kernel, that choose its
// argument from kKinds below; parameters beyond them take the first kind.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "compiler/sema/build_kernel.h"
#include "compiler/sema/test_request.h"
#include "compiler/syntax/parse.h"
#include "mlir/IR/MLIRContext.h"
#include "tests/fuzz/libfuzzer/fuzz_check.h"
#include "llvm/Support/Casting.h"

using namespace pyasc;

namespace {

constexpr std::string_view kKinds[] = {
    "f32[8,8]", "f32[8]",   "f32[1]",    "f32[4,8,8]", "f32[0,8]",   "f32[3,5]", "i32[8]",
    "i32[8,8]", "f16[8,8]", "bf16[8,8]", "bool[8]",    "u8[8]",      "i64[8]",   "f64[8]",
    "f32",      "i64",      "i32",       "bool",       "f16",        "=3",       "=2.5",
    "=True",    "=0",       "=-1",       "f32[1,1]",   "f32[16,16]",
};

void AddArguments(std::string_view letters, const syntax::Arguments &parameters,
                  v1::CompileRequest &request) {
  auto add = [&](const syntax::Arg *parameter) {
    size_t kind = 0;
    if (!letters.empty()) {
      kind = static_cast<size_t>(static_cast<unsigned char>(letters[0]) - 'a') % std::size(kKinds);
      letters.remove_prefix(1);
    }
    std::string text(parameter->arg);
    sema::AddArgument(text.append("=").append(kKinds[kind]), request);
  };
  for (const syntax::Arg *parameter : parameters.posonlyargs)
    add(parameter);
  for (const syntax::Arg *parameter : parameters.args)
    add(parameter);
  for (const syntax::Arg *parameter : parameters.kwonlyargs)
    add(parameter);
}

// The arguments of the first function that has a decorator, as a kernel has.
void AddArguments(std::string_view text, v1::CompileRequest &request) {
  std::string_view letters;
  if (text.starts_with("#:"))
    letters = text.substr(
        2, std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 2), text.size()) - 2);
  diag::DiagnosticList diags;
  syntax::ParseResult parsed = syntax::Parse(text, {}, diags);
  if (!parsed.ok)
    return;
  for (const syntax::Stmt *statement : parsed.module->body) {
    const auto *function = llvm::dyn_cast<syntax::FunctionDef>(statement);
    if (function != nullptr && !function->decorator_list.empty())
      return AddArguments(letters, *function->args, request);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  v1::CompileRequest request;
  request.add_files()->set_content(text);
  request.set_target(v1::TARGET_HOST);
  AddArguments(text, request);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  diag::DiagnosticList diags;
  auto kernel = sema::BuildKernel(context, request, diags);
  FUZZ_CHECK(kernel.has_value() == !diags.HasErrors());
  for (const v1::Diagnostic &d : diags.Take()) {
    if (d.code() == "internal-error")
      std::fprintf(stderr, "%s\n", d.message().c_str());
    FUZZ_CHECK(d.code() != "internal-error");
  }
  return 0;
}
