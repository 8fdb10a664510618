// RUN: pyasc-opt %s --pass-pipeline='builtin.module(func.func(asc-raise-loops))' | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#unit = affine_map<() -> ()>
#two = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// What all rows share stays as it is.
// CHECK-LABEL: func.func @bias
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : memref<64x32xf32>, memref<32xf32>) outs(%{{.*}} : memref<64x32xf32>)
// CHECK: return
func.func @bias(%x: memref<64x32xf32>, %v: memref<32xf32>, %y: memref<64x32xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 64 {
    %r = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %w = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%r, %v : memref<32xf32, strided<[1], offset: ?>>, memref<32xf32>) outs(%w : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
  } {asc.parallel}
  return
}

// A temporary of an iteration, one of the function that each iteration begins anew, and a number.
// CHECK-LABEL: func.func @temporaries
// CHECK-DAG: %[[SUM:.*]] = memref.alloc() : memref<64xf32>
// CHECK-DAG: %[[T:.*]] = memref.alloc() : memref<64x32xf32>
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} {{.*}} outs(%[[T]] : memref<64x32xf32>)
// CHECK: linalg.generic {{.*}}["parallel"]} outs(%[[SUM]] : memref<64xf32>)
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[T]] : memref<64x32xf32>) outs(%[[SUM]] : memref<64xf32>)
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%[[SUM]], %[[T]] : memref<64xf32>, memref<64x32xf32>)
// CHECK: return
func.func @temporaries(%x: memref<64x32xf32>, %y: memref<64x32xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<32xf32>
  affine.for %i = 0 to 64 {
    %n = memref.alloc() : memref<f32>
    %r = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %w = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : memref<32xf32, strided<[1], offset: ?>>) outs(%t : memref<32xf32>) {
    ^bb0(%p: f32, %o: f32):
      %e = math.exp %p : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#unit], iterator_types = []} outs(%n : memref<f32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%t : memref<32xf32>) outs(%n : memref<f32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    %sum = affine.load %n[] : memref<f32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<32xf32>) outs(%w : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.divf %p, %sum : f32
      linalg.yield %s : f32
    }
  }
  return
}

// CHECK-LABEL: func.func @heads
// CHECK: %[[T:.*]] = memref.alloc() : memref<16x4x8xf32>
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : memref<16x4x6xf16>, memref<16x6x8xf16>) outs(%[[T]] : memref<16x4x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[T]] : memref<16x4x8xf32>) outs(%{{.*}} : memref<16x4x8xf16>)
// CHECK: return
func.func @heads(%q: memref<16x4x6xf16>, %k: memref<16x6x8xf16>, %y: memref<16x4x8xf16>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to 16 {
    %t = memref.alloc() : memref<4x8xf32>
    linalg.generic {indexing_maps = [#two], iterator_types = ["parallel", "parallel"]} outs(%t : memref<4x8xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    %l = memref.subview %q[%h, 0, 0] [1, 4, 6] [1, 1, 1] : memref<16x4x6xf16> to memref<4x6xf16, strided<[6, 1], offset: ?>>
    %r = memref.subview %k[%h, 0, 0] [1, 6, 8] [1, 1, 1] : memref<16x6x8xf16> to memref<6x8xf16, strided<[8, 1], offset: ?>>
    linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%l, %r : memref<4x6xf16, strided<[6, 1], offset: ?>>, memref<6x8xf16, strided<[8, 1], offset: ?>>) outs(%t : memref<4x8xf32>) {
    ^bb0(%p: f16, %u: f16, %o: f32):
      %e = arith.extf %p : f16 to f32
      %f = arith.extf %u : f16 to f32
      %m = arith.mulf %e, %f : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    }
    %w = memref.subview %y[%h, 0, 0] [1, 4, 8] [1, 1, 1] : memref<16x4x8xf16> to memref<4x8xf16, strided<[8, 1], offset: ?>>
    linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%t : memref<4x8xf32>) outs(%w : memref<4x8xf16, strided<[8, 1], offset: ?>>) {
    ^bb0(%p: f32, %o: f16):
      %s = arith.truncf %p : f32 to f16
      linalg.yield %s : f16
    }
  } {asc.parallel}
  return
}

