// The npu dialect: what one AI core of an Ascend 910B does, one op an instruction (or a short,
// fixed expansion of instructions that both exits make alike).
//
// In: nothing; the dialect stands alone. Out: declarations and definitions for npu.h and npu.cc.
// The contract of modules, functions and stages is in docs/architecture.md.
#ifndef PYASC_COMPILER_TARGET_ASCEND_NPU_OPS
#define PYASC_COMPILER_TARGET_ASCEND_NPU_OPS

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Npu_Dialect : Dialect {
  let name = "npu";
  let cppNamespace = "::pyasc::npu";
  let summary = "Instructions, memories and pipes of an Ascend AI core";
  let useDefaultAttributePrinterParser = 1;
}

//===------------------------------------------------------------------------------------------===//
// Enumerations
//===------------------------------------------------------------------------------------------===//

class Npu_Enum<string name, string doc, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, doc, cases> {
  let cppNamespace = "::pyasc::npu";
  let genSpecializedAttr = 0;
}

def Npu_Space : Npu_Enum<"Space", "a memory of the AI core", [
    I32EnumAttrCase<"gm", 0>, I32EnumAttrCase<"ub", 1>, I32EnumAttrCase<"l1", 2>,
    I32EnumAttrCase<"l0a", 3>, I32EnumAttrCase<"l0b", 4>, I32EnumAttrCase<"l0c", 5>]>;
// The memory space of a memref: #npu.space<ub>.
def Npu_SpaceAttr : EnumAttr<Npu_Dialect, Npu_Space, "space"> {
  let assemblyFormat = "`<` $value `>`";
}

def Npu_Pipe : Npu_Enum<"Pipe", "an in-order pipe of the AI core; ALL in barriers only", [
    I32EnumAttrCase<"S", 0>, I32EnumAttrCase<"V", 1>, I32EnumAttrCase<"M", 2>,
    I32EnumAttrCase<"MTE1", 3>, I32EnumAttrCase<"MTE2", 4>, I32EnumAttrCase<"MTE3", 5>,
    I32EnumAttrCase<"FIX", 6>, I32EnumAttrCase<"ALL", 7>]>;
def Npu_PipeAttr : EnumAttr<Npu_Dialect, Npu_Pipe, "pipe">;

def Npu_Atomic : Npu_Enum<"Atomic", "how a write to GM meets what is there", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"add", 1>, I32EnumAttrCase<"max", 2>,
    I32EnumAttrCase<"min", 3>]>;
def Npu_AtomicAttr : EnumAttr<Npu_Dialect, Npu_Atomic, "atomic">;

def Npu_Binary : Npu_Enum<"Binary", "a vector operation on two vectors", [
    I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"sub", 1>, I32EnumAttrCase<"mul", 2>,
    I32EnumAttrCase<"div", 3>, I32EnumAttrCase<"max", 4>, I32EnumAttrCase<"min", 5>,
    I32EnumAttrCase<"and_", 6, "and">, I32EnumAttrCase<"or_", 7, "or">]>;
def Npu_BinaryAttr : EnumAttr<Npu_Dialect, Npu_Binary, "binary">;

def Npu_Unary : Npu_Enum<"Unary", "a vector operation on one vector", [
    I32EnumAttrCase<"exp", 0>, I32EnumAttrCase<"ln", 1>, I32EnumAttrCase<"abs", 2>,
    I32EnumAttrCase<"sqrt", 3>, I32EnumAttrCase<"rsqrt", 4>, I32EnumAttrCase<"reciprocal", 5>,
    I32EnumAttrCase<"relu", 6>, I32EnumAttrCase<"not_", 7, "not">, I32EnumAttrCase<"neg", 8>]>;
def Npu_UnaryAttr : EnumAttr<Npu_Dialect, Npu_Unary, "unary">;

def Npu_Scalar : Npu_Enum<"Scalar", "a vector operation on a vector and a scalar", [
    I32EnumAttrCase<"adds", 0>, I32EnumAttrCase<"muls", 1>, I32EnumAttrCase<"maxs", 2>,
    I32EnumAttrCase<"mins", 3>]>;
