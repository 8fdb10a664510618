// Every core reads all of a matrix of 6144 x 512 half into L1, past L2, in tiles of 256 x 64, and
// all ask for the same addresses in the same order.
!gm = memref<3145728xf16, #npu.space<gm>>
!l1 = memref<16384xf16, #npu.space<l1>>

module {
  func.func @copy(%x: !gm {npu.name = "x"}) attributes {npu.core = "aic", npu.blocks = 24 : i64} {
    %0 = arith.constant 0 : index
    %width = arith.constant 512 : index
    %height = arith.constant 6144 : index
    %rows = arith.constant 256 : index
    %cols = arith.constant 64 : index
    %l1 = npu.buffer addr 0 : !l1
    scf.for %row = %0 to %height step %rows {
      %rowAt = arith.muli %row, %width : index
      scf.for %c = %0 to %width step %cols {
        %at = arith.addi %rowAt, %c : index
        npu.load_nd2nz %l1[%0], %x[%at] rows %rows cols %cols src_stride %width dst_rows %rows bypass_l2
          : !l1, !gm
      }
    }
    npu.pipe_barrier ALL
    return
  }
}
