// y = x / 2 in half on 16 cores, two buffers each way: the worked example of docs/npu-dialect.md.
!gm = memref<1048576xf16, #npu.space<gm>>          // aliases keep the lines short
!ub = memref<8192xf16, #npu.space<ub>>

module {                                           // attributes {npu.soc = "ascend910b1"} if you like
  func.func @scale(%x: !gm {npu.name = "x"}, %y: !gm {npu.name = "y"})
      attributes {npu.core = "aiv", npu.blocks = 16 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %tile = arith.constant 8192 : index
    %tiles = arith.constant 8 : index
    %half = arith.constant 0.5 : f16
    %xu = npu.buffer depth 2 addr 0 : !ub          // two slots of 16 KB each, from byte 0 on
    %yu = npu.buffer depth 2 addr 32768 : !ub
    %core = npu.block_idx
    %first = arith.muli %core, %tiles : index
    scf.for %e = %0 to %2 step %1 {                // both slots are free to begin with
      npu.set_flag V -> MTE2, %e
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %i = %0 to %tiles step %1 {
      %e = arith.remui %i, %2 : index
      %n = arith.addi %first, %i : index
      %at = arith.muli %n, %tile : index
      %xs = npu.slot %xu[%i] : !ub
      %ys = npu.slot %yu[%i] : !ub
      npu.wait_flag V -> MTE2, %e                  // MTE2 waits until V has left this slot
      npu.load %xs[%0], %x[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.set_flag MTE2 -> V, %e
      npu.wait_flag MTE2 -> V, %e
      npu.wait_flag MTE3 -> V, %e
      npu.vscalar muls %ys[%0], %xs[%0], %half count %tile : !ub, !ub, f16
      npu.set_flag V -> MTE2, %e
      npu.set_flag V -> MTE3, %e
      npu.wait_flag V -> MTE3, %e
      npu.store %y[%at], %ys[%0] count %1 len %tile dst_stride %tile src_stride %tile : !gm, !ub
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %e = %0 to %2 step %1 {                // every flag that is set is waited for
      npu.wait_flag V -> MTE2, %e
      npu.wait_flag MTE3 -> V, %e
    }
    return
  }
}
