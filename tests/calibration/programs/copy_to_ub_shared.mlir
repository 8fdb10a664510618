// Every core reads all of a matrix of 6144 x 512 half into UB, past L2, in tiles of 128 x 64. Core c
// starts at block c of 128 rows, so that at any time the cores are at different places.
!gm = memref<3145728xf16, #npu.space<gm>>
!ub = memref<8192xf16, #npu.space<ub>>

module {
  func.func @copy(%x: !gm {npu.name = "x"}) attributes {npu.core = "aiv", npu.blocks = 48 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %width = arith.constant 512 : index
    %rows = arith.constant 128 : index
    %cols = arith.constant 64 : index
    %blocks = arith.constant 48 : index
    %ub = npu.buffer addr 0 : !ub
    %core = npu.block_idx
    scf.for %b = %0 to %blocks step %1 {
      %turned = arith.addi %b, %core : index
      %block = arith.remui %turned, %blocks : index
      %row = arith.muli %block, %rows : index
      %rowAt = arith.muli %row, %width : index
      scf.for %c = %0 to %width step %cols {
        %at = arith.addi %rowAt, %c : index
        npu.load %ub[%0], %x[%at] count %rows len %cols src_stride %width dst_stride %cols bypass_l2
          : !ub, !gm
      }
    }
    npu.pipe_barrier ALL
    return
  }
}
