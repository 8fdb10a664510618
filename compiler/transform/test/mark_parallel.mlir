// RUN: pyasc-opt %s --pass-pipeline='builtin.module(func.func(asc-mark-parallel))' | FileCheck %s

// A recurrence within each row, through the tensor or through a variable that begins anew in each
// (a tensor of one element, too).
// CHECK-LABEL: func.func @rows
// CHECK: asc.parallel
// CHECK: asc.parallel
// CHECK: asc.parallel
// CHECK-NOT: asc.parallel
func.func @rows(%x: memref<64x32xf32>, %y: memref<64x32xf32>, %z: memref<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloca() : memref<f32>
  affine.for %i = 0 to 64 {
    affine.for %j = 1 to 32 {
      %a = affine.load %y[%i, %j - 1] : memref<64x32xf32>
      %b = affine.load %x[%i, %j] : memref<64x32xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %y[%i, %j] : memref<64x32xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.store %zero, %s[] : memref<f32>
    affine.for %j = 0 to 32 {
      %a = affine.load %s[] : memref<f32>
      %b = affine.load %x[%i, %j] : memref<64x32xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[] : memref<f32>
      affine.store %c, %z[%i, %j] : memref<64x32xf32>
    }
  }
  %one = memref.alloc() : memref<f32>
  affine.for %i = 0 to 64 {
    affine.store %zero, %one[] : memref<f32>
    affine.for %j = 0 to 32 {
      %a = affine.load %one[] : memref<f32>
      %b = affine.load %z[%i, %j] : memref<64x32xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %one[] : memref<f32>
      affine.store %c, %y[%i, %j] : memref<64x32xf32>
    }
  }
  return
}

// What keeps an order: the row before, a sum in one place, a place that the last iteration keeps, a
// variable that goes on or that is read afterwards, an index from memory.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: asc.parallel
func.func @ordered(%x: memref<64xf32>, %y: memref<64x32xf32>, %p: memref<64xi64>)
    attributes {asc.kernel, asc.errors = [{code = 1 : i64, message = "out"}]} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloca() : memref<f32>
  %t = memref.alloca() : memref<f32>
  affine.for %i = 1 to 64 {
    affine.for %j = 0 to 31 {
      %a = affine.load %y[%i - 1, %j + 1] : memref<64x32xf32>
      affine.store %a, %y[%i, %j] : memref<64x32xf32>
    }
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %x[0] : memref<64xf32>
    %b = affine.load %y[%i, 0] : memref<64x32xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %x[0] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %b = affine.load %y[%i, 0] : memref<64x32xf32>
    affine.store %b, %x[%i floordiv 2] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %s[] : memref<f32>
    affine.store %a, %x[%i] : memref<64xf32>
    affine.store %zero, %s[] : memref<f32>
  }
  affine.for %i = 0 to 64 {
    affine.if affine_set<(d0) : (d0 - 3 >= 0)>(%i) {
      affine.store %zero, %s[] : memref<f32>
    }
    %a = affine.load %s[] : memref<f32>
    affine.store %a, %x[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %x[%i] : memref<64xf32>
    affine.store %a, %t[] : memref<f32>
  }
  %last = affine.load %t[] : memref<f32>
  affine.store %last, %x[0] : memref<64xf32>
  affine.for %i = 0 to 64 {
    %n = affine.load %p[%i] : memref<64xi64>
    %at = arith.index_cast %n : i64 to index
    memref.store %zero, %x[%at] : memref<64xf32>
  }
  return
}

// A check does not keep an order: each iteration writes a place of its own.
// CHECK-LABEL: func.func @checked
// CHECK: asc.parallel
func.func @checked(%x: memref<64xf32>, %p: memref<64xi64>)
    attributes {asc.kernel, asc.errors = [{code = 1 : i64, message = "out"}]} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    %n = affine.load %p[%i] : memref<64xi64>
    %at = arith.index_cast %n : i64 to index
    %ok = arith.cmpi sge, %at, %at : index
    asc.check %ok, %at, %at {code = 1 : i64}
    affine.store %zero, %x[%i] : memref<64xf32>
  }
  return
}
