// C = A B^T of 64 x 64 half, k in two steps of 32, flags between all four pipes; two cores, one half
// of the rows each.
!gmh = memref<4096xf16, #npu.space<gm>>
!gmf = memref<4096xf32, #npu.space<gm>>
!l1a = memref<1024xf16, #npu.space<l1>>
!l1b = memref<2048xf16, #npu.space<l1>>
!l0a = memref<1024xf16, #npu.space<l0a>>
!l0b = memref<2048xf16, #npu.space<l0b>>
!l0c = memref<2048xf32, #npu.space<l0c>>

module {
  func.func @matmul(%a: !gmh {npu.name = "a"}, %b: !gmh {npu.name = "b"},
                    %c: !gmf {npu.name = "c", npu.output})
      attributes {npu.core = "aic", npu.blocks = 2 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %m = arith.constant 32 : index
    %n = arith.constant 64 : index
    %k = arith.constant 32 : index
    %size = arith.constant 64 : index
    %al = npu.buffer addr 0 : !l1a
    %bl = npu.buffer addr 2048 : !l1b
    %a0 = npu.buffer addr 0 : !l0a
    %b0 = npu.buffer addr 0 : !l0b
    %acc = npu.buffer addr 0 : !l0c
    %core = npu.block_idx
    %row = arith.muli %core, %m : index
    %rowAt = arith.muli %row, %size : index
    npu.set_flag MTE1 -> MTE2, %0
    npu.set_flag M -> MTE1, %0
    npu.set_flag FIX -> M, %0
    npu.wait_flag FIX -> M, %0
    scf.for %s = %0 to %2 step %1 {
      %kk = arith.muli %s, %k : index
      %aAt = arith.addi %rowAt, %kk : index
      %first = arith.cmpi eq, %s, %0 : index
      npu.wait_flag MTE1 -> MTE2, %0
      npu.load_nd2nz %al[%0], %a[%aAt] rows %m cols %k src_stride %size dst_rows %m : !l1a, !gmh
      npu.load_nd2nz %bl[%0], %b[%kk] rows %n cols %k src_stride %size dst_rows %n : !l1b, !gmh
      npu.set_flag MTE2 -> MTE1, %0
      npu.wait_flag MTE2 -> MTE1, %0
      npu.wait_flag M -> MTE1, %0
      npu.load_l0 %a0[%0], %al[%0] extent %m k %k src_rows %m : !l0a, !l1a
      npu.load_l0 %b0[%0], %bl[%0] extent %n k %k src_rows %n : !l0b, !l1b
      npu.set_flag MTE1 -> MTE2, %0
      npu.set_flag MTE1 -> M, %0
      npu.wait_flag MTE1 -> M, %0
      npu.mmad %acc[%0], %a0[%0], %b0[%0] m %m n %n k %k init %first : !l0c, !l0a, !l0b
      npu.set_flag M -> MTE1, %0
    }
    npu.set_flag M -> FIX, %0
    npu.wait_flag M -> FIX, %0
    npu.fixpipe %c[%rowAt], %acc[%0] m %m n %n dst_stride %size src_rows %m : !gmf, !l0c
    npu.wait_flag MTE1 -> MTE2, %0
    npu.wait_flag M -> MTE1, %0
    return
  }
}
