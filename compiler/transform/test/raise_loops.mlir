// RUN: pyasc-opt %s --structure | FileCheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{{.*}}["parallel", "parallel", "reduction"]} ins(%[[A:.*]], %[[B:.*]] : memref<1024x1024xf32>, memref<1024x1024xf32>)
// CHECK: return
func.func @matmul(%A: memref<1024x1024xf32> {asc.name="A"}, %B: memref<1024x1024xf32>, %C: memref<1024x1024xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 1024 step 32 {
    affine.for %j = 0 to 1024 step 32 {
      affine.for %k = 0 to 1024 {
        affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+32, 1024)>(%i) {
          affine.for %jj = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0)->(d0+32, 1024)>(%j) {
            %c = affine.load %C[%ii,%jj] : memref<1024x1024xf32>
            %a = affine.load %A[%ii,%k] : memref<1024x1024xf32>
            %b = affine.load %B[%k,%jj] : memref<1024x1024xf32>
            %p = arith.mulf %a, %b : f32
            %s = arith.addf %c, %p : f32
            affine.store %s, %C[%ii,%jj] : memref<1024x1024xf32>
          }
        }
      }
    } {asc.parallel}
  } {asc.parallel}
  return
}

// CHECK-LABEL: func.func @matmul48(
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{{.*}}["parallel", "parallel", "reduction"]}
// CHECK: return
func.func @matmul48(%A: memref<1000x1000xf32> {asc.name="A"}, %B: memref<1000x1000xf32>, %C: memref<1000x1000xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 1000 step 48 {
    affine.for %j = 0 to 1000 step 48 {
      affine.for %k = 0 to 1000 {
        affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+48, 1000)>(%i) {
          affine.for %jj = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0)->(d0+48, 1000)>(%j) {
            %c = affine.load %C[%ii,%jj] : memref<1000x1000xf32>
            %a = affine.load %A[%ii,%k] : memref<1000x1000xf32>
            %b = affine.load %B[%k,%jj] : memref<1000x1000xf32>
            %p = arith.mulf %a, %b : f32
            %s = arith.addf %c, %p : f32
            affine.store %s, %C[%ii,%jj] : memref<1000x1000xf32>
          }
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @guarded(
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{{.*}}["parallel", "parallel"]}
// CHECK: return
func.func @guarded(%A: memref<1000x1000xf32> {asc.name="A"}, %B: memref<1000x1000xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 32 {
    affine.for %ii = 0 to 32 {
      affine.for %j = 0 to 1000 {
        affine.if affine_set<(d0,d1):(999 - d0*32 - d1>=0)>(%i,%ii) {
            %a = affine.load %A[%i*32+%ii,%j] : memref<1000x1000xf32>
            %p = math.exp %a : f32
            affine.store %p, %B[%j, %i*32+%ii] : memref<1000x1000xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @lu(
// CHECK: affine.for
// CHECK: linalg.generic {{{.*}}["parallel"]}
// CHECK: linalg.generic {{{.*}}["parallel", "parallel"]}
// CHECK: asc.scalar_reason = "loop-carried dependence on 'A' between lines
func.func @lu(%A: memref<64x64xf32> {asc.name="A"}) attributes {asc.kernel} {
  affine.for %k = 0 to 64 {
    affine.for %i = affine_map<(d0)->(d0+1)>(%k) to 64 {
      %a = affine.load %A[%i,%k] : memref<64x64xf32>
      %b = affine.load %A[%k,%k] : memref<64x64xf32>
      %d = arith.divf %a, %b : f32
      affine.store %d, %A[%i,%k] : memref<64x64xf32>
      affine.for %j = affine_map<(d0)->(d0+1)>(%k) to 64 {
        %x = affine.load %A[%i,%j] : memref<64x64xf32>
        %y = affine.load %A[%i,%k] : memref<64x64xf32>
        %z = affine.load %A[%k,%j] : memref<64x64xf32>
        %p = arith.mulf %y, %z : f32
        %s = arith.subf %x, %p : f32
        affine.store %s, %A[%i,%j] : memref<64x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @stencil(
// CHECK: affine.for
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: asc.scalar_reason = "loop-carried dependence on 'B' between lines
// The prefix sum stays.
// CHECK: affine.for
// CHECK: affine.store
// CHECK: asc.scalar_reason = "loop-carried dependence on 'A' on line
func.func @stencil(%A: memref<64xf32> {asc.name="A"}, %B: memref<64xf32> {asc.name="B"}) attributes {asc.kernel} {
  affine.for %t = 0 to 10 {
    affine.for %i = 1 to 63 {
      %a = affine.load %A[%i + -1] : memref<64xf32>
      %b = affine.load %A[%i + 1] : memref<64xf32>
      %d = arith.addf %a, %b : f32
      affine.store %d, %B[%i] : memref<64xf32>
    }
    affine.for %i = 1 to 63 {
      %a = affine.load %B[%i] : memref<64xf32>
      affine.store %a, %A[%i] : memref<64xf32>
    }
  }
  affine.for %i = 1 to 64 {
    %a = affine.load %A[%i + -1] : memref<64xf32>
    %b = affine.load %A[%i] : memref<64xf32>
    %d = arith.addf %a, %b : f32
    affine.store %d, %A[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: affine.for
// The row maximum, then the sum of exponentials, then the quotient.
// CHECK: linalg.generic {{{.*}}["parallel", "reduction"]}
// CHECK: arith.maximumf
// CHECK: linalg.generic {{{.*}}["parallel", "reduction"]}
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: linalg.generic {{{.*}}["parallel", "parallel"]}
// CHECK: arith.divf
// CHECK: return
func.func @softmax(%x: memref<37x401xf32> {asc.name="x"}, %y: memref<37x401xf32> {asc.name = "y"}) attributes {asc.kernel} {
  %m = memref.alloca() : memref<f32>
  %s = memref.alloca() : memref<f32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 37 {
    %x0 = affine.load %x[%i, 0] : memref<37x401xf32>
    affine.store %x0, %m[] : memref<f32>
    affine.for %j = 1 to 401 {
      %a = affine.load %m[] : memref<f32>
      %b = affine.load %x[%i, %j] : memref<37x401xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[] : memref<f32>
    }
    affine.store %zero, %s[] : memref<f32>
    affine.for %j = 0 to 401 {
      %a = affine.load %s[] : memref<f32>
      %mm = affine.load %m[] : memref<f32>
      %b = affine.load %x[%i, %j] : memref<37x401xf32>
      %c = arith.subf %b, %mm : f32
      %d = math.exp %c : f32
      %e = arith.addf %a, %d : f32
      affine.store %e, %s[] : memref<f32>
    }
    affine.for %j = 0 to 401 {
      %a = affine.load %s[] : memref<f32>
      %mm = affine.load %m[] : memref<f32>
      %b = affine.load %x[%i, %j] : memref<37x401xf32>
      %c = arith.subf %b, %mm : f32
      %d = math.exp %c : f32
      %e = arith.divf %d, %a : f32
      affine.store %e, %y[%i, %j] : memref<37x401xf32>
    }
  } {asc.parallel}
  return
}

// CHECK-LABEL: func.func @conv(
// CHECK-NOT: affine.for
// One contraction a written-out tap.
// CHECK-COUNT-2: linalg.generic {{{.*}}["parallel", "parallel", "parallel", "parallel", "reduction"]}
// CHECK: return
func.func @conv(%x: memref<2x5x19x23xf32> {asc.name="input"}, %w: memref<7x5x3x3xf32>, %y: memref<2x7x17x21xf32> {asc.name = "y"}) attributes {asc.kernel} {
  %acc = memref.alloca() : memref<f32>
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
  affine.for %f = 0 to 7 {
  affine.for %h = 0 to 17 {
  affine.for %k = 0 to 21 {
    affine.store %zero, %acc[] : memref<f32>
    affine.for %c = 0 to 5 {
      %a0 = affine.load %acc[] : memref<f32>
      %x0 = affine.load %x[%n,%c,%h,%k] : memref<2x5x19x23xf32>
      %w0 = affine.load %w[%f,%c,0,0] : memref<7x5x3x3xf32>
      %p0 = arith.mulf %x0, %w0 : f32
      %s0 = arith.addf %a0, %p0 : f32
      affine.store %s0, %acc[] : memref<f32>
      %a1 = affine.load %acc[] : memref<f32>
      %x1 = affine.load %x[%n,%c,%h,%k+1] : memref<2x5x19x23xf32>
      %w1 = affine.load %w[%f,%c,0,1] : memref<7x5x3x3xf32>
      %p1 = arith.mulf %x1, %w1 : f32
      %s1 = arith.addf %a1, %p1 : f32
      affine.store %s1, %acc[] : memref<f32>
    }
    %r = affine.load %acc[] : memref<f32>
    affine.store %r, %y[%n,%f,%h,%k] : memref<2x7x17x21xf32>
    }}
    }{asc.parallel}
  } {asc.parallel}
  return
}

// A loop over a window: the index that is read is the sum of two loops.
// CHECK-LABEL: func.func @window(
// CHECK-NOT: affine.for
// CHECK: memref.subview %{{.*}}[0] [29] [1]
// CHECK: linalg.generic {{{.*}}["parallel", "reduction"]}
// CHECK: return
func.func @window(%x: memref<30xf32>, %w: memref<5xf32>, %y: memref<13xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 13 {
    affine.for %j = 0 to 5 {
      %s = affine.load %y[%i] : memref<13xf32>
      %a = affine.load %x[%i * 2 + %j] : memref<30xf32>
      %b = affine.load %w[%j] : memref<5xf32>
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %s, %p : f32
      affine.store %t, %y[%i] : memref<13xf32>
    }
  }
  return
}

// Where the reduction has no elements, the view of what it is added to would leave the tensor.
// CHECK-LABEL: func.func @no_elements(
// CHECK: affine.for %[[I:.*]] = 0 to 2
// CHECK: affine.if #{{.*}}(%[[I]])
// CHECK: memref.subview
// CHECK: linalg.generic
func.func @no_elements(%x: memref<1xf32>, %y: memref<2xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to affine_map<(d0) -> (d0 + 2)>(%i) {
      affine.for %k = affine_map<(d0) -> (d0)>(%i) to 1 {
        %a = affine.load %x[%k] : memref<1xf32>
        %b = affine.load %y[%j] : memref<2xf32>
        %n = arith.index_cast %i : index to i64
        %f = arith.sitofp %n : i64 to f32
        %p = arith.mulf %a, %f : f32
        %c = arith.addf %b, %p : f32
        affine.store %c, %y[%j] : memref<2xf32>
      }
    }
  }
  return
}

// A statement that no iteration reaches leaves nothing: no view could be made of its indices.
// CHECK-LABEL: func.func @unreachable(
// CHECK-NEXT: %[[CST:.*]] = arith.constant
// CHECK-NEXT: linalg.generic
// CHECK-NOT: memref.subview
// CHECK: return
func.func @unreachable(%x: memref<8xf32>, %y: memref<8xf32>) attributes {asc.kernel} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = affine_map<(d0) -> (d0)>(%i) to affine_map<(d0) -> (d0)>(%i) {
      %a = affine.load %x[%j - 9] : memref<8xf32>
      affine.store %a, %x[%j] : memref<8xf32>
    }
    affine.store %one, %y[%i] : memref<8xf32>
  }
  return
}
