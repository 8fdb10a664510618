// RUN: pyasc-opt %s --split-input-file --npu-place --npu-verify-stage | FileCheck %s

// Buffers that live at the same time lie beside each other, later ones on the bytes of dead ones;
// a loop that begins by writing a buffer anew does not keep it from one iteration to the next.
!gm = memref<65536xf32, #npu.space<gm>>
!ub = memref<8192xf32, #npu.space<ub>>
// CHECK: npu.stage = "placed"
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @f(%a: !gm {npu.binding = "parameter:0"}) attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 8192 : index
    // CHECK: npu.buffer addr [[FIRST:[0-9]+]] :
    %x = npu.buffer : !ub
    // CHECK: npu.buffer addr [[SECOND:[0-9]+]] :
    %y = npu.buffer : !ub
    // CHECK: npu.buffer addr [[FIRST]] :
    %z = npu.buffer : !ub
    // Two slots of a loop.
    // CHECK: npu.buffer depth 2 addr 0 :
    %d = npu.buffer depth 2 : !ub
    npu.load %x[%c0], %a[%c0] count %c1 len %n src_stride %n dst_stride %n : !ub, !gm
    npu.vunary exp %y[%c0], %x[%c0] count %n : !ub, !ub
    npu.vunary exp %z[%c0], %y[%c0] count %n : !ub, !ub
    npu.store %a[%c0], %z[%c0] count %c1 len %n dst_stride %n src_stride %n : !gm, !ub
    scf.for %i = %c0 to %n step %n {
      %s = npu.slot %d[%i] : !ub
      npu.load %s[%c0], %a[%i] count %c1 len %n src_stride %n dst_stride %n : !ub, !gm
      npu.store %a[%i], %s[%c0] count %c1 len %n dst_stride %n src_stride %n : !gm, !ub
    }
    return
  }
}

// -----

// What a loop carries from iteration to iteration keeps its bytes through the loop. What is read
// together, sum and t, begins in different halves of the banks; t, which is read where sum is
// written, lies in another bank.
!gm = memref<65536xf32, #npu.space<gm>>
!ub = memref<64xf32, #npu.space<ub>>
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @f(%a: !gm {npu.binding = "parameter:0"}) attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 64 : index
    %f = arith.constant 0.0 : f32
    // CHECK: npu.buffer addr 256 :
    %sum = npu.buffer : !ub
    // CHECK: npu.buffer addr 0 :
    %x = npu.buffer : !ub
    // CHECK: npu.buffer addr 65536 :
    %t = npu.buffer : !ub
    npu.vdup %sum[%c0], %f count %n : !ub, f32
    scf.for %i = %c0 to %n step %c1 {
      npu.load %x[%c0], %a[%c0] count %c1 len %n src_stride %n dst_stride %n : !ub, !gm
      npu.vunary exp %t[%c0], %x[%c0] count %n : !ub, !ub
      npu.vbinary add %sum[%c0], %sum[%c0], %t[%c0] count %n : !ub, !ub, !ub
    }
    return
  }
}
