// RUN: pyasc-opt %s -pass-pipeline='builtin.module(func.func(asc-unroll-loops),canonicalize)' | FileCheck %s

// Two iterations a time, and the seventh apart.
// CHECK-LABEL: func.func @odd
// CHECK: affine.for {{.*}} = 0 to 6 step 2
// CHECK-COUNT-2: affine.store
// CHECK-NOT: affine.for
// CHECK: affine.store
func.func @odd(%m: memref<7xf32>, %v: f32) {
  affine.for %i = 0 to 7 {
    affine.store %v, %m[%i] : memref<7xf32>
  } {asc.unroll = 2 : i64}
  return
}

// CHECK-LABEL: func.func @not_asked
// CHECK: affine.for {{.*}} = 0 to 7 {
func.func @not_asked(%m: memref<7xf32>, %v: f32) {
  affine.for %i = 0 to 7 {
    affine.store %v, %m[%i] : memref<7xf32>
  }
  return
}
