// C = A B^T of 8192 x 8192 half, base tile `m` x `n` x 64. A and B have one buffer each in L1, so a
// step's loads wait for the last step's; unit flag between M and FIX. Core c takes `coreM` rows
// from (c mod rowCores) * coreM, and at most `coreN` columns from (c div rowCores) * coreN, of which
// `nTiles` tiles at most are computed. `scalar`: cycles of scalar code a step.
!gm = memref<67108864xf16, #npu.space<gm>>
!l1a = memref<8192xf16, #npu.space<l1>>
!l1b = memref<16384xf16, #npu.space<l1>>
!l0a = memref<16384xf16, #npu.space<l0a>>
!l0b = memref<16384xf16, #npu.space<l0b>>
!l0c = memref<32768xf32, #npu.space<l0c>>

module {
  func.func @matmul(%a: !gm {npu.name = "a"}, %b: !gm {npu.name = "b"}, %c: !gm {npu.name = "c"},
                    %cores: index {npu.name = "cores"}, %rowCores: index {npu.name = "rowCores"},
                    %coreM: index {npu.name = "coreM"}, %coreN: index {npu.name = "coreN"},
                    %m: index {npu.name = "m"}, %n: index {npu.name = "n"},
                    %nTiles: index {npu.name = "nTiles"}, %scalar: index {npu.name = "scalar"})
      attributes {npu.core = "aic", npu.blocks = "cores"} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %k = arith.constant 64 : index
    %steps = arith.constant 128 : index
    %last = arith.constant 127 : index
    %size = arith.constant 8192 : index
    %al = npu.buffer addr 0 : !l1a
    %bl = npu.buffer addr 16384 : !l1b
    %a0 = npu.buffer depth 2 addr 0 : !l0a
    %b0 = npu.buffer depth 2 addr 0 : !l0b
    %acc = npu.buffer addr 0 : !l0c
    %core = npu.block_idx
    %mCore = arith.remui %core, %rowCores : index
    %nCore = arith.divui %core, %rowCores : index
    %mFirst = arith.muli %mCore, %coreM : index
    %mEnd = arith.addi %mFirst, %coreM : index
    %nFirst = arith.muli %nCore, %coreN : index
    %nMine = arith.addi %nFirst, %coreN : index
    %nWanted = arith.muli %nTiles, %n : index
    %nStop = arith.addi %nFirst, %nWanted : index
    %nEnd0 = arith.minui %nMine, %size : index
    %nEnd = arith.minui %nEnd0, %nStop : index

    npu.set_flag MTE1 -> MTE2, %0
    npu.set_flag MTE1 -> MTE2, %1
    npu.set_flag M -> MTE1, %0
    npu.set_flag M -> MTE1, %1
    scf.for %nn = %nFirst to %nEnd step %n {
      %bRow = arith.muli %nn, %size : index
      scf.for %mm = %mFirst to %mEnd step %m {
        %aRow = arith.muli %mm, %size : index
        scf.for %s = %0 to %steps step %1 {
          %kk = arith.muli %s, %k : index
          %aAt = arith.addi %aRow, %kk : index
          %bAt = arith.addi %bRow, %kk : index
          %l0 = arith.remui %s, %2 : index
          %a0s = npu.slot %a0[%s] : !l0a
          %b0s = npu.slot %b0[%s] : !l0b
          %first = arith.cmpi eq, %s, %0 : index
          %closes = arith.cmpi eq, %s, %last : index
          npu.scalar_work %scalar
          npu.wait_flag MTE1 -> MTE2, %0
          npu.load_nd2nz %al[%0], %a[%aAt] rows %m cols %k src_stride %size dst_rows %m : !l1a, !gm
          npu.set_flag MTE2 -> MTE1, %0
          npu.wait_flag MTE2 -> MTE1, %0
          npu.wait_flag MTE1 -> MTE2, %1
          npu.load_nd2nz %bl[%0], %b[%bAt] rows %n cols %k src_stride %size dst_rows %n : !l1b, !gm
          npu.set_flag MTE2 -> MTE1, %1
          npu.wait_flag MTE2 -> MTE1, %1
          npu.wait_flag M -> MTE1, %l0
          npu.load_l0 %a0s[%0], %al[%0] extent %m k %k src_rows %m : !l0a, !l1a
          npu.load_l0 %b0s[%0], %bl[%0] extent %n k %k src_rows %n : !l0b, !l1b
          npu.set_flag MTE1 -> M, %l0
          npu.wait_flag MTE1 -> M, %l0
          npu.mmad %acc[%0], %a0s[%0], %b0s[%0] m %m n %n k %k init %first unit_flag %closes
            : !l0c, !l0a, !l0b
          npu.set_flag M -> MTE1, %l0
          npu.set_flag MTE1 -> MTE2, %0
          npu.set_flag MTE1 -> MTE2, %1
        }
        %cRow = arith.muli %mm, %size : index
        %cAt = arith.addi %cRow, %nn : index
        npu.fixpipe %c[%cAt], %acc[%0] m %m n %n dst_stride %size src_rows %m unit_flag : !gm, !l0c
      }
    }
    npu.wait_flag MTE1 -> MTE2, %0
    npu.wait_flag MTE1 -> MTE2, %1
    npu.wait_flag M -> MTE1, %0
    npu.wait_flag M -> MTE1, %1
    return
  }
}