def Npu_ScalarAttr : EnumAttr<Npu_Dialect, Npu_Scalar, "scalar">;

def Npu_Compare : Npu_Enum<"Compare", "a comparison", [
    I32EnumAttrCase<"lt", 0>, I32EnumAttrCase<"le", 1>, I32EnumAttrCase<"gt", 2>,
    I32EnumAttrCase<"ge", 3>, I32EnumAttrCase<"eq", 4>, I32EnumAttrCase<"ne", 5>]>;
def Npu_CompareAttr : EnumAttr<Npu_Dialect, Npu_Compare, "compare">;

def Npu_Reduce : Npu_Enum<"Reduce", "how a reduction combines", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>]>;
def Npu_ReduceAttr : EnumAttr<Npu_Dialect, Npu_Reduce, "reduce">;

def Npu_Round : Npu_Enum<"Round", "how a cast rounds; none: the cast is exact", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"rint", 1>, I32EnumAttrCase<"floor", 2>,
    I32EnumAttrCase<"ceil", 3>, I32EnumAttrCase<"round", 4>, I32EnumAttrCase<"trunc", 5>]>;
def Npu_RoundAttr : EnumAttr<Npu_Dialect, Npu_Round, "round">;

//===------------------------------------------------------------------------------------------===//
// What every instruction says of itself
//===------------------------------------------------------------------------------------------===//

def Npu_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::pyasc::npu";
  let description = [{
    An op that one pipe executes on memory. Its memory operands, pipes and access ranges are all
    that placement, synchronisation, the simulator and the sanitizer need to know.
  }];
  let methods = [
    InterfaceMethod<"The pipe that executes the op.", "::pyasc::npu::Pipe", "getPipe">,
    InterfaceMethod<"Every range of memory that the op reads or writes, reads first.",
                    "::llvm::SmallVector<::pyasc::npu::Access, 4>", "getAccesses">
  ];
}

class Npu_Op<string mnemonic, list<Trait> traits = []> : Op<Npu_Dialect, mnemonic, traits>;

def Npu_Memory : MemRefRankOf<[AnyType], [1]>;

// An instruction: memory operands are pairs (memref, offset in elements).
class Npu_Instruction<string mnemonic, string pipe, list<Trait> traits = []>
    : Npu_Op<mnemonic, traits # [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                 Npu_InstructionOpInterface]> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::pyasc::npu::Pipe getPipe() { return ::pyasc::npu::Pipe::}] # pipe # [{; }
    ::llvm::SmallVector<::pyasc::npu::Access, 4> getAccesses();
  }];
  let extraClassDefinition = [{
    void $cppClass::getEffects(::llvm::SmallVectorImpl<
        ::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
      ::pyasc::npu::effectsOfAccesses(getAccesses(), effects);
    }
  }];
}

//===------------------------------------------------------------------------------------------===//
// Cores and buffers
//===------------------------------------------------------------------------------------------===//

def Npu_BlockIdxOp : Npu_Op<"block_idx", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "index of this core among the phase's blocks";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Npu_NumBlocksOp : Npu_Op<"num_blocks", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "number of the phase's blocks";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Npu_BufferOp : Npu_Op<"buffer"> {
  let summary = "a buffer in an on-chip memory";
  let description = [{
    `depth` slots of as many elements as the type says; `npu.slot` picks one, an op that uses the
    buffer itself uses slot 0. Only in a function's entry block. `addr` (bytes, of slot 0) exists
    from the stage *placed* on; slot i starts `slotBytes()` * i after it.
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "1">:$depth, OptionalAttr<I64Attr>:$addr);
  let results = (outs Res<Npu_Memory, "", [MemAlloc]>:$result);
  let assemblyFormat = "(`depth` $depth^)? (`addr` $addr^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::pyasc::npu::Space getSpace();
    // Bytes of one slot, rounded up to the alignment of the space; of all slots.
    int64_t slotBytes();
    int64_t totalBytes() { return slotBytes() * static_cast<int64_t>(getDepth()); }
  }];
}

