// The `asc` dialect: what a kernel says and no upstream dialect can.
#ifndef PYASC_COMPILER_IR_ASC_TD
#define PYASC_COMPILER_IR_ASC_TD

include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AscDialect : Dialect {
  let name = "asc";
  let cppNamespace = "::pyasc::ir";
  let summary = "Run-time checks and printing of kernels";
  let description = [{
    Kernels are upstream MLIR (affine, scf, memref, linalg, arith, math); docs/architecture.md
    defines the forms. This dialect adds the two effects that upstream has no op for, and owns the
    discardable attributes `asc.*`.
  }];
  let extraClassDeclaration = [{
    // Discardable attributes; see "Kernel form" in docs/architecture.md.
    static constexpr const char *kKernel = "asc.kernel";
    static constexpr const char *kName = "asc.name";
    static constexpr const char *kDType = "asc.dtype";
    static constexpr const char *kResult = "asc.result";
    static constexpr const char *kScalarResult = "asc.scalar_result";
    static constexpr const char *kErrorBuffer = "asc.error_buffer";
    static constexpr const char *kPrintLog = "asc.print_log";
    static constexpr const char *kErrors = "asc.errors";
    static constexpr const char *kParallel = "asc.parallel";
    static constexpr const char *kUnroll = "asc.unroll";
    static constexpr const char *kShared = "asc.shared";
    static constexpr const char *kStrict = "asc.strict";
  }];
}

class Asc_Op<string mnemonic, list<Trait> traits = []> : Op<AscDialect, mnemonic, traits>;

def Asc_CheckOp : Asc_Op<"check"> {
  let summary = "record an error when a condition does not hold";
  let description = [{
    When `ok` is false and no error was recorded before, records {code, value, bound} in the
    kernel's error buffer. Execution goes on: the code around it must stay harmless by itself.
    `code` is a key of the function's `asc.errors` table.
  }];
  let arguments = (ins I1:$ok, Index:$value, Index:$bound, I64Attr:$code);
  let assemblyFormat = "$ok `,` $value `,` $bound attr-dict";
  let hasVerifier = 1;
}

def Asc_PrintOp : Asc_Op<"print", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "print a text while the kernel runs";
  let description = [{
    `format` holds one `{}` (or `{:spec}`, with Python's format specification) an operand, braces of
    the text doubled, and its own newline. `dtypes` names each operand's dtype, since MLIR's
    integers are signless. An operand that is a memref prints as a whole array. `id` names the print
    in the launch contract: prints with one id have the same format, operand types and location.
    Nothing is printed once an error is recorded. With a `code`, the text is no print but the
    message of that error, and the check that records it follows.

    Reads its memrefs and has an order with every other print and check.
  }];
  let arguments = (ins StrAttr:$format, StrArrayAttr:$dtypes, Variadic<AnyType>:$values,
                       DefaultValuedAttr<I64Attr, "0">:$id, DefaultValuedAttr<I64Attr, "0">:$code);
  let assemblyFormat = "$format $dtypes (`,` $values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

#endif // PYASC_COMPILER_IR_ASC_TD
