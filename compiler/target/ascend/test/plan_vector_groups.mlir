// RUN: pyasc-opt %s --split-input-file --pass-pipeline='builtin.module(npu-plan{without-cube},canonicalize,cse,loop-invariant-code-motion,npu-verify-stage)' | FileCheck %s

// The steps of a softmax are one phase: the row is loaded once, maximum and sum stay in UB and are
// never stored. The first element, where the loop over the others starts, is no step of its own.
// CHECK: what = "rows 37x401, one of 5 in a phase"
// CHECK-SAME: npu.workspaces = []
// CHECK-LABEL: func.func @softmax_0
// CHECK: npu.load
// CHECK: npu.vrow_reduce{{ +}}max
// CHECK-NOT: npu.load
// CHECK: npu.vrow_binary{{ +}}sub
// CHECK: npu.vrow_reduce{{ +}}sum
// CHECK-NOT: npu.load
// CHECK: npu.vrow_binary{{ +}}div
// CHECK: npu.store
// CHECK-NOT: npu.store
// CHECK: return
// CHECK-NOT: func.func
func.func @softmax(%x: memref<37x401xf32>, %y: memref<37x401xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<37xf32>
  %s = memref.alloc() : memref<37xf32>
  %head = memref.subview %x[0, 0] [37, 1] [1, 1] : memref<37x401xf32> to
    memref<37xf32, strided<[401]>>
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]}
    ins(%head : memref<37xf32, strided<[401]>>) outs(%m : memref<37xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  %tail = memref.subview %x[0, 1] [37, 400] [1, 1] : memref<37x401xf32> to
    memref<37x400xf32, strided<[401, 1], offset: 1>>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%tail : memref<37x400xf32, strided<[401, 1], offset: 1>>) outs(%m : memref<37xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    outs(%s : memref<37xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>,
                     affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%m, %x : memref<37xf32>, memref<37x401xf32>) outs(%s : memref<37xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %b, %a : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>,
                     affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%s, %m, %x : memref<37xf32>, memref<37xf32>, memref<37x401xf32>)
    outs(%y : memref<37x401xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %0 = arith.subf %c, %b : f32
    %1 = math.exp %0 : f32
    %2 = arith.divf %1, %a : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// A row of the first step is read by another row of the second: two phases.
// CHECK-LABEL: func.func @shifted_0
// CHECK-LABEL: func.func @shifted_1
func.func @shifted(%x: memref<64x100xf32>, %m: memref<65xf32>, %y: memref<64xf32>)
    attributes {asc.kernel} {
  %to = memref.subview %m[0] [64] [1] : memref<65xf32> to memref<64xf32, strided<[1]>>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<64x100xf32>) outs(%to : memref<64xf32, strided<[1]>>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  %from = memref.subview %m[1] [64] [1] : memref<65xf32> to memref<64xf32, strided<[1], offset: 1>>
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]}
    ins(%from : memref<64xf32, strided<[1], offset: 1>>) outs(%y : memref<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A fill, two sums into the same temporary, and what is done with it.
// CHECK: what = "accumulation, one of 4 in a phase"
// CHECK-SAME: npu.workspaces = []
// CHECK-LABEL: func.func @taps_0
// CHECK: npu.vdup
// CHECK: npu.vbinary{{ +}}add
// CHECK: npu.vbinary{{ +}}add
// CHECK: npu.vscalar{{ +}}maxs
// CHECK: npu.store
// CHECK: return
// CHECK-NOT: func.func
func.func @taps(%x: memref<9x20x40xf32>, %z: memref<20x40xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<20x40xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]} outs(%t : memref<20x40xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x : memref<9x20x40xf32>) outs(%t : memref<20x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x : memref<9x20x40xf32>) outs(%t : memref<20x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    %0 = arith.addf %out, %1 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%t : memref<20x40xf32>) outs(%z : memref<20x40xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %zero : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// The difference and its exponential are computed once for the sum and the quotient, but not where
// a step between writes what they are made of.
// CHECK: what = "row reduction 4x3000, one of 3 in a phase"
// CHECK-LABEL: func.func @shared_0
// CHECK: npu.vunary{{ +}}exp
// CHECK: npu.vreduce{{ +}}sum
// CHECK-NOT: npu.vunary
// CHECK: npu.vcol_binary{{ +}}div
// CHECK: npu.vunary{{ +}}exp
// CHECK-NOT: npu.vunary
// CHECK: return
#rows = affine_map<(d0, d1) -> (d0, d1)>
#sums = affine_map<(d0, d1) -> (d0)>
func.func @shared(%x: memref<4x3000xf32>, %s: memref<4xf32>) attributes {asc.kernel} {
  linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<4x3000xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#sums, #rows], iterator_types = ["parallel", "parallel"]}
    ins(%s : memref<4xf32>) outs(%x : memref<4x3000xf32>) {
  ^bb0(%sum: f32, %out: f32):
    %0 = math.exp %out : f32
    %1 = arith.divf %0, %sum : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<4x3000xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