// Blocks of rows of a loop with a step: temporaries are indexed as the tensors are.
// CHECK-LABEL: func.func @blocks
// CHECK-DAG: %[[M:.*]] = memref.alloc() : memref<64xf32>
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%{{.*}} : memref<64x32xf32>) outs(%[[M]] : memref<64xf32>)
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%{{.*}}, %[[M]] : memref<64x32xf32>, memref<64xf32>) outs(%{{.*}} : memref<64x32xf32>)
// CHECK: return
func.func @blocks(%x: memref<64x32xf32>, %y: memref<64x32xf32>) attributes {asc.kernel} {
  %low = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to 64 step 8 {
    %m = memref.alloc() : memref<8xf32>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%m : memref<8xf32>) {
    ^bb0(%o: f32):
      linalg.yield %low : f32
    }
    %r = memref.subview %x[%i, 0] [8, 32] [1, 1] : memref<64x32xf32> to memref<8x32xf32, strided<[32, 1], offset: ?>>
    linalg.generic {indexing_maps = [#two, #rows], iterator_types = ["parallel", "reduction"]} ins(%r : memref<8x32xf32, strided<[32, 1], offset: ?>>) outs(%m : memref<8xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.maximumf %o, %p : f32
      linalg.yield %s : f32
    }
    %w = memref.subview %y[%i, 0] [8, 32] [1, 1] : memref<64x32xf32> to memref<8x32xf32, strided<[32, 1], offset: ?>>
    linalg.generic {indexing_maps = [#two, #rows, #two], iterator_types = ["parallel", "parallel"]} ins(%r, %m : memref<8x32xf32, strided<[32, 1], offset: ?>>, memref<8xf32>) outs(%w : memref<8x32xf32, strided<[32, 1], offset: ?>>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.subf %p, %q : f32
      linalg.yield %s : f32
    }
  } {asc.parallel}
  return
}

// A recurrence over rows stays, and its operations stay operations.
// CHECK-LABEL: func.func @recurrence
// CHECK: affine.for
// CHECK: linalg.generic {{.*}}["parallel"]}
// CHECK: asc.scalar_reason = "loop-carried dependence on 'y'
func.func @recurrence(%x: memref<64x32xf32>, %y: memref<65x32xf32> {asc.name = "y"}) attributes {asc.kernel} {
  affine.for %i = 0 to 64 {
    %r = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %v = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<65x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %n = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    %w = memref.subview %y[%n, 0] [1, 32] [1, 1] : memref<65x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%r, %v : memref<32xf32, strided<[1], offset: ?>>, memref<32xf32, strided<[1], offset: ?>>) outs(%w : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
  }
  return
}

// A tensor that the iterations carry on is no temporary of theirs.
// CHECK-LABEL: func.func @carried
// CHECK: affine.for
// CHECK-COUNT-2: linalg.generic {{.*}}["parallel"]}
// CHECK: asc.scalar_reason
func.func @carried(%x: memref<64x32xf32>, %y: memref<64x32xf32>) attributes {asc.kernel} {
  %t = memref.alloc() : memref<32xf32>
  affine.for %i = 0 to 64 {
    %r = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : memref<32xf32, strided<[1], offset: ?>>) outs(%t : memref<32xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %p, %o : f32
      %u = math.exp %s : f32
      linalg.yield %u : f32
    }
    %w = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : memref<32xf32>) outs(%w : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%p: f32, %o: f32):
      linalg.yield %p : f32
    }
  }
  return
}

// The parallel loop inside of a serial one is one operation a round.
// CHECK-LABEL: func.func @rounds
// CHECK: affine.for
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]}
// CHECK: return
func.func @rounds(%x: memref<64x32xf32>, %y: memref<64x32xf32>) attributes {asc.kernel} {
  affine.for %t = 0 to 10 {
    affine.for %i = 0 to 64 {
      %r = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
      %w = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<64x32xf32> to memref<32xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : memref<32xf32, strided<[1], offset: ?>>) outs(%w : memref<32xf32, strided<[1], offset: ?>>) {
      ^bb0(%p: f32, %o: f32):
        %s = arith.addf %p, %o : f32
        %u = math.exp %s : f32
        linalg.yield %u : f32
      }
    } {asc.parallel}
  }
  return
}

// Sums in 16 bits are not made anew in 32.
// CHECK-LABEL: func.func @narrow
// CHECK: affine.for
// CHECK: asc.scalar_reason = "the tensor operation{{.*}}adds up in 16 bits"
func.func @narrow(%x: memref<64x32xf16>, %y: memref<64xf16>) attributes {asc.kernel} {
  affine.for %i = 0 to 64 {
    %r = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<64x32xf16> to memref<32xf16, strided<[1], offset: ?>>
    %w = memref.subview %y[%i] [1] [1] : memref<64xf16> to memref<f16, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%r : memref<32xf16, strided<[1], offset: ?>>) outs(%w : memref<f16, strided<[], offset: ?>>) {
    ^bb0(%p: f16, %o: f16):
      %s = arith.addf %p, %o : f16
      linalg.yield %s : f16
    }
  }
  return
}

