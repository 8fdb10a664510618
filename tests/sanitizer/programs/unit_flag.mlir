// Three results of 16 x 16 in one place of L0C, kept apart by the unit flag.
!gmh = memref<768xf16, #npu.space<gm>>
!gmf = memref<768xf32, #npu.space<gm>>
!l1 = memref<256xf16, #npu.space<l1>>
!l0a = memref<256xf16, #npu.space<l0a>>
!l0b = memref<256xf16, #npu.space<l0b>>
!l0c = memref<256xf32, #npu.space<l0c>>

module {
  func.func @unit_flag(%a: !gmh {npu.name = "a"}, %b: !gmh {npu.name = "b"}, %c: !gmf {npu.name = "c"})
      attributes {npu.core = "aic", npu.blocks = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %3 = arith.constant 3 : index
    %16 = arith.constant 16 : index
    %size = arith.constant 256 : index
    %true = arith.constant true
    %al = npu.buffer addr 0 : !l1
    %bl = npu.buffer addr 512 : !l1
    %a0 = npu.buffer addr 0 : !l0a
    %b0 = npu.buffer addr 0 : !l0b
    %acc = npu.buffer addr 0 : !l0c
    npu.set_flag MTE1 -> MTE2, %0
    npu.set_flag M -> MTE1, %0
    scf.for %i = %0 to %3 step %1 {
      %at = arith.muli %i, %size : index
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
      npu.mmad %acc[%0], %a0[%0], %b0[%0] m %16 n %16 k %16 init %true unit_flag %true : !l0c, !l0a, !l0b
      npu.set_flag M -> MTE1, %0
      npu.fixpipe %c[%at], %acc[%0] m %16 n %16 dst_stride %16 src_rows %16 unit_flag : !gmf, !l0c
    }
    npu.wait_flag MTE1 -> MTE2, %0
    npu.wait_flag M -> MTE1, %0
    return
  }
}
