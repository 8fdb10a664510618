// RUN: pyasc-opt %s --split-input-file --pass-pipeline='builtin.module(npu-plan,canonicalize,cse,npu-verify-stage)' | FileCheck %s

// A recurrence over rows: the two rows of a round follow from the loop variable, and are seen to lie
// apart. The first phase is no part of the loop.
// CHECK-LABEL: func.func @rows_0
// CHECK-NOT: npu.loop
// CHECK: npu.store
// CHECK-LABEL: func.func @rows_1
// CHECK-SAME: %[[T:arg[0-9]+]]: index {npu.binding = "loop_variable"}
// CHECK-SAME: npu.loop = 1 : i64, npu.rounds = [1, 2, 50]
// CHECK: arith.addi %[[T]], %c-1
// CHECK: npu.vbinary add
// CHECK-NOT: func.func
#id = affine_map<(d0) -> (d0)>
func.func @rows(%x: memref<100x4096xf32>, %y: memref<100x4096xf32>) attributes {asc.kernel} {
  %first = memref.subview %y[0, 0] [1, 4096] [1, 1]
      : memref<100x4096xf32> to memref<4096xf32, strided<[1]>>
  %row = memref.subview %x[0, 0] [1, 4096] [1, 1]
      : memref<100x4096xf32> to memref<4096xf32, strided<[1]>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%row : memref<4096xf32, strided<[1]>>) outs(%first : memref<4096xf32, strided<[1]>>) {
  ^bb0(%v: f32, %old: f32):
    %double = arith.addf %v, %v : f32
    linalg.yield %double : f32
  }
  affine.for %t = 1 to 100 step 2 {
    %before = affine.apply affine_map<(d0) -> (d0 - 1)>(%t)
    %in = memref.subview %y[%before, 0] [1, 4096] [1, 1]
        : memref<100x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    %out = memref.subview %y[%t, 0] [1, 4096] [1, 1]
        : memref<100x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    %added = memref.subview %x[%t, 0] [1, 4096] [1, 1]
        : memref<100x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%in, %added : memref<4096xf32, strided<[1], offset: ?>>,
                          memref<4096xf32, strided<[1], offset: ?>>)
        outs(%out : memref<4096xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %old: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    }
  }
  return
}

// -----

// What a step is given was loaded before a step of the same round that changes it: it goes through a
// cell in memory, stored by a phase of the round, and so does a variable from round to round.
// CHECK-LABEL: func.func @carried_0
// CHECK-NOT: npu.loop
// CHECK-LABEL: func.func @carried_1
// CHECK-SAME: npu.loop = 1 : i64, npu.rounds = [0, 1, 5]
// CHECK: %[[S:.*]] = memref.load %[[CELL:arg[0-9]+]]
// CHECK: memref.store %[[S]], %[[SPILL:arg[0-9]+]]
// CHECK: arith.mulf
// CHECK: memref.store %{{.*}}, %[[CELL]]
// CHECK-LABEL: func.func @carried_2
// CHECK-SAME: npu.loop = 1 : i64, npu.rounds = [0, 1, 5]
// CHECK: npu.vbinary
// CHECK-NOT: func.func
func.func @carried(%x: memref<8192xf32>) attributes {asc.kernel} {
  %s = memref.alloca() : memref<f32>
  %half = arith.constant 0.5 : f32
  affine.store %half, %s[] : memref<f32>
  affine.for %t = 0 to 5 {
    %old = affine.load %s[] : memref<f32>
    %new = arith.mulf %old, %half : f32
    affine.store %new, %s[] : memref<f32>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        outs(%x : memref<8192xf32>) {
    ^bb0(%v: f32):
      %a = arith.mulf %v, %v : f32
      %b = arith.addf %a, %old : f32
      linalg.yield %b : f32
    }
  }
  return
}

// -----

// The scalar step reads what it left in its cell the round before: the cell is memory, no variable of
// the phase.
// CHECK-LABEL: func.func @kept
// CHECK: npu.loop
// CHECK-NOT: memref.alloca
// CHECK-LABEL: module
func.func @kept(%x: memref<8192xf32>, %y: memref<64xf32>) attributes {asc.kernel} {
  %s = memref.alloca() : memref<f32>
  %one = arith.constant 1.0 : f32
  affine.for %t = 0 to 64 {
    affine.if affine_set<(d0) : (d0 == 0)>(%t) {
      affine.store %one, %s[] : memref<f32>
    }
    %old = affine.load %s[] : memref<f32>
    %new = arith.addf %old, %old : f32
    affine.store %new, %y[%t] : memref<64xf32>
    affine.store %new, %s[] : memref<f32>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        outs(%x : memref<8192xf32>) {
    ^bb0(%v: f32):
      %a = arith.mulf %v, %v : f32
      linalg.yield %a : f32
    }
  }
  return
}

// -----

// One core does a loop over few elements sooner than they are launched; and how often the second one
// runs is known at run time only.
// CHECK-LABEL: func.func @one_core
// CHECK-SAME: npu.blocks = 1 : i64
// CHECK-NOT: npu.loop
// CHECK: return
func.func @one_core(%x: memref<64xf32>, %y: memref<8192xf32>, %n: i64) attributes {asc.kernel} {
  affine.for %t = 0 to 100 {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        outs(%x : memref<64xf32>) {
    ^bb0(%v: f32):
      %a = arith.mulf %v, %v : f32
      linalg.yield %a : f32
    }
  }
  %count = arith.index_cast %n : i64 to index
  affine.for %t = 0 to %count {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        outs(%y : memref<8192xf32>) {
    ^bb0(%v: f32):
      %a = arith.mulf %v, %v : f32
      linalg.yield %a : f32
    }
  }
  return
}