def Npu_SlotOp : Npu_Op<"slot", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>, AllTypesMatch<["buffer", "result"]>]> {
  let summary = "slot `iteration` mod depth of a buffer";
  let description = [{
    Double buffering: within one iteration producer and consumer use slots of the same
    `iteration`; which iterations share a slot is what the depth says. `iteration` is not negative.
  }];
  let arguments = (ins Npu_Memory:$buffer, Index:$iteration);
  let results = (outs Npu_Memory:$result);
  let assemblyFormat = "$buffer `[` $iteration `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

//===------------------------------------------------------------------------------------------===//
// DMA
//===------------------------------------------------------------------------------------------===//

def Npu_LoadOp : Npu_Instruction<"load", "MTE2"> {
  let summary = "GM to UB or L1 in bursts";
  let description = [{
    `count` bursts of `len` elements. Strides are from the start of a burst to the start of the
    next, in elements; both are ignored when `count` is 1. On the chip every burst starts at a
    multiple of 32 bytes: `dst_stride` x element size is one, and so is `dst_offset` x element
    size. What lies between the end of a burst and the next multiple of 32 bytes is undefined
    afterwards. `src_stride` >= `len`. A count or length of zero does nothing.
    Ranges: count <= 4095, len x size < 2 MiB. `bypass_l2`: what misses L2 is not kept there.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$src, Index:$src_offset,
                       Index:$count, Index:$len, Index:$src_stride, Index:$dst_stride,
                       UnitAttr:$bypass_l2);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $src `[` $src_offset `]` `count` $count `len` $len
    `src_stride` $src_stride `dst_stride` $dst_stride (`bypass_l2` $bypass_l2^)? attr-dict
    `:` type($dst) `,` type($src)
  }];
}

def Npu_StoreOp : Npu_Instruction<"store", "MTE3"> {
  let summary = "UB to GM in bursts";
  let description = [{
    As `npu.load`, the other way round: in UB every burst starts at a multiple of 32 bytes, GM is
    written with byte granularity. `atomic` combines with what is in GM.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$src, Index:$src_offset,
                       Index:$count, Index:$len, Index:$dst_stride, Index:$src_stride,
                       DefaultValuedAttr<Npu_AtomicAttr, "::pyasc::npu::Atomic::none">:$atomic);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $src `[` $src_offset `]` `count` $count `len` $len
    `dst_stride` $dst_stride `src_stride` $src_stride (`atomic` $atomic^)? attr-dict
    `:` type($dst) `,` type($src)
  }];
}

def Npu_LoadNd2NzOp : Npu_Instruction<"load_nd2nz", "MTE2"> {
  let summary = "a row-major matrix of GM to L1, rearranged into fractals";
  let description = [{
    Element (r, c) of the `rows` x `cols` matrix at src + r * src_stride + c goes to
    dst + ((c / C0) * dst_rows + r * row_step) * C0 + c % C0, where C0 = 32 bytes / element size:
    column blocks of C0, each `dst_rows` rows high, of which every `row_step`-th is written. The
    columns that fill up the last block are written as zero; other rows are not written.
    Ranges: rows <= 16384, cols <= 65535, src_stride <= 65535 (ignored when rows is 1), dst_rows
    <= 16384 and a multiple of 16 (any value >= 1 is the stride when rows is 1), row_step 1 to
    16384.
    `bypass_l2`: as in `npu.load`.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$src, Index:$src_offset,
                       Index:$rows, Index:$cols, Index:$src_stride, Index:$dst_rows,
                       DefaultValuedAttr<I64Attr, "1">:$row_step, UnitAttr:$bypass_l2);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $src `[` $src_offset `]` `rows` $rows `cols` $cols
    `src_stride` $src_stride `dst_rows` $dst_rows (`row_step` $row_step^)?
    (`bypass_l2` $bypass_l2^)? attr-dict
    `:` type($dst) `,` type($src)
  }];
}

