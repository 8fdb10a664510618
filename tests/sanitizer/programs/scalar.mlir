// Two cores, 16 numbers each: the scalar unit doubles them in global memory, hands them to the
// pipes, and reads what the vector unit made of them, in UB and in global memory.
!gm = memref<64xf32, #npu.space<gm>>
!ub = memref<16xf32, #npu.space<ub>>

module {
  func.func @scalar(%x: !gm {npu.name = "x"}, %y: !gm {npu.name = "y"}, %z: !gm {npu.name = "z"})
      attributes {npu.core = "aiv", npu.blocks = 2 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %mine = arith.constant 16 : index
    %two = arith.constant 2.0 : f32
    %a = npu.buffer addr 0 : !ub
    %b = npu.buffer addr 64 : !ub
    %core = npu.block_idx
    %at = arith.muli %core, %mine : index
    %end = arith.addi %at, %mine : index
    scf.for %i = %at to %end step %1 {
      %v = memref.load %x[%i] : !gm
      %d = arith.mulf %v, %two : f32
      memref.store %d, %y[%i] : !gm
    }
    npu.dcache_flush
    npu.set_flag S -> MTE2, %0
    npu.wait_flag S -> MTE2, %0
    npu.load %a[%0], %y[%at] count %1 len %mine src_stride %mine dst_stride %mine : !ub, !gm
    npu.set_flag MTE2 -> V, %0
    npu.wait_flag MTE2 -> V, %0
    npu.vbinary add %b[%0], %a[%0], %a[%0] count %mine : !ub, !ub, !ub
    npu.set_flag V -> S, %0
    npu.wait_flag V -> S, %0
    %first = memref.load %b[%0] : !ub
    %more = arith.addf %first, %two : f32
    memref.store %more, %b[%0] : !ub
    npu.set_flag S -> MTE3, %0
    npu.wait_flag S -> MTE3, %0
    npu.store %z[%at], %b[%0] count %1 len %mine dst_stride %mine src_stride %mine : !gm, !ub
    npu.set_flag MTE3 -> S, %0
    npu.wait_flag MTE3 -> S, %0
    npu.dcache_flush
    %back = memref.load %z[%at] : !gm
    memref.store %back, %y[%at] : !gm
    npu.dcache_flush
    return
  }
}
