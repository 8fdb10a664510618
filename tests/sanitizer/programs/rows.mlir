// Of 8 rows of 100 numbers, those above a bound, by row: sums, compares, selects, casts and copies.
!gm = memref<800xf32, #npu.space<gm>>
!out = memref<8xf32, #npu.space<gm>>
!half = memref<832xf16, #npu.space<gm>>
!ub = memref<832xf32, #npu.space<ub>>
!ubh = memref<832xf16, #npu.space<ub>>
!mask = memref<128xi8, #npu.space<ub>>
!few = memref<64xf32, #npu.space<ub>>

module {
  func.func @rows(%x: !gm {npu.name = "x"}, %y: !out {npu.name = "y"}, %h: !half {npu.name = "h"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %8 = arith.constant 8 : index
    %13 = arith.constant 13 : index
    %100 = arith.constant 100 : index
    %104 = arith.constant 104 : index
    %64 = arith.constant 64 : index
    %832 = arith.constant 832 : index
    %zero = arith.constant 0.0 : f32
    %bound = arith.constant 0.5 : f32
    %a = npu.buffer addr 0 : !ub
    %b = npu.buffer addr 3328 : !ub
    %zeros = npu.buffer addr 6656 : !ub
    %tmp = npu.buffer addr 9984 : !ub
    %mask = npu.buffer addr 13312 : !mask
    %sums = npu.buffer addr 13440 : !few
    %narrow = npu.buffer addr 13696 : !ubh
    %part = npu.buffer addr 15360 : !few
    npu.load %a[%0], %x[%0] count %8 len %100 src_stride %100 dst_stride %104 : !ub, !gm
    npu.vdup %zeros[%0], %zero count %832 : !ub, f32
    npu.set_flag MTE2 -> V, %0
    npu.wait_flag MTE2 -> V, %0
    npu.vcompares gt %mask[%0], %a[%0], %bound count %832 : !mask, !ub, f32
    npu.pipe_barrier V
    npu.vselect %b[%0], %mask[%0], %a[%0], %zeros[%0] count %832 : !ub, !mask, !ub, !ub
    npu.pipe_barrier V
    npu.vrow_reduce sum %sums[%0], %b[%0] tmp %tmp[%0] rows %8 cols %100 row_stride %104 : !few, !ub, !ub
    npu.vcast %narrow[%0], %b[%0] count %832 round rint : !ubh, !ub
    npu.vcopy %part[%0], %a[%0] count %8 repeats %8 dst_block %1 dst_repeat %1 a_block %1 a_repeat %13 : !few, !ub
    npu.set_flag V -> MTE3, %0
    npu.wait_flag V -> MTE3, %0
    npu.store %y[%0], %sums[%0] count %1 len %8 dst_stride %8 src_stride %8 : !out, !few
    npu.store %h[%0], %narrow[%0] count %1 len %100 dst_stride %100 src_stride %104 : !half, !ubh
    return
  }
}
