// Every vector core hands what it has to the next one, twice: all cores meet (mode 0), and the two
// of a group (mode 1).
!gm = memref<256xf32, #npu.space<gm>>
!ub = memref<64xf32, #npu.space<ub>>

module attributes {npu.workspaces = [1024, 1024]} {
  func.func @turn(%x: !gm {npu.name = "x", npu.binding = "parameter:0"},
                  %y: !gm {npu.name = "y", npu.binding = "parameter:1", npu.output},
                  %w: !gm {npu.binding = "workspace:0"}, %v: !gm {npu.binding = "workspace:1"})
      attributes {npu.core = "aiv", npu.blocks = 4 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %4 = arith.constant 4 : index
    %n = arith.constant 64 : index
    %a = npu.buffer addr 0 : !ub
    %me = npu.block_idx
    %mine = arith.muli %me, %n : index
    %after = arith.addi %me, %1 : index
    %next = arith.remui %after, %4 : index
    %theirs = arith.muli %next, %n : index
    %other = arith.xori %me, %1 : index
    %others = arith.muli %other, %n : index
    npu.load %a[%0], %x[%mine] count %1 len %n src_stride %n dst_stride %n : !ub, !gm
    npu.set_flag MTE2 -> MTE3, %0
    npu.wait_flag MTE2 -> MTE3, %0
    npu.store %w[%mine], %a[%0] count %1 len %n dst_stride %n src_stride %n : !gm, !ub
    npu.cross_set MTE3 mode 0, %2
    npu.cross_wait MTE2, %2
    npu.load %a[%0], %w[%theirs] count %1 len %n src_stride %n dst_stride %n : !ub, !gm
    npu.set_flag MTE2 -> MTE3, %1
    npu.wait_flag MTE2 -> MTE3, %1
    npu.store %v[%mine], %a[%0] count %1 len %n dst_stride %n src_stride %n : !gm, !ub
    npu.cross_set MTE3 mode 1, %3
    npu.cross_wait MTE2, %3
    npu.load %a[%0], %v[%others] count %1 len %n src_stride %n dst_stride %n : !ub, !gm
    npu.set_flag MTE2 -> MTE3, %2
    npu.wait_flag MTE2 -> MTE3, %2
    npu.store %y[%mine], %a[%0] count %1 len %n dst_stride %n src_stride %n : !gm, !ub
    return
  }
}
