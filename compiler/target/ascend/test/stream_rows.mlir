// RUN: pyasc-opt %s --split-input-file --npu-plan --canonicalize --npu-verify-stage | FileCheck %s

// The product's rows are larger than L2 and pass from cube to vector cores: four blocks of them, one
// after the other, share memory that stays in L2. What is written goes to rows of the result.
// CHECK: npu.workspaces = [67108864]
// CHECK-COUNT-12: func.func
// CHECK-NOT: func.func
func.func @layers(%a: memref<1024x16xf16>, %b: memref<16x65536xf16>, %y: memref<1024x65536xf32>,
                  %z: memref<1024x65536xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<1024x65536xf32>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    outs(%s : memref<1024x65536xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                     affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<1024x16xf16>, memref<16x65536xf16>) outs(%s : memref<1024x65536xf32>) {
  ^bb0(%l: f16, %r: f16, %out: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %r : f16 to f32
    %p = arith.mulf %lw, %rw : f32
    %t = arith.addf %out, %p : f32
    linalg.yield %t : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%s : memref<1024x65536xf32>) outs(%y : memref<1024x65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = math.exp %in : f32
    linalg.yield %e : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%s : memref<1024x65536xf32>) outs(%z : memref<1024x65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = math.absf %in : f32
    linalg.yield %e : f32
  }
  return
}

// -----

// One operation takes each element of the product as it comes: all rows at once, through a ring of
// tiles, two for each cube core.
// CHECK: npu.workspaces = [2621440]
// CHECK: func.func @handed_0
// CHECK-SAME: npu.blocks = 20 : i64, npu.core = "aic", npu.group = 1 : i64
// CHECK: scf.if
// CHECK: npu.cross_wait FIX, %c1
// CHECK: npu.fixpipe
// CHECK-NEXT: npu.cross_set FIX mode 2, %c0
// CHECK: func.func @handed_1
// CHECK-SAME: npu.blocks = 40 : i64, npu.core = "aiv", npu.group = 1 : i64
// CHECK: npu.cross_wait MTE2, %c0
// CHECK: npu.load
// CHECK: npu.store
// CHECK: scf.if
// CHECK: npu.cross_set MTE2 mode 2, %c1
// CHECK-NOT: func.func
func.func @handed(%a: memref<1024x16xf16>, %b: memref<16x65536xf16>, %y: memref<1024x65536xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<1024x65536xf32>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    outs(%s : memref<1024x65536xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                     affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<1024x16xf16>, memref<16x65536xf16>) outs(%s : memref<1024x65536xf32>) {
  ^bb0(%l: f16, %r: f16, %out: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %r : f16 to f32
    %p = arith.mulf %lw, %rw : f32
    %t = arith.addf %out, %p : f32
    linalg.yield %t : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%s : memref<1024x65536xf32>) outs(%y : memref<1024x65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = math.exp %in : f32
    linalg.yield %e : f32
  }
  return
}

// -----

// Rows that depend on each other stay together: the second step reads columns of the first one's
// result.
// CHECK: npu.workspaces = [268435456]
// CHECK-COUNT-2: func.func
// CHECK-NOT: func.func
func.func @transposed(%a: memref<8192x16xf16>, %b: memref<16x8192xf16>, %y: memref<8192x8192xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<8192x8192xf32>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    outs(%s : memref<8192x8192xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                     affine_map<(d0, d1, d2) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<8192x16xf16>, memref<16x8192xf16>) outs(%s : memref<8192x8192xf32>) {
  ^bb0(%l: f16, %r: f16, %out: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %r : f16 to f32
    %p = arith.mulf %lw, %rw : f32
    %t = arith.addf %out, %p : f32
    linalg.yield %t : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%s : memref<8192x8192xf32>) outs(%y : memref<8192x8192xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = arith.addf %in, %in : f32
    linalg.yield %e : f32
  }
  return
}
