// RUN: pyasc-opt %s --pass-pipeline='builtin.module(func.func(asc-split-positions))' | FileCheck %s

#two = affine_map<(d0, d1) -> (d0, d1)>

// The factor of a row: one number a row, before.
// CHECK-LABEL: func.func @factor
// CHECK: %[[V:.*]] = memref.alloc() : memref<64xf32>
// CHECK: linalg.generic {{.*}}["parallel"]} outs(%[[V]] : memref<64xf32>)
// CHECK: linalg.index 0
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%{{.*}}, %[[V]] : memref<64x128xf32>, memref<64xf32>)
// CHECK-NOT: linalg.index
// CHECK: return
func.func @factor(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %a, %f : f32
    linalg.yield %p : f32
  }
  return
}

// A comparison of row and column, as a difference.
// CHECK-LABEL: func.func @causal
// CHECK-DAG: memref.alloc() : memref<64xf32>
// CHECK-DAG: memref.alloc() : memref<128xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<64x128xf32>,
// CHECK-NOT: linalg.index
// CHECK: arith.cmpf oge
// CHECK: arith.select
// CHECK: return
func.func @causal(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  %zero = arith.constant 0 : index
  %low = arith.constant -1.0e4 : f32
  linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %d = affine.apply affine_map<(d0, d1) -> (d0 - d1)>(%i, %j)
    %c = arith.cmpi sge, %d, %zero : index
    %s = arith.select %c, %a, %low : f32
    linalg.yield %s : f32
  }
  return
}

// A number of both positions is the sum of two vectors, where float32 holds it.
// CHECK-LABEL: func.func @sum
// CHECK-DAG: memref.alloc() : memref<64xf32>
// CHECK-DAG: memref.alloc() : memref<128xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<64x128xf32>,
// CHECK-NOT: linalg.index
// CHECK: %[[S:.*]] = arith.addf
// CHECK: %[[P:.*]] = arith.addf %[[S]], %{{.*}} : f32
// CHECK: arith.mulf %{{.*}}, %[[P]]
// CHECK: return
func.func @sum(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %d = arith.addi %i, %j : index
    %n = arith.index_cast %d : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %a, %f : f32
    linalg.yield %p : f32
  }
  return
}

// It does not hold this one.
// CHECK-LABEL: func.func @both
// CHECK-NOT: memref.alloc
// CHECK: linalg.index
// CHECK: return
func.func @both(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.constant 400000 : index
    %k = arith.muli %i, %c : index
    %d = arith.addi %k, %j : index
    %n = arith.index_cast %d : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %a, %f : f32
    linalg.yield %p : f32
  }
  return
}

// Nor is it worth an operation for few elements.
// CHECK-LABEL: func.func @few
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @few(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %a, %f : f32
    linalg.yield %p : f32
  }
  return
}
