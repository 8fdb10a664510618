// A core stores rows, reads them back in another order, and adds them to what all cores share.
!gm = memref<4096xf32, #npu.space<gm>>
!sum = memref<256xf32, #npu.space<gm>>
!ub = memref<1024xf32, #npu.space<ub>>

module {
  func.func @exchange(%x: !gm {npu.name = "x"}, %t: !gm {npu.name = "t", npu.output},
                      %sum: !sum {npu.name = "sum"})
      attributes {npu.core = "aiv", npu.blocks = 4 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %4 = arith.constant 4 : index
    %64 = arith.constant 64 : index
    %128 = arith.constant 128 : index
    %256 = arith.constant 256 : index
    %1024 = arith.constant 1024 : index
    %a = npu.buffer addr 0 : !ub
    %b = npu.buffer addr 4096 : !ub
    %core = npu.block_idx
    %at = arith.muli %core, %1024 : index
    npu.load %a[%0], %x[%at] count %4 len %128 src_stride %256 dst_stride %256 : !ub, !gm
    npu.load %a[%128], %x[%at] count %4 len %128 src_stride %256 dst_stride %256 : !ub, !gm
    npu.set_flag MTE2 -> MTE3, %0
    npu.wait_flag MTE2 -> MTE3, %0
    npu.store %t[%at], %a[%0] count %4 len %256 dst_stride %256 src_stride %256 : !gm, !ub
    npu.set_flag MTE3 -> MTE2, %0
    npu.wait_flag MTE3 -> MTE2, %0
    npu.load %b[%0], %t[%at] count %4 len %64 src_stride %256 dst_stride %64 : !ub, !gm
    npu.set_flag MTE2 -> MTE3, %1
    npu.wait_flag MTE2 -> MTE3, %1
    npu.store %sum[%0], %b[%0] count %1 len %256 dst_stride %256 src_stride %256 atomic add : !sum, !ub
    npu.store %t[%at], %b[%0] count %1 len %64 dst_stride %64 src_stride %64 : !gm, !ub
    npu.pipe_barrier MTE3
    npu.store %t[%at], %b[%0] count %1 len %256 dst_stride %256 src_stride %256 : !gm, !ub
    return
  }
}
