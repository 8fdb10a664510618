// RUN: pyasc-opt %s --pass-pipeline='builtin.module(func.func(asc-raise-row-copies,asc-mark-parallel))' | FileCheck %s

// A row from where an index in memory says: what does not walk along the row goes before it, and
// each iteration writes a row of its own.
// CHECK-LABEL: func.func @gather
// CHECK: affine.for %[[I:.*]] = 0 to 16 {
// CHECK-NOT: affine.for
// CHECK: asc.check
// CHECK: %[[K:.*]] = arith.select
// CHECK: %[[FROM:.*]] = memref.subview %{{.*}}[%[[K]], 3] [1, 64] [1, 1]
// CHECK: %[[TO:.*]] = memref.subview %{{.*}}[%[[I]], 0] [1, 64] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[FROM]] {{.*}} outs(%[[TO]]
// CHECK: asc.parallel
func.func @gather(%t: memref<8x70xf16>, %at: memref<16xi32>, %y: memref<16x64xf16>, %e: memref<4xi64> {asc.error_buffer})
    attributes {asc.errors = [{code = 1 : i64, message = "out", name = "out-of-bounds"}]} {
  %c8 = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 16 {
    affine.for %j = 3 to 67 {
      %0 = affine.load %at[%i] : memref<16xi32>
      %1 = arith.index_cast %0 : i32 to index
      %2 = arith.cmpi ult, %1, %c8 : index
      asc.check %2, %1, %c8 {code = 1 : i64}
      %3 = arith.select %2, %1, %c0 : index
      %4 = memref.load %t[%3, %j] : memref<8x70xf16>
      affine.store %4, %y[%i, %j - 3] : memref<16x64xf16>
    }
  }
  return
}

// Rows to where an index says may meet: in order. So are rows of a tensor that is read elsewhere.
// CHECK-LABEL: func.func @scatter
// CHECK-NOT: asc.parallel
// CHECK: linalg.generic
// CHECK-NOT: asc.parallel
// CHECK: affine.load
// CHECK-NOT: asc.parallel
func.func @scatter(%x: memref<16x64xf32>, %at: memref<16xindex>, %y: memref<16x64xf32>) {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 64 {
      %k = affine.load %at[%i] : memref<16xindex>
      %v = affine.load %x[%i, %j] : memref<16x64xf32>
      memref.store %v, %y[%k, %j] : memref<16x64xf32>
    }
  }
  affine.for %i = 0 to 16 {
    %k = affine.load %at[%i] : memref<16xindex>
    %v = memref.load %y[%k, %k] : memref<16x64xf32>
    affine.store %v, %y[%i, 5] : memref<16x64xf32>
  }
  return
}

// Not a copy of one row: within one tensor, along a column, with a stride, of a few elements, where
// the index itself is written.
// CHECK-LABEL: func.func @loops
// CHECK-NOT: linalg.generic
func.func @loops(%x: memref<64x64xf32>, %at: memref<64xindex>, %y: memref<64x64xf32>, %z: memref<64xindex>) {
  affine.for %i = 0 to 64 {
    %k = affine.load %at[%i] : memref<64xindex>
    affine.for %j = 0 to 64 {
      %v = memref.load %y[%k, %j] : memref<64x64xf32>
      affine.store %v, %y[%i, %j] : memref<64x64xf32>
    }
    affine.for %j = 0 to 64 {
      %v = memref.load %x[%j, %k] : memref<64x64xf32>
      affine.store %v, %y[%i, %j] : memref<64x64xf32>
    }
    affine.for %j = 0 to 32 {
      %v = affine.load %x[%i, 2 * %j] : memref<64x64xf32>
      memref.store %v, %y[%k, %j] : memref<64x64xf32>
    }
    affine.for %j = 0 to 8 {
      %v = memref.load %x[%k, %j] : memref<64x64xf32>
      affine.store %v, %y[%i, %j] : memref<64x64xf32>
    }
    affine.for %j = 0 to 64 {
      %p = affine.load %z[7] : memref<64xindex>
      %v = memref.load %at[%j] : memref<64xindex>
      affine.store %v, %z[%j] : memref<64xindex>
    }
  }
  return
}
