// C = A B^T of 8192 x 8192 half on 4 x 6 cores, base tile 128 x 256 x 64. In L1 two buffers of 8
// steps for A and two of 4 steps for B; the queues' depth lets the loads run ahead. One result in
// L0C, so that a tile starts when the last one has been written. `scalar`: cycles a step.
!gm = memref<67108864xf16, #npu.space<gm>>
!l1 = memref<65536xf16, #npu.space<l1>>
!l0a = memref<16384xf16, #npu.space<l0a>>
!l0b = memref<16384xf16, #npu.space<l0b>>
!l0c = memref<32768xf32, #npu.space<l0c>>

module {
  func.func @matmul(%a: !gm {npu.name = "a"}, %b: !gm {npu.name = "b"}, %c: !gm {npu.name = "c"},
                    %scalar: index {npu.name = "scalar"})
      attributes {npu.core = "aic", npu.blocks = 24 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %4 = arith.constant 4 : index
    %32 = arith.constant 32 : index
    %k = arith.constant 64 : index
    %m = arith.constant 128 : index
    %n = arith.constant 256 : index
    %aChunk = arith.constant 512 : index
    %bChunk = arith.constant 256 : index
    %aStep = arith.constant 8192 : index
    %bStep = arith.constant 16384 : index
    %coreM = arith.constant 2048 : index
    %coreN = arith.constant 1536 : index
    %size = arith.constant 8192 : index
    %al = npu.buffer depth 2 addr 0 : !l1
    %bl = npu.buffer depth 2 addr 262144 : !l1
    %a0 = npu.buffer depth 2 addr 0 : !l0a
    %b0 = npu.buffer depth 2 addr 0 : !l0b
    %acc = npu.buffer addr 0 : !l0c
    %core = npu.block_idx
    %mCore = arith.remui %core, %4 : index
    %nCore = arith.divui %core, %4 : index
    %mFirst = arith.muli %mCore, %coreM : index
    %mEnd = arith.addi %mFirst, %coreM : index
    %nFirst = arith.muli %nCore, %coreN : index
    %nMine = arith.addi %nFirst, %coreN : index
    %nEnd = arith.minui %nMine, %size : index

    // Flags of A's buffers are 0 and 1, of B's 2 and 3.
    scf.for %f = %0 to %4 step %1 {
      npu.set_flag MTE1 -> MTE2, %f
    }
    npu.set_flag M -> MTE1, %0
    npu.set_flag M -> MTE1, %1
    npu.set_flag FIX -> M, %0
    scf.for %nn = %nFirst to %nEnd step %n {
      %bRow = arith.muli %nn, %size : index
      scf.for %mm = %mFirst to %mEnd step %m {
        %aRow = arith.muli %mm, %size : index
        npu.wait_flag FIX -> M, %0
        scf.for %o = %0 to %32 step %1 {
          %odd = arith.remui %o, %2 : index
          %even = arith.cmpi eq, %odd, %0 : index
          %half = arith.divui %o, %2 : index
          %aBuf = arith.remui %half, %2 : index
          %bBuf = arith.addi %2, %odd : index
          %aSlot = npu.slot %al[%half] : !l1
          %bSlot = npu.slot %bl[%o] : !l1
          scf.if %even {
            %kk = arith.muli %half, %aChunk : index
            %at = arith.addi %aRow, %kk : index
            npu.wait_flag MTE1 -> MTE2, %aBuf
            npu.load_nd2nz %aSlot[%0], %a[%at] rows %m cols %aChunk src_stride %size dst_rows %m
              : !l1, !gm
            npu.set_flag MTE2 -> MTE1, %aBuf
            npu.wait_flag MTE2 -> MTE1, %aBuf
          }
          %kb = arith.muli %o, %bChunk : index
          %bAt = arith.addi %bRow, %kb : index
          npu.wait_flag MTE1 -> MTE2, %bBuf
          npu.load_nd2nz %bSlot[%0], %b[%bAt] rows %n cols %bChunk src_stride %size dst_rows %n
            : !l1, !gm
          npu.set_flag MTE2 -> MTE1, %bBuf
          npu.wait_flag MTE2 -> MTE1, %bBuf
          scf.for %s = %0 to %4 step %1 {
            %skipped = arith.muli %odd, %4 : index
            %aIn = arith.addi %skipped, %s : index
            %aOff = arith.muli %aIn, %aStep : index
            %bOff = arith.muli %s, %bStep : index
            %l0 = arith.remui %s, %2 : index
            %a0s = npu.slot %a0[%s] : !l0a
            %b0s = npu.slot %b0[%s] : !l0b
            %done = arith.addi %o, %s : index
            %first = arith.cmpi eq, %done, %0 : index
            npu.scalar_work %scalar
            npu.wait_flag M -> MTE1, %l0
            npu.load_l0 %a0s[%0], %aSlot[%aOff] extent %m k %k src_rows %m : !l0a, !l1
            npu.load_l0 %b0s[%0], %bSlot[%bOff] extent %n k %k src_rows %n : !l0b, !l1
            npu.set_flag MTE1 -> M, %l0
            npu.wait_flag MTE1 -> M, %l0
            npu.mmad %acc[%0], %a0s[%0], %b0s[%0] m %m n %n k %k init %first : !l0c, !l0a, !l0b
            npu.set_flag M -> MTE1, %l0
          }
          scf.if %even {
          } else {
            npu.set_flag MTE1 -> MTE2, %aBuf
          }
          npu.set_flag MTE1 -> MTE2, %bBuf
        }
        npu.set_flag M -> FIX, %0
        npu.wait_flag M -> FIX, %0
        %cRow = arith.muli %mm, %size : index
        %cAt = arith.addi %cRow, %nn : index
        npu.fixpipe %c[%cAt], %acc[%0] m %m n %n dst_stride %size src_rows %m : !gm, !l0c
        npu.set_flag FIX -> M, %0
      }
    }
    scf.for %f = %0 to %4 step %1 {
      npu.wait_flag MTE1 -> MTE2, %f
    }
    npu.wait_flag M -> MTE1, %0
    npu.wait_flag M -> MTE1, %1
    npu.wait_flag FIX -> M, %0
    return
  }
}