def Npu_LoadL0Op : Npu_Instruction<"load_l0", "MTE1"> {
  let summary = "fractals of L1 to L0A or L0B, in the order that mmad reads";
  let description = [{
    Moves an operand of mmad: `extent` is m (L0A) or n (L0B), `k` the contracted extent, both in
    elements; C0 = 32 bytes / element size. The source is a matrix in L1 as load_nd2nz leaves it,
    `src_rows` rows high, from `src_offset` on (the first element of a fractal's row 0 .. 15).

    Without `transpose` the source's rows run along m (n) and its columns along k. Destination,
    in fractals of 16 x C0 (512 bytes), each with its 16 rows along m (n):
      L0A: fractal (i, j) of m-block i, k-block j at i * ceil(k / C0) + j
      L0B: fractal (j, i) of k-block j, n-block i at j * ceil(n / 16) + i
    With `transpose` the source's rows run along k and its columns along m (n); the destination is
    the same, but for 4-byte elements its k-blocks are counted up to a multiple of two: in L0A
    fractal (i, j) is at i * 2 * ceil(k / 16) + j, and mmad must be told (`a_transposed`).
    The source must hold whole fractals, what pads the last ones may be anything: with
    `transpose` ceil(k / 16) * 16 rows and ceil(extent / 16) * 16 columns.

    In Ascend C: without `transpose` one LoadData (2D) a block row; with it LoadData (2D,
    ifTranspose) for 2-byte elements and LoadData (3DV2, 1 x 1 filter, enTranspose) for 4-byte ones.
    Ranges: extent, k <= 4095.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$src, Index:$src_offset,
                       Index:$extent, Index:$k, Index:$src_rows, UnitAttr:$transpose);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $src `[` $src_offset `]` `extent` $extent `k` $k
    `src_rows` $src_rows (`transpose` $transpose^)? attr-dict `:` type($dst) `,` type($src)
  }];
}

def Npu_FixpipeOp : Npu_Instruction<"fixpipe", "FIX"> {
  let summary = "a result of the cube from L0C to GM, row-major";
  let description = [{
    Element (r, c) of the `m` x `n` matrix, at src + ((c / 16) * src_rows + r) * 16 + c % 16 in
    L0C, goes to dst + r * dst_stride + c. f32 is converted to the destination's type (f16, bf16:
    round to nearest even). `atomic` is none or add; `relu` is applied before the conversion.
    `unit_flag`: waits by itself for the mmad that closed the result, and the mmad that opens the
    next one waits for it; see `npu.mmad`.
    Ranges: m <= 8192, n <= 4095, src_rows a multiple of 16.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$src, Index:$src_offset,
                       Index:$m, Index:$n, Index:$dst_stride, Index:$src_rows,
                       DefaultValuedAttr<Npu_AtomicAttr, "::pyasc::npu::Atomic::none">:$atomic,
                       UnitAttr:$relu, UnitAttr:$unit_flag);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $src `[` $src_offset `]` `m` $m `n` $n `dst_stride` $dst_stride
    `src_rows` $src_rows (`atomic` $atomic^)? (`relu` $relu^)? (`unit_flag` $unit_flag^)? attr-dict
    `:` type($dst) `,` type($src)
  }];
}

//===------------------------------------------------------------------------------------------===//
// Cube
//===------------------------------------------------------------------------------------------===//

def Npu_MmadOp : Npu_Instruction<"mmad", "M"> {
  let summary = "c = a x b, plus c unless init";
  let description = [{
    a in L0A and b in L0B as load_l0 leaves them, c in L0C: element (r, j) at
    ((j / 16) * ceil(m / 16) * 16 + r) * 16 + j % 16. Exactly m, n and k take part; what pads the
    fractals does not reach the m x n results. `a_transposed`: a is of 4 bytes and was loaded with
    `transpose`, so its k-blocks are padded to a multiple of two.
    c needs room for ceil(m / 16) * 16 rows. In Ascend C m = 1 would select the matrix-vector mode,
    which reads A in another layout; the printer passes 16 for it.
    Types (a, b, c): f16 f16 f32, bf16 bf16 f32, f32 f32 f32, i8 i8 i32.
    `unit_flag` takes the place of the flags between M and FIX: an mmad with init waits until the
    fixpipe before it has left L0C, and one whose unit_flag is true closes the result, for which
    the next `npu.fixpipe` with `unit_flag` waits. Each result is closed once and written once.
    Ranges: m, n, k <= 4095.
  }];
  let arguments = (ins Npu_Memory:$c, Index:$c_offset, Npu_Memory:$a, Index:$a_offset,
                       Npu_Memory:$b, Index:$b_offset, Index:$m, Index:$n, Index:$k, I1:$init,
                       UnitAttr:$a_transposed, Optional<I1>:$unit_flag);
  let assemblyFormat = [{
    $c `[` $c_offset `]` `,` $a `[` $a_offset `]` `,` $b `[` $b_offset `]` `m` $m `n` $n `k` $k
    `init` $init (`a_transposed` $a_transposed^)? (`unit_flag` $unit_flag^)? attr-dict
    `:` type($c) `,` type($a) `,` type($b)
  }];
}

