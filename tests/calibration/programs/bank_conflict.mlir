// A thousand additions of 4096 floats, one after the other, from and to places of UB (in elements)
// that do or do not meet in its banks.
!ub = memref<49152xf32, #npu.space<ub>>

module {
  func.func @add(%a: index {npu.name = "src0"}, %b: index {npu.name = "src1"},
                 %dst: index {npu.name = "dst"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %times = arith.constant 1000 : index
    %count = arith.constant 4096 : index
    %ub = npu.buffer addr 0 : !ub
    npu.pipe_barrier ALL
    scf.for %i = %0 to %times step %1 {
      npu.vbinary add %ub[%dst], %ub[%a], %ub[%b] count %count : !ub, !ub, !ub
    }
    npu.pipe_barrier ALL
    return
  }
}
