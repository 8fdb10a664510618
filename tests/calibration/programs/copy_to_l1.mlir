// Reads a matrix of 12288 x 12288 half into L1, ND to NZ, 512 rows a core, in tiles of 64 x `cols`.
!gm = memref<150994944xf16, #npu.space<gm>>
!l1 = memref<16384xf16, #npu.space<l1>>

module {
  func.func @copy(%x: !gm {npu.name = "x"}, %cols: index {npu.name = "cols"})
      attributes {npu.core = "aic", npu.blocks = 24 : i64} {
    %0 = arith.constant 0 : index
    %rows = arith.constant 64 : index
    %width = arith.constant 12288 : index
    %mine = arith.constant 512 : index
    %l1 = npu.buffer addr 0 : !l1
    %core = npu.block_idx
    %first = arith.muli %core, %mine : index
    scf.for %r = %0 to %mine step %rows {
      %row = arith.addi %first, %r : index
      %rowAt = arith.muli %row, %width : index
      scf.for %c = %0 to %width step %cols {
        %at = arith.addi %rowAt, %c : index
        npu.load_nd2nz %l1[%0], %x[%at] rows %rows cols %cols src_stride %width dst_rows %rows
          : !l1, !gm
      }
    }
    npu.pipe_barrier ALL
    return
  }
}
