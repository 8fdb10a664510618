// RUN: pyasc-opt %s --split-input-file --npu-sync --canonicalize --npu-verify-stage | FileCheck %s

// A double-buffered loop: one flag a slot and direction; the ways back are raised before the loop
// and lowered after it.
!gm = memref<65536xf32, #npu.space<gm>>
!ub = memref<64xf32, #npu.space<ub>>
// CHECK: npu.stage = "synced"
module attributes {npu.soc = "ascend910b3", npu.stage = "placed", npu.workspaces = []} {
  // CHECK-LABEL: func.func @loop
  func.func @loop(%a: !gm {npu.binding = "parameter:0"}, %c: !gm {npu.binding = "result:0"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 64 : index
    %x = npu.buffer depth 2 addr 0 : !ub
    %y = npu.buffer depth 2 addr 512 : !ub
    // CHECK-COUNT-4: npu.set_flag
    // CHECK: scf.for %[[I:.*]] =
    scf.for %i = %c0 to %n step %c1 {
      %xs = npu.slot %x[%i] : !ub
      %ys = npu.slot %y[%i] : !ub
      %at = arith.muli %i, %n : index
      // CHECK: npu.wait_flag V -> MTE2, %[[SLOT:.*]]
      // CHECK-NEXT: npu.load
      npu.load %xs[%c0], %a[%at] count %c1 len %n src_stride %n dst_stride %n : !ub, !gm
      // CHECK: npu.set_flag MTE2 -> V
      // CHECK: npu.wait_flag MTE2 -> V
      // CHECK: npu.vbinary
      npu.vbinary add %ys[%c0], %xs[%c0], %xs[%c0] count %n : !ub, !ub, !ub
      // CHECK: npu.set_flag V -> MTE3
      // CHECK: npu.wait_flag V -> MTE3
      // CHECK: npu.store
      npu.store %c[%at], %ys[%c0] count %c1 len %n dst_stride %n src_stride %n : !gm, !ub
      // CHECK: npu.set_flag MTE3 -> V
    }
    // CHECK: }
    // CHECK-COUNT-4: npu.wait_flag
    // CHECK-NOT: npu.wait_flag
    return
  }
}

// -----

// Scalar loads wait for the pipe that wrote, scalar stores reach GM by a flush.
!gm = memref<64xf32, #npu.space<gm>>
!ub = memref<64xf32, #npu.space<ub>>
module attributes {npu.soc = "ascend910b3", npu.stage = "placed", npu.workspaces = []} {
  // CHECK-LABEL: func.func @scalar
  func.func @scalar(%a: !gm {npu.binding = "parameter:0"}, %c: !gm {npu.binding = "result:0"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 64 : index
    %x = npu.buffer addr 0 : !ub
    npu.load %x[%c0], %a[%c0] count %c1 len %n src_stride %n dst_stride %n : !ub, !gm
    // CHECK: npu.wait_flag MTE2 -> S
    // CHECK-NEXT: memref.load
    %v = memref.load %x[%c0] : !ub
    // CHECK: memref.store
    memref.store %v, %c[%c0] : !gm
    // CHECK-NEXT: npu.dcache_flush
    // CHECK-NEXT: return
    return
  }
}

// -----

// Dependent vector ops: a barrier on V, none where there is no dependence.
!ub = memref<64xf32, #npu.space<ub>>
module attributes {npu.soc = "ascend910b3", npu.stage = "placed", npu.workspaces = []} {
  // CHECK-LABEL: func.func @vector
  func.func @vector(%s: f32 {npu.binding = "parameter:0"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %n = arith.constant 64 : index
    %x = npu.buffer addr 0 : !ub
    %y = npu.buffer addr 256 : !ub
    // CHECK: npu.vdup
    // CHECK-NEXT: npu.vdup
    // CHECK-NEXT: npu.pipe_barrier V
    // CHECK-NEXT: npu.vbinary
    npu.vdup %x[%c0], %s count %n : !ub, f32
    npu.vdup %y[%c0], %s count %n : !ub, f32
    npu.vbinary add %x[%c0], %x[%c0], %y[%c0] count %n : !ub, !ub, !ub
    // CHECK-NEXT: return
    return
  }
}

// -----

// Rows that are loaded one by one do not wait for each other, though the loop around loads the same
// ones again: that waits once, before the loop.
!gm = memref<2097152xf16, #npu.space<gm>>
!l1 = memref<4096xf16, #npu.space<l1>>
module attributes {npu.soc = "ascend910b3", npu.stage = "placed", npu.workspaces = []} {
  // CHECK-LABEL: func.func @rows
  func.func @rows(%a: !gm {npu.binding = "parameter:0"})
      attributes {npu.core = "aic", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %rows = arith.constant 32 : index
    %n = arith.constant 128 : index
    %pitch = arith.constant 65536 : index
    %x = npu.buffer addr 0 : !l1
    // CHECK: scf.for
    scf.for %again = %c0 to %n step %c1 {
      // CHECK: npu.pipe_barrier MTE2
      // CHECK-NEXT: scf.for
      scf.for %row = %c0 to %rows step %c1 {
        %to = arith.muli %row, %c16 : index
        %from = arith.muli %row, %pitch : index
        // CHECK-NOT: npu.pipe_barrier
        npu.load_nd2nz %x[%to], %a[%from] rows %c1 cols %n src_stride %c1 dst_rows %rows : !l1, !gm
        // CHECK: }
      }
    }
    return
  }
}

// -----

// Taps that are loaded between each other's rows do not meet; a tap too many does.
!gm = memref<65536xf16, #npu.space<gm>>
!l1 = memref<6144xf16, #npu.space<l1>>
module attributes {npu.soc = "ascend910b3", npu.stage = "placed", npu.workspaces = []} {
  // CHECK-LABEL: func.func @taps
  func.func @taps(%a: !gm {npu.binding = "parameter:0"})
      attributes {npu.core = "aic", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %high = arith.constant 48 : index
    %n = arith.constant 128 : index
    %x = npu.buffer addr 0 : !l1
    // CHECK: scf.for
    scf.for %tap = %c0 to %c3 step %c1 {
      %to = arith.muli %tap, %c16 : index
      // CHECK-NOT: npu.pipe_barrier
      npu.load_nd2nz %x[%to], %a[%tap] rows %c16 cols %n src_stride %n dst_rows %high row_step 3
        : !l1, !gm
      // CHECK: }
    }
    // CHECK: scf.for
    scf.for %tap = %c0 to %c4 step %c1 {
      %to = arith.muli %tap, %c16 : index
      // CHECK: npu.pipe_barrier MTE2
      // CHECK-NEXT: npu.load_nd2nz
      npu.load_nd2nz %x[%to], %a[%tap] rows %c4 cols %n src_stride %n dst_rows %high row_step 3
        : !l1, !gm
    }
    return
  }
}