//===------------------------------------------------------------------------------------------===//
// Vector: every offset x element size is a multiple of 32 bytes, count of zero does nothing, and
// an operand may be the destination (same offset) but not overlap it otherwise.
//===------------------------------------------------------------------------------------------===//

def Npu_VBinaryOp : Npu_Instruction<"vbinary", "V"> {
  let summary = "dst = a op b, elementwise";
  let description = [{
    add sub mul max min: i16 i32 f16 f32; div: f16 f32; and, or: i8 i16 i32, bit by bit (i8
    for masks: an even count). One type for all operands. Ascend C's And and Or know 16 bits only:
    i8 and i32 are reinterpreted as i16.
  }];
  let arguments = (ins Npu_BinaryAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Npu_Memory:$b, Index:$b_offset, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `,` $b `[` $b_offset `]` `count` $count
    attr-dict `:` type($dst) `,` type($a) `,` type($b)
  }];
}

def Npu_VUnaryOp : Npu_Instruction<"vunary", "V"> {
  let summary = "dst = op a, elementwise";
  let description = [{
    f16 and f32; relu also i32; not: as `and` of vbinary. neg is multiplication by -1 (so that -0.0 is right).
  }];
  let arguments = (ins Npu_UnaryAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `count` $count attr-dict
    `:` type($dst) `,` type($a)
  }];
}

def Npu_VCopyOp : Npu_Instruction<"vcopy", "V"> {
  let summary = "copies repeats of blocks within UB, with strides";
  let description = [{
    `repeats` repeats of `count` elements, at most 256 bytes each. Within a repeat an operand's
    blocks of 32 bytes lie *_block blocks apart (1: next to each other), and its repeats lie
    *_repeat blocks apart. Elements of 2 or 4 bytes.
    Ranges: repeats <= 255, *_block <= 65535, *_repeat <= 255.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a, Index:$a_offset,
                       Index:$count, Index:$repeats, Index:$dst_block, Index:$dst_repeat,
                       Index:$a_block, Index:$a_repeat);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `count` $count `repeats` $repeats
    `dst_block` $dst_block `dst_repeat` $dst_repeat `a_block` $a_block `a_repeat` $a_repeat
    attr-dict `:` type($dst) `,` type($a)
  }];
}

def Npu_VScalarOp : Npu_Instruction<"vscalar", "V"> {
  let summary = "dst = a op s for a scalar s";
  let description = [{ i16 i32 f16 f32; the scalar has the element type. }];
  let arguments = (ins Npu_ScalarAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, AnyType:$scalar, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `,` $scalar `count` $count attr-dict
    `:` type($dst) `,` type($a) `,` type($scalar)
  }];
}

def Npu_VDupOp : Npu_Instruction<"vdup", "V"> {
  let summary = "dst = s, count times";
  let description = [{ Elements of 2 or 4 bytes; the scalar has the element type. }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, AnyType:$scalar, Index:$count);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $scalar `count` $count attr-dict `:` type($dst) `,` type($scalar)
  }];
}

