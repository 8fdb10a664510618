// z = x + y in half, one element after the other on the scalar unit. 8192-byte tiles, one buffer a
// tensor; copies in and out of a tile wait for each other.
!gm = memref<67108864xf16, #npu.space<gm>>
!ub = memref<4096xf16, #npu.space<ub>>

module {
  func.func @add(%x: !gm {npu.name = "x"}, %y: !gm {npu.name = "y"}, %z: !gm {npu.name = "z"},
                 %tiles: index {npu.name = "tiles"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %tile = arith.constant 4096 : index
    %xu = npu.buffer addr 0 : !ub
    %yu = npu.buffer addr 32768 : !ub
    %zu = npu.buffer addr 65536 : !ub
    npu.set_flag MTE3 -> S, %0
    scf.for %i = %0 to %tiles step %1 {
      %at = arith.muli %i, %tile : index
      npu.load %xu[%0], %x[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.load %yu[%0], %y[%at] count %1 len %tile src_stride %tile dst_stride %tile : !ub, !gm
      npu.set_flag MTE2 -> S, %0
      npu.wait_flag MTE2 -> S, %0
      npu.wait_flag MTE3 -> S, %0
      scf.for %e = %0 to %tile step %1 {
        %a = memref.load %xu[%e] : !ub
        %b = memref.load %yu[%e] : !ub
        %aw = arith.extf %a : f16 to f32
        %bw = arith.extf %b : f16 to f32
        %sum = arith.addf %aw, %bw : f32
        %c = arith.truncf %sum : f32 to f16
        memref.store %c, %zu[%e] : !ub
      }
      npu.set_flag S -> MTE2, %0
      npu.set_flag S -> MTE3, %0
      npu.wait_flag S -> MTE2, %0
      npu.wait_flag S -> MTE3, %0
      npu.store %z[%at], %zu[%0] count %1 len %tile dst_stride %tile src_stride %tile : !gm, !ub
      npu.set_flag MTE3 -> S, %0
    }
    npu.wait_flag MTE3 -> S, %0
    return
  }
}
