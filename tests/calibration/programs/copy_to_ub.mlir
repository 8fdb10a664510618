// Reads a matrix of 12288 x 12288 half into UB, 256 rows a core, in tiles of `rows` x `cols`: one
// strided copy a tile, each over the one before.
!gm = memref<150994944xf16, #npu.space<gm>>
!ub = memref<65536xf16, #npu.space<ub>>

module {
  func.func @copy(%x: !gm {npu.name = "x"}, %rows: index {npu.name = "rows"},
                  %cols: index {npu.name = "cols"})
      attributes {npu.core = "aiv", npu.blocks = 48 : i64} {
    %0 = arith.constant 0 : index
    %width = arith.constant 12288 : index
    %mine = arith.constant 256 : index
    %ub = npu.buffer addr 0 : !ub
    %core = npu.block_idx
    %first = arith.muli %core, %mine : index
    scf.for %r = %0 to %mine step %rows {
      %row = arith.addi %first, %r : index
      %rowAt = arith.muli %row, %width : index
      scf.for %c = %0 to %width step %cols {
        %at = arith.addi %rowAt, %c : index
        npu.load %ub[%0], %x[%at] count %rows len %cols src_stride %width dst_stride %cols : !ub, !gm
      }
    }
    npu.pipe_barrier ALL
    return
  }
}
