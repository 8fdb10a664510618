// RUN: (pyasc-opt %s --npu-place 2>&1 || true) | FileCheck %s

// What does not fit is an error that names the largest holders.
!gm = memref<65536xf32, #npu.space<gm>>
!ub = memref<40000xf32, #npu.space<ub>>
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @f(%a: !gm {npu.binding = "parameter:0"}) attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %c0 = arith.constant 0 : index
    %n = arith.constant 64 : index
    %x = npu.buffer : !ub
    %y = npu.buffer : !ub
    npu.vunary exp %y[%c0], %x[%c0] count %n : !ub, !ub
    npu.vunary exp %x[%c0], %y[%c0] count %n : !ub, !ub
    return
  }
}
// CHECK: error: cannot be lowered: the buffers of this step need more ub than the {{[0-9]+}} bytes of a core; 160000 bytes more do not fit
// CHECK: note: 160000 bytes are held at the same time for this
