// z = x + y in half, 8192 rows of 8192 elements shared out over the cores. One buffer a tensor: the
// store of a tile may overlap the loads of the next one, the addition waits for both.
!gm = memref<67108864xf16, #npu.space<gm>>
!ub = memref<4096xf16, #npu.space<ub>>

module {
  func.func @add(%x: !gm {npu.name = "x"}, %y: !gm {npu.name = "y"}, %z: !gm {npu.name = "z"},
                 %cores: index {npu.name = "cores"})
      attributes {npu.core = "aiv", npu.blocks = "cores"} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %rows = arith.constant 8192 : index
    %cols = arith.constant 8192 : index
    %tile = arith.constant 4096 : index
    %xu = npu.buffer addr 0 : !ub
    %yu = npu.buffer addr 32768 : !ub
    %zu = npu.buffer addr 65536 : !ub
    // The first cores take a row more than the others.
    %core = npu.block_idx
    %each = arith.divui %rows, %cores : index
    %over = arith.remui %rows, %cores : index
    %before = arith.minui %core, %over : index
    %mine0 = arith.muli %core, %each : index
    %first = arith.addi %mine0, %before : index
    %more = arith.cmpi ult, %core, %over : index
    %extra = arith.select %more, %1, %0 : index
    %count = arith.addi %each, %extra : index
    %end = arith.addi %first, %count : index
    %from = arith.muli %first, %cols : index
    %to = arith.muli %end, %cols : index

    npu.set_flag V -> MTE2, %0
    npu.set_flag MTE3 -> V, %0
    scf.for %at = %from to %to step %tile {
      npu.wait_flag V -> MTE2, %0
      npu.load %xu[%0], %x[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.load %yu[%0], %y[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.set_flag MTE2 -> V, %0
      npu.wait_flag MTE2 -> V, %0
      npu.wait_flag MTE3 -> V, %0
      npu.vbinary add %zu[%0], %xu[%0], %yu[%0] count %tile : !ub, !ub, !ub
      npu.set_flag V -> MTE2, %0
      npu.set_flag V -> MTE3, %0
      npu.wait_flag V -> MTE3, %0
      npu.store %z[%at], %zu[%0] count %1 len %tile dst_stride %tile src_stride %tile : !gm, !ub
      npu.set_flag MTE3 -> V, %0
    }
    npu.wait_flag V -> MTE2, %0
    npu.wait_flag MTE3 -> V, %0
    npu.pipe_barrier ALL
    return
  }
}
