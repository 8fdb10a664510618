// Turns a matrix of 8192 x 8192 half from ND to NZ in UB: tiles of 144 rows (the last 128) and 128
// columns, one strided vector copy a tile, whose 8 blocks land 144 blocks apart: in one bank group.
// 6 groups of row tiles by 8 groups of column tiles, one a core; two buffers each way.
!gm = memref<67108864xf16, #npu.space<gm>>
!ub = memref<18432xf16, #npu.space<ub>>

module {
  func.func @nd_to_nz(%x: !gm {npu.name = "x"}, %z: !gm {npu.name = "z"})
      attributes {npu.core = "aiv", npu.blocks = 48 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %8 = arith.constant 8 : index
    %9 = arith.constant 9 : index
    %16 = arith.constant 16 : index
    %tileRows = arith.constant 144 : index
    %tileCols = arith.constant 128 : index
    %n = arith.constant 8192 : index
    %column = arith.constant 131072 : index
    %tileColumn = arith.constant 2304 : index
    %nd = npu.buffer depth 2 addr 0 : !ub
    %nz = npu.buffer depth 2 addr 73728 : !ub
    // Row groups 0 to 2 have ten row tiles, the others nine.
    %core = npu.block_idx
    %rowGroup = arith.divui %core, %8 : index
    %colGroup = arith.remui %core, %8 : index
    %tens = arith.minui %rowGroup, %3 : index
    %nines = arith.muli %rowGroup, %9 : index
    %firstRow = arith.addi %nines, %tens : index
    %isTen = arith.cmpi ult, %rowGroup, %3 : index
    %more = arith.select %isTen, %1, %0 : index
    %rowTiles = arith.addi %9, %more : index
    %tiles = arith.muli %rowTiles, %8 : index
    %firstCol = arith.muli %colGroup, %8 : index

    scf.for %e = %0 to %2 step %1 {
      npu.set_flag V -> MTE2, %e
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %i = %0 to %tiles step %1 {
      %e = arith.remui %i, %2 : index
      %ri = arith.divui %i, %8 : index
      %ci = arith.remui %i, %8 : index
      %rowTile = arith.addi %firstRow, %ri : index
      %colTile = arith.addi %firstCol, %ci : index
      %row = arith.muli %rowTile, %tileRows : index
      %left = arith.subi %n, %row : index
      %rows = arith.minui %left, %tileRows : index
      %rowAt = arith.muli %row, %n : index
      %col = arith.muli %colTile, %tileCols : index
      %from = arith.addi %rowAt, %col : index
      %colBlock = arith.muli %colTile, %8 : index
      %colAt = arith.muli %colBlock, %column : index
      %line = arith.muli %row, %16 : index
      %to = arith.addi %colAt, %line : index
      %len = arith.muli %rows, %16 : index
      %ndE = npu.slot %nd[%i] : !ub
      %nzE = npu.slot %nz[%i] : !ub
      npu.wait_flag V -> MTE2, %e
      npu.load %ndE[%0], %x[%from] count %rows len %tileCols src_stride %n dst_stride %tileCols
        : !ub, !gm
      npu.set_flag MTE2 -> V, %e
      npu.wait_flag MTE2 -> V, %e
      npu.wait_flag MTE3 -> V, %e
      npu.vcopy %nzE[%0], %ndE[%0] count %tileCols repeats %rows
        dst_block %tileRows dst_repeat %1 a_block %1 a_repeat %8 : !ub, !ub
      npu.set_flag V -> MTE2, %e
      npu.set_flag V -> MTE3, %e
      npu.wait_flag V -> MTE3, %e
      npu.store %z[%to], %nzE[%0] count %8 len %len dst_stride %column src_stride %tileColumn
        : !gm, !ub
      npu.set_flag MTE3 -> V, %e
    }
    scf.for %e = %0 to %2 step %1 {
      npu.wait_flag V -> MTE2, %e
      npu.wait_flag MTE3 -> V, %e
    }
    npu.pipe_barrier ALL
    return
  }
}