def Npu_VCastOp : Npu_Instruction<"vcast", "V"> {
  let summary = "dst = a converted to dst's element type";
  let description = [{
    The pairs that Cast has: f16 f32, bf16 f32, i32 f32, i16 f16, i16 f32, i8 f16, u8 f16 (with
    the attribute `unsigned` on the op), i32 f16, i32 i16, i32 i64, f32 i64, each to the other.
    f32 f32 rounds to a whole number by the mode.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a, Index:$a_offset,
                       Index:$count, Npu_RoundAttr:$round, UnitAttr:$is_unsigned);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `count` $count `round` $round
    (`unsigned` $is_unsigned^)? attr-dict `:` type($dst) `,` type($a)
  }];
}

def Npu_VCompareOp : Npu_Instruction<"vcompare", "V"> {
  let summary = "bit i of dst = a[i] op b[i]";
  let description = [{
    dst is a mask of i8, one bit an element, least significant bit first. f16 f32 (eq also i32).
    count x element size is a multiple of 256 bytes, so the buffers are as long.
  }];
  let arguments = (ins Npu_CompareAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Npu_Memory:$b, Index:$b_offset, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `,` $b `[` $b_offset `]` `count` $count
    attr-dict `:` type($dst) `,` type($a) `,` type($b)
  }];
}

def Npu_VComparesOp : Npu_Instruction<"vcompares", "V"> {
  let summary = "bit i of dst = a[i] op s";
  let description = [{ As `npu.vcompare`, with a scalar of the element type. }];
  let arguments = (ins Npu_CompareAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, AnyType:$scalar, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `,` $scalar `count` $count attr-dict
    `:` type($dst) `,` type($a) `,` type($scalar)
  }];
}

def Npu_VSelectOp : Npu_Instruction<"vselect", "V"> {
  let summary = "dst[i] = bit i of mask ? a[i] : b[i]";
  let description = [{
    i16 i32 f16 f32; mask as `npu.vcompare` writes it. Integers are moved bit by bit: in Ascend C
    they are reinterpreted as floats of their width.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$mask, Index:$mask_offset,
                       Npu_Memory:$a, Index:$a_offset, Npu_Memory:$b, Index:$b_offset,
                       Index:$count);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $mask `[` $mask_offset `]` `,` $a `[` $a_offset `]` `,`
    $b `[` $b_offset `]` `count` $count attr-dict
    `:` type($dst) `,` type($mask) `,` type($a) `,` type($b)
  }];
}

def Npu_VReduceOp : Npu_Instruction<"vreduce", "V"> {
  let summary = "dst[0] = sum, max or min of count elements";
  let description = [{
    f16 f32. tmp has the element type and room for 32 bytes a started 256 bytes of input, at least
    32 bytes. Elements of dst from 1 to the next multiple of 32 bytes are undefined afterwards.
    Order: 256 bytes are combined by a tree into one element each, then these in the same way
    until one is left (Ascend C: ReduceSum, ReduceMax, ReduceMin with a tmp).
  }];
  let arguments = (ins Npu_ReduceAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Npu_Memory:$tmp, Index:$tmp_offset, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `tmp` $tmp `[` $tmp_offset `]`
    `count` $count attr-dict `:` type($dst) `,` type($a) `,` type($tmp)
  }];
}

def Npu_VBlockReduceOp : Npu_Instruction<"vblock_reduce", "V"> {
  let summary = "dst[i] = sum, max or min of the i-th 8 elements of a";
  let description = [{
    f32; count is a multiple of 64, so that count / 8 results fill whole blocks; dst and a do not
    overlap. The 8 are combined by a tree (Ascend C: BlockReduceSum, BlockReduceMax, BlockReduceMin,
    at most 255 repeats of 64 elements an instruction).
  }];
  let arguments = (ins Npu_ReduceAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Index:$count);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `count` $count attr-dict
    `:` type($dst) `,` type($a)
  }];
}

// The three row ops below are composite: both exits expand them by the rule in the description.
// E = 256 bytes / element size elements make a repeat, B = 32 bytes / element size a block. "Repeat
// form" means mask = columns of the chunk, one repeat a row, repeat strides = row strides / B, at
// most 255 rows an instruction; a row stride beyond 255 blocks takes one instruction a row.

