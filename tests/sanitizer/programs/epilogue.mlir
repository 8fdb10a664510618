// y = 2 * (A B^T) for four pairs of 16 x 16 a cube core: the cube core leaves each product in one of
// two slots of a workspace, its two vector cores take half the rows each. Flag 0: a slot is full,
// flag 1: it is free again.
!gmh = memref<2048xf16, #npu.space<gm>>
!gmf = memref<2048xf32, #npu.space<gm>>
!ws = memref<1024xf32, #npu.space<gm>>
!l1 = memref<256xf16, #npu.space<l1>>
!l0a = memref<256xf16, #npu.space<l0a>>
!l0b = memref<256xf16, #npu.space<l0b>>
!l0c = memref<256xf32, #npu.space<l0c>>
!ub = memref<128xf32, #npu.space<ub>>

module attributes {npu.workspaces = [4096]} {
  func.func @products(%a: !gmh {npu.name = "a", npu.binding = "parameter:0"},
                      %b: !gmh {npu.name = "b", npu.binding = "parameter:1"},
                      %w: !ws {npu.binding = "workspace:0"})
      attributes {npu.core = "aic", npu.blocks = 2 : i64, npu.group = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %4 = arith.constant 4 : index
    %16 = arith.constant 16 : index
    %size = arith.constant 256 : index
    %true = arith.constant true
    %al = npu.buffer addr 0 : !l1
    %bl = npu.buffer addr 512 : !l1
    %a0 = npu.buffer addr 0 : !l0a
    %b0 = npu.buffer addr 0 : !l0b
    %acc = npu.buffer addr 0 : !l0c
    %core = npu.block_idx
    %firstPair = arith.muli %core, %4 : index
    %slots = arith.muli %core, %2 : index
    npu.set_flag MTE1 -> MTE2, %0
    npu.set_flag M -> MTE1, %0
    npu.set_flag FIX -> M, %0
    scf.for %i = %0 to %4 step %1 {
      %pair = arith.addi %firstPair, %i : index
      %at = arith.muli %pair, %size : index
      %half = arith.remui %i, %2 : index
      %slot = arith.addi %slots, %half : index
      %to = arith.muli %slot, %size : index
      npu.wait_flag MTE1 -> MTE2, %0
      npu.load_nd2nz %al[%0], %a[%at] rows %16 cols %16 src_stride %16 dst_rows %16 : !l1, !gmh
      npu.load_nd2nz %bl[%0], %b[%at] rows %16 cols %16 src_stride %16 dst_rows %16 : !l1, !gmh
      npu.set_flag MTE2 -> MTE1, %0
      npu.wait_flag MTE2 -> MTE1, %0
      npu.wait_flag M -> MTE1, %0
      npu.load_l0 %a0[%0], %al[%0] extent %16 k %16 src_rows %16 : !l0a, !l1
      npu.load_l0 %b0[%0], %bl[%0] extent %16 k %16 src_rows %16 : !l0b, !l1
      npu.set_flag MTE1 -> MTE2, %0
      npu.set_flag MTE1 -> M, %0
      npu.wait_flag MTE1 -> M, %0
      npu.wait_flag FIX -> M, %0
      npu.mmad %acc[%0], %a0[%0], %b0[%0] m %16 n %16 k %16 init %true : !l0c, !l0a, !l0b
      npu.set_flag M -> MTE1, %0
      npu.set_flag M -> FIX, %0
      npu.wait_flag M -> FIX, %0
      %again = arith.cmpi uge, %i, %2 : index
      scf.if %again {
        npu.cross_wait FIX, %1
      }
      npu.fixpipe %w[%to], %acc[%0] m %16 n %16 dst_stride %16 src_rows %16 : !ws, !l0c
      npu.set_flag FIX -> M, %0
      npu.cross_set FIX mode 2, %0
    }
    npu.wait_flag MTE1 -> MTE2, %0
    npu.wait_flag M -> MTE1, %0
    npu.wait_flag FIX -> M, %0
    return
  }

  func.func @epilogue(%w: !ws {npu.binding = "workspace:0"},
                      %y: !gmf {npu.name = "y", npu.binding = "parameter:2", npu.output})
      attributes {npu.core = "aiv", npu.blocks = 4 : i64, npu.group = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %4 = arith.constant 4 : index
    %rows = arith.constant 128 : index
    %size = arith.constant 256 : index
    %xu = npu.buffer addr 0 : !ub
    %yu = npu.buffer addr 512 : !ub
    %me = npu.block_idx
    %core = arith.divui %me, %2 : index
    %part = arith.remui %me, %2 : index
    %offset = arith.muli %part, %rows : index
    %firstPair = arith.muli %core, %4 : index
    %slots = arith.muli %core, %2 : index
    npu.set_flag V -> MTE2, %0
    npu.set_flag MTE3 -> V, %0
    scf.for %i = %0 to %4 step %1 {
      %pair = arith.addi %firstPair, %i : index
      %block = arith.muli %pair, %size : index
      %at = arith.addi %block, %offset : index
      %half = arith.remui %i, %2 : index
      %slot = arith.addi %slots, %half : index
      %full = arith.muli %slot, %size : index
      %from = arith.addi %full, %offset : index
      npu.wait_flag V -> MTE2, %0
      npu.cross_wait MTE2, %0
      npu.load %xu[%0], %w[%from] count %1 len %rows src_stride %rows dst_stride %rows : !ub, !ws
      %free = arith.cmpi ult, %i, %2 : index
      scf.if %free {
        npu.cross_set MTE2 mode 2, %1
      }
      npu.set_flag MTE2 -> V, %0
      npu.wait_flag MTE2 -> V, %0
      npu.wait_flag MTE3 -> V, %0
      npu.vbinary add %yu[%0], %xu[%0], %xu[%0] count %rows : !ub, !ub, !ub
      npu.set_flag V -> MTE2, %0
      npu.set_flag V -> MTE3, %0
      npu.wait_flag V -> MTE3, %0
      npu.store %y[%at], %yu[%0] count %1 len %rows dst_stride %rows src_stride %rows : !gmf, !ub
      npu.set_flag MTE3 -> V, %0
    }
    npu.wait_flag V -> MTE2, %0
    npu.wait_flag MTE3 -> V, %0
    return
  }
}
