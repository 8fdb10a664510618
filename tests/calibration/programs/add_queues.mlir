// y = x + bias in half through queues of `depth` buffers a tensor, each with its own event; a tile's
// addition is issued `adds` times. Equal contiguous parts a core. `scalar`: cycles of scalar code
// at the start.
!gm = memref<83886080xf16, #npu.space<gm>>
!ub = memref<94080xf16, #npu.space<ub>>

module {
  func.func @add(%x: !gm {npu.name = "x"}, %bias: !gm {npu.name = "bias"}, %y: !gm {npu.name = "y"},
                 %cores: index {npu.name = "cores"}, %tile: index {npu.name = "tile"},
                 %tiles: index {npu.name = "tiles"}, %part: index {npu.name = "part"},
                 %depth: index {npu.name = "depth"}, %adds: index {npu.name = "adds"},
                 %scalar: index {npu.name = "scalar"})
      attributes {npu.core = "aiv", npu.blocks = "cores"} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %ub = npu.buffer addr 0 : !ub
    %core = npu.block_idx
    %from = arith.muli %core, %part : index
    // x's buffers, then bias's, then y's.
    %biasBase = arith.muli %depth, %tile : index
    %yBase = arith.addi %biasBase, %biasBase : index
    npu.scalar_work %scalar

    scf.for %e = %0 to %depth step %1 {
      %b = arith.addi %depth, %e : index
      npu.set_flag V -> MTE2, %e
      npu.set_flag V -> MTE2, %b
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %i = %0 to %tiles step %1 {
      %e = arith.remui %i, %depth : index
      %b = arith.addi %depth, %e : index
      %done = arith.muli %i, %tile : index
      %at = arith.addi %from, %done : index
      %xu = arith.muli %e, %tile : index
      %bu = arith.addi %xu, %biasBase : index
      %yu = arith.addi %xu, %yBase : index
      npu.wait_flag V -> MTE2, %e
      npu.load %ub[%xu], %x[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.set_flag MTE2 -> V, %e
      npu.wait_flag V -> MTE2, %b
      npu.load %ub[%bu], %bias[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.set_flag MTE2 -> V, %b
      npu.wait_flag MTE2 -> V, %e
      npu.wait_flag MTE2 -> V, %b
      npu.wait_flag MTE3 -> V, %e
      scf.for %n = %0 to %adds step %1 {
        npu.vbinary add %ub[%yu], %ub[%xu], %ub[%bu] count %tile : !ub, !ub, !ub
      }
      npu.set_flag V -> MTE3, %e
      npu.set_flag V -> MTE2, %e
      npu.set_flag V -> MTE2, %b
      npu.wait_flag V -> MTE3, %e
      npu.store %y[%at], %ub[%yu] count %1 len %tile dst_stride %tile src_stride %tile : !gm, !ub
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %e = %0 to %depth step %1 {
      %b = arith.addi %depth, %e : index
      npu.wait_flag V -> MTE2, %e
      npu.wait_flag V -> MTE2, %b
      npu.wait_flag MTE3 -> V, %e
    }
    npu.pipe_barrier ALL
    return
  }
}