def Npu_VRowReduceOp : Npu_Instruction<"vrow_reduce", "V"> {
  let summary = "dst[r] = sum, max or min of a[r * row_stride + c] over c < cols";
  let description = [{
    f16 f32; row_stride is a multiple of B; dst is dense, one element a row. Expansion:
      cols <= E: WholeReduce(dst, a), mask cols, one repeat a row.
      else: tmp (rows x E, dense; element type) = a[:, 0:E] op a[:, E:2E] (mask min(E, cols - E)
      after a copy of the first chunk when cols < 2E), then tmp = tmp op a[:, iE:(i+1)E] for each
      further chunk, all in repeat form; then WholeReduce(dst, tmp), mask E.
      A barrier on V stands between dependent instructions.
    tmp may be of any size when cols <= E, else rows * E elements.
  }];
  let arguments = (ins Npu_ReduceAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Npu_Memory:$tmp, Index:$tmp_offset, Index:$rows,
                       Index:$cols, Index:$row_stride);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `tmp` $tmp `[` $tmp_offset `]`
    `rows` $rows `cols` $cols `row_stride` $row_stride attr-dict
    `:` type($dst) `,` type($a) `,` type($tmp)
  }];
}

def Npu_VRowBinaryOp : Npu_Instruction<"vrow_binary", "V"> {
  let summary = "dst[r, c] = a[r, c] op b[r]: one operand a row";
  let description = [{
    As vbinary in types; `reverse`: b[r] op a[r, c]. dst and a have the stride row_stride, a
    multiple of B; b is dense and readable up to a multiple of 8 elements. Expansion:
      Brcb(tmp, b), ceil(rows / 8) repeats: block r of tmp is b[r] in every element;
      for each chunk of E columns: op(dst, a, tmp) in repeat form, with block stride 0 and repeat
      stride 1 for tmp.
    tmp has the element type and ceil(rows / 8) * 8 blocks.
  }];
  let arguments = (ins Npu_BinaryAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Npu_Memory:$b, Index:$b_offset, Npu_Memory:$tmp,
                       Index:$tmp_offset, Index:$rows, Index:$cols, Index:$row_stride,
                       UnitAttr:$reverse);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `,` $b `[` $b_offset `]`
    `tmp` $tmp `[` $tmp_offset `]` `rows` $rows `cols` $cols `row_stride` $row_stride
    (`reverse` $reverse^)? attr-dict
    `:` type($dst) `,` type($a) `,` type($b) `,` type($tmp)
  }];
}

def Npu_VColBinaryOp : Npu_Instruction<"vcol_binary", "V"> {
  let summary = "dst[r, c] = a[r, c] op b[c]: one operand a column";
  let description = [{
    As vrow_binary, without tmp. Expansion: for each chunk of E columns op(dst, a, b) in repeat
    form, with repeat stride 0 for b.
  }];
  let arguments = (ins Npu_BinaryAttr:$op, Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a,
                       Index:$a_offset, Npu_Memory:$b, Index:$b_offset, Index:$rows, Index:$cols,
                       Index:$row_stride, UnitAttr:$reverse);
  let assemblyFormat = [{
    $op $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `,` $b `[` $b_offset `]`
    `rows` $rows `cols` $cols `row_stride` $row_stride (`reverse` $reverse^)? attr-dict
    `:` type($dst) `,` type($a) `,` type($b)
  }];
}

def Npu_VDeinterleaveOp : Npu_Instruction<"vdeinterleave", "V"> {
  let summary = "dst[i] = a[i * step] for i * step < count";
  let description = [{
    Elements of 2 or 4 bytes; step is 2 or 4; dst and a do not overlap. The results are packed (Ascend
    C: GatherMask with a built-in pattern, in the mode that counts elements).
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a, Index:$a_offset,
                       Index:$count, I64Attr:$step);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `count` $count `step` $step attr-dict
    `:` type($dst) `,` type($a)
  }];
}

