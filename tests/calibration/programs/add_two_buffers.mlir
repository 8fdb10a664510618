// z = x + y in half, 8192 rows of 8192 elements shared out over the cores, two rows a tile. Two
// buffers a tensor; x and y, which are read once, are not kept in L2.
!gm = memref<67108864xf16, #npu.space<gm>>
!ub = memref<16384xf16, #npu.space<ub>>

module {
  func.func @add(%x: !gm {npu.name = "x"}, %y: !gm {npu.name = "y"}, %z: !gm {npu.name = "z"},
                 %cores: index {npu.name = "cores"})
      attributes {npu.core = "aiv", npu.blocks = "cores"} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %rows = arith.constant 8192 : index
    %cols = arith.constant 8192 : index
    %tile = arith.constant 16384 : index
    %xPing = npu.buffer addr 0 : !ub
    %yPing = npu.buffer addr 32768 : !ub
    %zPing = npu.buffer addr 65536 : !ub
    %xPong = npu.buffer addr 98304 : !ub
    %yPong = npu.buffer addr 131072 : !ub
    %zPong = npu.buffer addr 163840 : !ub
    %core = npu.block_idx
    %each = arith.divui %rows, %cores : index
    %over = arith.remui %rows, %cores : index
    %before = arith.minui %core, %over : index
    %mine0 = arith.muli %core, %each : index
    %first = arith.addi %mine0, %before : index
    %more = arith.cmpi ult, %core, %over : index
    %extra = arith.select %more, %1, %0 : index
    %count = arith.addi %each, %extra : index
    %from = arith.muli %first, %cols : index
    %elements = arith.muli %count, %cols : index
    %tiles = arith.ceildivui %elements, %tile : index

    scf.for %e = %0 to %2 step %1 {
      npu.set_flag V -> MTE2, %e
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %i = %0 to %tiles step %1 {
      %e = arith.remui %i, %2 : index
      %done = arith.muli %i, %tile : index
      %at = arith.addi %from, %done : index
      %left = arith.subi %elements, %done : index
      %len = arith.minui %left, %tile : index
      %ping = arith.cmpi eq, %e, %0 : index
      npu.wait_flag V -> MTE2, %e
      scf.if %ping {
        npu.load %xPing[%0], %x[%at] count %1 len %len src_stride %len dst_stride %tile bypass_l2 : !ub, !gm
        npu.load %yPing[%0], %y[%at] count %1 len %len src_stride %len dst_stride %tile bypass_l2 : !ub, !gm
      } else {
        npu.load %xPong[%0], %x[%at] count %1 len %len src_stride %len dst_stride %tile bypass_l2 : !ub, !gm
        npu.load %yPong[%0], %y[%at] count %1 len %len src_stride %len dst_stride %tile bypass_l2 : !ub, !gm
      }
      npu.set_flag MTE2 -> V, %e
      npu.wait_flag MTE2 -> V, %e
      npu.wait_flag MTE3 -> V, %e
      scf.if %ping {
        npu.vbinary add %zPing[%0], %xPing[%0], %yPing[%0] count %len : !ub, !ub, !ub
      } else {
        npu.vbinary add %zPong[%0], %xPong[%0], %yPong[%0] count %len : !ub, !ub, !ub
      }
      npu.set_flag V -> MTE2, %e
      npu.set_flag V -> MTE3, %e
      npu.wait_flag V -> MTE3, %e
      scf.if %ping {
        npu.store %z[%at], %zPing[%0] count %1 len %len dst_stride %len src_stride %tile : !gm, !ub
      } else {
        npu.store %z[%at], %zPong[%0] count %1 len %len dst_stride %len src_stride %tile : !gm, !ub
      }
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %e = %0 to %2 step %1 {
      npu.wait_flag V -> MTE2, %e
      npu.wait_flag MTE3 -> V, %e
    }
    npu.pipe_barrier ALL
    return
  }
}