// A state that each row carries through serial rounds: the rows go into the rounds.
// CHECK-LABEL: func.func @states
// CHECK: %[[H:.*]] = memref.alloc() : memref<256x128xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} outs(%[[H]] : memref<256x128xf32>)
// CHECK: affine.for %[[T:.*]] = 0 to 10 {
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} {{.*}} outs(%[[H]] : memref<256x128xf32>)
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]} ins(%[[H]] : memref<256x128xf32>)
// CHECK: return
func.func @states(%x: memref<256x10x128xf32>, %y: memref<256x10x128xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 256 {
    %h = memref.alloc() : memref<128xf32>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%h : memref<128xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    affine.for %t = 0 to 10 {
      %r = memref.subview %x[%i, %t, 0] [1, 1, 128] [1, 1, 1] : memref<256x10x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : memref<128xf32, strided<[1], offset: ?>>) outs(%h : memref<128xf32>) {
      ^bb0(%p: f32, %o: f32):
        %s = arith.addf %p, %o : f32
        %u = math.exp %s : f32
        linalg.yield %u : f32
      }
      %w = memref.subview %y[%i, %t, 0] [1, 1, 128] [1, 1, 1] : memref<256x10x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%h : memref<128xf32>) outs(%w : memref<128xf32, strided<[1], offset: ?>>) {
      ^bb0(%p: f32, %o: f32):
        linalg.yield %p : f32
      }
    }
  } {asc.parallel}
  return
}

// The same with rounds that have little to do for all rows, or that depend on the row.
// CHECK-LABEL: func.func @few
// CHECK: affine.for %{{.*}} = 0 to 4 {
// CHECK: affine.for %{{.*}} = 0 to 10 {
// CHECK: affine.for %{{.*}} = 0 to 256 {
// CHECK: affine.for %{{.*}} = 0 to #map
// CHECK: return
func.func @few(%x: memref<4x16xf32>, %z: memref<256x128xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 4 {
    affine.for %t = 0 to 10 {
      %r = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<4x16xf32> to memref<16xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%r : memref<16xf32, strided<[1], offset: ?>>) {
      ^bb0(%o: f32):
        %u = math.exp %o : f32
        linalg.yield %u : f32
      }
    }
  } {asc.parallel}
  affine.for %i = 0 to 256 {
    affine.for %t = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
      %r = memref.subview %z[%i, 0] [1, 128] [1, 1] : memref<256x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%r : memref<128xf32, strided<[1], offset: ?>>) {
      ^bb0(%o: f32):
        %u = math.exp %o : f32
        linalg.yield %u : f32
      }
    }
  } {asc.parallel}
  return
}

// Rows that touch each other in the rounds stay.
// CHECK-LABEL: func.func @neighbours
// CHECK: affine.for %{{.*}} = 0 to 255 {
// CHECK: affine.for %{{.*}} = 0 to 10 {
// CHECK: return
func.func @neighbours(%x: memref<256x128xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 255 {
    affine.for %t = 0 to 10 {
      %n = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
      %r = memref.subview %x[%n, 0] [1, 128] [1, 1] : memref<256x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      %w = memref.subview %x[%i, 0] [1, 128] [1, 1] : memref<256x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : memref<128xf32, strided<[1], offset: ?>>) outs(%w : memref<128xf32, strided<[1], offset: ?>>) {
      ^bb0(%p: f32, %o: f32):
        %s = arith.addf %p, %o : f32
        linalg.yield %s : f32
      }
    }
  }
  return
}

// Sums of blocks are sums of rows in another shape.
// CHECK-LABEL: func.func @sums
// CHECK: %[[X:.*]] = memref.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [16, 8] : memref<128xf32> into memref<16x8xf32>
// CHECK-NOT: affine.for
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[X]] : memref<16x8xf32>)
// CHECK: return
func.func @sums(%x: memref<128xf32>, %y: memref<16xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %n = memref.alloc() : memref<f32>
    linalg.generic {indexing_maps = [#unit], iterator_types = []} outs(%n : memref<f32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    %f = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
    %r = memref.subview %x[%f] [8] [1] : memref<128xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%r : memref<8xf32, strided<[1], offset: ?>>) outs(%n : memref<f32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    %sum = affine.load %n[] : memref<f32>
    affine.store %sum, %y[%i] : memref<16xf32>
  } {asc.parallel}
  return
}