def Npu_VTransposeOp : Npu_Instruction<"vtranspose", "V"> {
  let summary = "dst[c * dst_stride + r] = a[r * a_stride + c] for r < rows, c < cols";
  let description = [{
    Elements of 2 or 4 bytes; both strides are multiples of B; dst and a do not overlap. Expansion
    (TransDataTo5HD): for each 16 rows and each 255 blocks of columns one instruction, whose repeats
    take a 16 x B piece each. So `a` is read up to a multiple of 16 rows and of B columns, and dst is
    written up to as many; what is beyond cols and rows is undefined afterwards.
    Ranges: dst_stride <= 65535.
  }];
  let arguments = (ins Npu_Memory:$dst, Index:$dst_offset, Npu_Memory:$a, Index:$a_offset,
                       Index:$rows, Index:$cols, Index:$a_stride, Index:$dst_stride);
  let assemblyFormat = [{
    $dst `[` $dst_offset `]` `,` $a `[` $a_offset `]` `rows` $rows `cols` $cols
    `a_stride` $a_stride `dst_stride` $dst_stride attr-dict `:` type($dst) `,` type($a)
  }];
}

//===------------------------------------------------------------------------------------------===//
// Synchronisation: only in the stage *synced*
//===------------------------------------------------------------------------------------------===//

class Npu_Sync<string mnemonic> : Npu_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Npu_SetFlagOp : Npu_Sync<"set_flag"> {
  let summary = "raise flag (from, to, id) when the earlier work of pipe `from` is done";
  let description = [{ Raising a raised flag is an error of the program. Ids are 0 to 5. }];
  let arguments = (ins Npu_PipeAttr:$from, Npu_PipeAttr:$to, Index:$id);
  let assemblyFormat = "$from `->` $to `,` $id attr-dict";
  let hasVerifier = 1;
}

def Npu_WaitFlagOp : Npu_Sync<"wait_flag"> {
  let summary = "pipe `to` waits for flag (from, to, id) and lowers it";
  let arguments = (ins Npu_PipeAttr:$from, Npu_PipeAttr:$to, Index:$id);
  let assemblyFormat = "$from `->` $to `,` $id attr-dict";
  let hasVerifier = 1;
}

def Npu_CrossSetOp : Npu_Sync<"cross_set"> {
  let summary = "set flag `id` of other cores when the earlier work of `pipe` is done";
  let description = [{
    Modes (CrossCoreSetFlag): 0: when every core of this kind has set it, every one gets it; 1: the
    two vector cores of a group get it when both have set it; 2: set by a cube core, its two vector
    cores get it; set by both of these, their cube core gets it. A group is cube core g with vector
    cores 2g and 2g + 1 of functions of one `npu.group`. A flag counts: at most 15 sets that nobody
    has waited for. Ids are 0 to 10; what a set and a wait mean by an id is up to the program.
  }];
  let arguments = (ins I64Attr:$mode, Npu_PipeAttr:$pipe, Index:$id);
  let assemblyFormat = "$pipe `mode` $mode `,` $id attr-dict";
  let hasVerifier = 1;
}

def Npu_CrossWaitOp : Npu_Sync<"cross_wait"> {
  let summary = "`pipe` waits for flag `id` from other cores and takes one from its count";
  let arguments = (ins Npu_PipeAttr:$pipe, Index:$id);
  let assemblyFormat = "$pipe `,` $id attr-dict";
  let hasVerifier = 1;
}

def Npu_PipeBarrierOp : Npu_Sync<"pipe_barrier"> {
  let summary = "later work of the pipe waits for its earlier work; ALL: all pipes and S";
  let arguments = (ins Npu_PipeAttr:$pipe);
  let assemblyFormat = "$pipe attr-dict";
}

def Npu_ScalarWorkOp : Npu_Sync<"scalar_work"> {
  let summary = "keeps the scalar unit busy for some cycles";
  let description = [{
    Stands for scalar code that a hand-written program does not spell out, such as the address
    arithmetic of a library's templates. For the simulator only.
  }];
  let arguments = (ins Index:$cycles);
  let assemblyFormat = "$cycles attr-dict";
}

def Npu_DcacheFlushOp : Npu_Sync<"dcache_flush"> {
  let summary = "write back and invalidate the scalar unit's data cache";
  let assemblyFormat = "attr-dict";
}

#endif // PYASC_COMPILER_TARGET_ASCEND_NPU_OPS
