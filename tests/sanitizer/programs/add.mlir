// y = x + x, then times a half, in four tiles of 1024 a core, two slots: MTE2, V and MTE3 overlap.
!gm = memref<8192xf16, #npu.space<gm>>
!ub = memref<1024xf16, #npu.space<ub>>

module {
  func.func @add(%x: !gm {npu.name = "x"}, %y: !gm {npu.name = "y", npu.output})
      attributes {npu.core = "aiv", npu.blocks = 2 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %tile = arith.constant 1024 : index
    %tiles = arith.constant 4 : index
    %half = arith.constant 0.5 : f16
    %xu = npu.buffer depth 2 addr 0 : !ub
    %yu = npu.buffer depth 2 addr 4096 : !ub
    %core = npu.block_idx
    %first = arith.muli %core, %tiles : index
    scf.for %e = %0 to %2 step %1 {
      npu.set_flag V -> MTE2, %e
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %i = %0 to %tiles step %1 {
      %e = arith.remui %i, %2 : index
      %n = arith.addi %first, %i : index
      %at = arith.muli %n, %tile : index
      %xs = npu.slot %xu[%i] : !ub
      %ys = npu.slot %yu[%i] : !ub
      npu.wait_flag V -> MTE2, %e
      npu.load %xs[%0], %x[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.set_flag MTE2 -> V, %e
      npu.wait_flag MTE2 -> V, %e
      npu.wait_flag MTE3 -> V, %e
      npu.vbinary add %ys[%0], %xs[%0], %xs[%0] count %tile : !ub, !ub, !ub
      npu.pipe_barrier V
      npu.vscalar muls %ys[%0], %ys[%0], %half count %tile : !ub, !ub, f16
      npu.set_flag V -> MTE2, %e
      npu.set_flag V -> MTE3, %e
      npu.wait_flag V -> MTE3, %e
      npu.store %y[%at], %ys[%0] count %1 len %tile dst_stride %tile src_stride %tile : !gm, !ub
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %e = %0 to %2 step %1 {
      npu.wait_flag V -> MTE2, %e
      npu.wait_flag MTE3 -> V, %e
    }
    return
  }
}
