// RUN: pyasc-opt %s --structure | FileCheck %s

// Both sides assign one element: a selection, on any element types and indices.
// CHECK-LABEL: func.func @both_sides(
// CHECK-NOT: scf.if
// CHECK: linalg.generic
// CHECK: arith.select
// CHECK: return
func.func @both_sides(%x: memref<16x32xf32>, %y: memref<16x32xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %tenth = arith.constant 0.1 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 32 {
      %v = affine.load %x[%i,%j] : memref<16x32xf32>
      %c = arith.cmpf ogt, %v, %zero : f32
      scf.if %c {
        %a = affine.load %x[%i,%j] : memref<16x32xf32>
        affine.store %a, %y[%i,%j] : memref<16x32xf32>
      } else {
        %a = affine.load %x[%i,%j] : memref<16x32xf32>
        %b = arith.mulf %a, %tenth : f32
        affine.store %b, %y[%i,%j] : memref<16x32xf32>
      }
    }
  } {asc.parallel}
  return
}

// A variable that branches reassign, one branch in another.
// CHECK-LABEL: func.func @nested_variable(
// CHECK-NOT: scf.if
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @nested_variable(%x: memref<64xf32>, %y: memref<64xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %cell = memref.alloca() : memref<f32>
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %cell[] : memref<f32>
    %c = arith.cmpf olt, %v, %zero : f32
    scf.if %c {
      affine.store %zero, %cell[] : memref<f32>
    } else {
      %d = arith.cmpf ogt, %v, %six : f32
      scf.if %d {
        affine.store %six, %cell[] : memref<f32>
      }
    }
    %r = affine.load %cell[] : memref<f32>
    affine.store %r, %y[%i] : memref<64xf32>
  } {asc.parallel}
  return
}

// One side assigns: the other keeps what is there.
// CHECK-LABEL: func.func @one_side(
// CHECK-NOT: scf.if
// CHECK: linalg.generic
// CHECK: arith.select
// CHECK: return
func.func @one_side(%x: memref<64xf32>, %y: memref<64xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    %c = arith.cmpf olt, %v, %zero : f32
    scf.if %c {
      affine.store %zero, %y[%i] : memref<64xf32>
    }
  } {asc.parallel}
  return
}

// A border: the read beyond it stays under its condition, which becomes bounds.
// CHECK-LABEL: func.func @border(
// CHECK-NOT: affine.for
// CHECK: linalg.generic
// CHECK: return
func.func @border(%x: memref<64xf32>, %y: memref<64xf32>) attributes {asc.kernel} {
  %first = arith.constant 0 : index
  %last = arith.constant 63 : index
  affine.for %i = 0 to 64 {
    %a = arith.cmpi eq, %i, %first : index
    %b = arith.cmpi eq, %i, %last : index
    %c = arith.ori %a, %b : i1
    scf.if %c {
      %v = affine.load %x[%i] : memref<64xf32>
      affine.store %v, %y[%i] : memref<64xf32>
    } else {
      %l = affine.load %x[%i - 1] : memref<64xf32>
      %r = affine.load %x[%i + 1] : memref<64xf32>
      %s = arith.addf %l, %r : f32
      affine.store %s, %y[%i] : memref<64xf32>
    }
  } {asc.parallel}
  return
}

// The same with clamped indices.
// CHECK-LABEL: func.func @clamped(
// CHECK-NOT: affine.for
// CHECK: linalg.generic
// CHECK: return
func.func @clamped(%x: memref<64xf32>, %y: memref<64xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 64 {
    %l = affine.max affine_map<(d0) -> (d0 - 1, 0)>(%i)
    %r = affine.min affine_map<(d0) -> (d0 + 1, 63)>(%i)
    %a = memref.load %x[%l] : memref<64xf32>
    %b = memref.load %x[%r] : memref<64xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %y[%i] : memref<64xf32>
  } {asc.parallel}
  return
}

// On integers the comparison is a maximum.
// CHECK-LABEL: func.func @integer_maximum(
// CHECK-NOT: affine.for
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: arith.maxsi
// CHECK: return
func.func @integer_maximum(%x: memref<16x32xi32>, %y: memref<16xi32>) attributes {asc.kernel} {
  %low = arith.constant -2147483648 : i32
  affine.for %i = 0 to 16 {
    affine.store %low, %y[%i] : memref<16xi32>
    affine.for %j = 0 to 32 {
      %v = affine.load %x[%i,%j] : memref<16x32xi32>
      %m = affine.load %y[%i] : memref<16xi32>
      %c = arith.cmpi sgt, %v, %m : i32
      scf.if %c {
        affine.store %v, %y[%i] : memref<16xi32>
      }
    }
  } {asc.parallel}
  return
}

// On floats it is none: it passes over NaNs. Left as it is, with a reason.
// CHECK-LABEL: func.func @float_maximum(
// CHECK: scf.if
// CHECK: asc.scalar_reason = "the comparison {{.*}}write max() or min()
func.func @float_maximum(%x: memref<32xf32>, %y: memref<f32>) attributes {asc.kernel} {
  affine.for %j = 0 to 32 {
    %v = affine.load %x[%j] : memref<32xf32>
    %m = affine.load %y[] : memref<f32>
    %c = arith.cmpf ogt, %v, %m : f32
    scf.if %c {
      affine.store %v, %y[] : memref<f32>
    }
  }
  return
}

// What must not run where the condition is false: reads that may be out of bounds, divisions that may
// trap, a use after the assignment. No dependence is made up to explain it.
// CHECK-LABEL: func.func @unsafe_read(
// CHECK: scf.if
// CHECK: asc.scalar_reason = "the `if`{{.*}}stays a branch, since without its test 'x' might be read or written out of bounds; write `a if c else b` or asc.where"
func.func @unsafe_read(%x: memref<32xf32> {asc.name = "x"}, %k: memref<32xi32>, %y: memref<32xf32>) attributes {asc.kernel} {
  %limit = arith.constant 32 : i32
  affine.for %i = 0 to 32 {
    %v = affine.load %k[%i] : memref<32xi32>
    %c = arith.cmpi ult, %v, %limit : i32
    scf.if %c {
      %at = arith.index_cast %v : i32 to index
      %a = memref.load %x[%at] : memref<32xf32>
      affine.store %a, %y[%i] : memref<32xf32>
    }
  } {asc.parallel}
  return
}

// CHECK-LABEL: func.func @division(
// CHECK: scf.if
// CHECK: asc.scalar_reason = "the `if`{{.*}}it does more than assign values
func.func @division(%x: memref<32xi32>, %y: memref<32xi32>) attributes {asc.kernel} {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 32 {
    %v = affine.load %x[%i] : memref<32xi32>
    %c = arith.cmpi ne, %v, %zero : i32
    scf.if %c {
      %q = arith.divsi %v, %v : i32
      affine.store %q, %y[%i] : memref<32xi32>
    }
  } {asc.parallel}
  return
}

// CHECK-LABEL: func.func @two_elements(
// CHECK: scf.if
// CHECK: asc.scalar_reason = "the `if`{{.*}}its sides assign to different elements of 'y'
func.func @two_elements(%x: memref<32xf32>, %y: memref<64xf32> {asc.name = "y"}) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 32 {
    %v = affine.load %x[%i] : memref<32xf32>
    %c = arith.cmpf olt, %v, %zero : f32
    scf.if %c {
      affine.store %v, %y[%i] : memref<64xf32>
    } else {
      affine.store %v, %y[%i + 32] : memref<64xf32>
    }
  } {asc.parallel}
  return
}
