// RUN: pyasc-opt %s --split-input-file --pass-pipeline='builtin.module(npu-plan{without-cube without-vector},canonicalize,cse,npu-verify-stage)' | FileCheck %s

// Rows of 64 floats are whole cache lines: the parallel loop is divided among the cores.
// CHECK-LABEL: func.func @rows_0
// CHECK-SAME: memref<6400xf32, #npu.space<gm>> {npu.binding = "parameter:1"}
// CHECK-SAME: npu.blocks = 34 : i64, npu.core = "aiv"
// CHECK: %[[BLOCK:.*]] = npu.block_idx
// CHECK: %[[FROM:.*]] = arith.muli %[[BLOCK]], %c3
// CHECK: scf.for %[[I:.*]] = %[[FROM]] to
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c64
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[J]]
// CHECK: memref.load %{{.*}}[%[[AT]]]
// CHECK: math.exp
// CHECK: memref.store %{{.*}}[%[[AT]]]
func.func @rows(%x: memref<100x64xf32>, %y: memref<100x64xf32>) attributes {asc.kernel} {
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 64 {
      %v = affine.load %x[%i, %j] : memref<100x64xf32>
      %e = math.exp %v : f32
      affine.store %e, %y[%i, %j] : memref<100x64xf32>
    }
  } {asc.parallel}
  return
}

// -----

// Rows of 3 floats share lines: 16 rows are 192 bytes, the least that may be divided.
// CHECK-LABEL: func.func @narrow_0
// CHECK-SAME: npu.blocks = 7 : i64
// CHECK: arith.muli %{{.*}}, %c16
func.func @narrow(%y: memref<100x3xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 3 {
      affine.store %zero, %y[%i, %j] : memref<100x3xf32>
    }
  } {asc.parallel}
  return
}

// -----

// A variable of each iteration stays a cell; one that lives on keeps the loop on one core.
// CHECK-LABEL: func.func @cells_0
// CHECK-SAME: npu.blocks = 7 : i64
// CHECK: memref.alloca() : memref<f32>
// CHECK-LABEL: func.func @cells_1
// CHECK-SAME: npu.blocks = 1 : i64
// CHECK: memref.alloca() : memref<f32>
// CHECK-NOT: npu.block_idx
// CHECK: return
func.func @cells(%x: memref<100x5xf32>, %y: memref<100xf32>, %z: memref<1xf32>)
    attributes {asc.kernel} {
  %s = memref.alloca() : memref<f32>
  %t = memref.alloca() : memref<f32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 100 {
    affine.store %zero, %s[] : memref<f32>
    affine.for %j = 0 to 5 {
      %v = affine.load %x[%i, %j] : memref<100x5xf32>
      %old = affine.load %s[] : memref<f32>
      %new = arith.addf %old, %v : f32
      affine.store %new, %s[] : memref<f32>
    }
    %sum = affine.load %s[] : memref<f32>
    affine.store %sum, %y[%i] : memref<100xf32>
  } {asc.parallel}
  affine.store %zero, %t[] : memref<f32>
  affine.for %i = 0 to 100 {
    %v = affine.load %y[%i] : memref<100xf32>
    %old = affine.load %t[] : memref<f32>
    %new = arith.addf %old, %v : f32
    affine.store %new, %t[] : memref<f32>
  } {asc.parallel}
  %sum = affine.load %t[] : memref<f32>
  affine.store %sum, %z[0] : memref<1xf32>
  return
}

// -----

// Blocked loops whose inner ranges follow the outer one; both axes of the grid are divided.
// CHECK-LABEL: func.func @blocked_0
// CHECK-SAME: npu.blocks = 32 : i64
func.func @blocked(%y: memref<1000x64xi32>, %n: i32) attributes {asc.kernel} {
  affine.for %i = 0 to 1000 step 32 {
    affine.for %ii = affine_map<(d0) -> (d0)>(%i) to min affine_map<(d0) -> (d0 + 32, 1000)>(%i) {
      affine.for %jj = 0 to 64 {
        affine.store %n, %y[%ii, %jj] : memref<1000x64xi32>
      }
    }
  } {asc.parallel}
  return
}

// -----

// CHECK-LABEL: func.func @grid_0
// CHECK-SAME: npu.blocks = 14 : i64
// CHECK: arith.remui %{{.*}}, %c7
// CHECK: arith.divui %{{.*}}, %c7
func.func @grid(%y: memref<2x7x16xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %f = 0 to 7 {
      affine.for %w = 0 to 16 {
        affine.store %zero, %y[%n, %f, %w] : memref<2x7x16xf32>
      }
    } {asc.parallel}
  } {asc.parallel}
  return
}

// -----

// Column writes of different iterations meet in every line: one core.
// CHECK-LABEL: func.func @columns_0
// CHECK-SAME: npu.blocks = 1 : i64
func.func @columns(%y: memref<64x100xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %j = 0 to 100 {
    affine.for %i = 0 to 64 {
      affine.store %zero, %y[%i, %j] : memref<64x100xf32>
    }
  } {asc.parallel}
  return
}

// -----

// A generic's views and maps become addresses; the trailing reduction is kept in a value.
// CHECK-LABEL: func.func @matvec_0
// CHECK-SAME: npu.blocks = 1 : i64
// CHECK: scf.for %[[I:.*]] = %c0 to %c3
// CHECK: %[[START:.*]] = memref.load
// CHECK: scf.for %[[K:.*]] = %c0 to %c4 step %c1 iter_args(%{{.*}} = %[[START]]) -> (f32)
// CHECK: arith.muli %[[I]], %c20
// CHECK: %[[B:.*]] = arith.muli %[[K]], %c2
// CHECK: scf.yield
// CHECK: memref.store
func.func @matvec(%a: memref<8x10xf32>, %x: memref<4xf32>, %y: memref<3xf32>)
    attributes {asc.kernel} {
  %v = memref.subview %a[1, 2] [3, 4] [2, 2] : memref<8x10xf32> to
    memref<3x4xf32, strided<[20, 2], offset: 12>>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
                     affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%v, %x : memref<3x4xf32, strided<[20, 2], offset: 12>>, memref<4xf32>)
    outs(%y : memref<3xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A check keeps the first error, so its loop stays on one core.
// CHECK-LABEL: func.func @checked_0
// CHECK-SAME: memref<4xi64, #npu.space<gm>> {npu.binding = "error"}
// CHECK-SAME: npu.blocks = 1 : i64
// CHECK: scf.if
// CHECK: %[[CODE:.*]] = memref.load %{{.*}}[%c0] : memref<4xi64, #npu.space<gm>>
// CHECK: arith.cmpi eq, %[[CODE]], %c0_i64
// CHECK: scf.if
// CHECK: memref.store %c3_i64
func.func @checked(%x: memref<100xi32>, %y: memref<100x16xi32>,
                   %e: memref<4xi64> {asc.error_buffer})
    attributes {asc.kernel, asc.errors = [{code = 3 : i64, message = "out of bounds"}]} {
  %bound = arith.constant 16 : index
  %zero = arith.constant 0 : index
  affine.for %i = 0 to 100 {
    %v = affine.load %x[%i] : memref<100xi32>
    %at = arith.index_cast %v : i32 to index
    %ok = arith.cmpi ult, %at, %bound : index
    asc.check %ok, %at, %bound {code = 3 : i64}
    %safe = arith.select %ok, %at, %zero : index
    memref.store %v, %y[%i, %safe] : memref<100x16xi32>
  } {asc.parallel}
  return
}

// -----

// While loops, ifs and results that cross steps.
// CHECK-LABEL: func.func @control_0
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: %[[IN:.*]] = arith.cmpi sge
// CHECK: scf.if %[[IN]]
func.func @control(%x: memref<8xi32>, %n: i32) attributes {asc.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = scf.while (%k = %zero) : (i32) -> i32 {
    %go = arith.cmpi slt, %k, %n : i32
    scf.condition(%go) %k : i32
  } do {
  ^bb0(%k: i32):
    %next = arith.addi %k, %one : i32
    scf.yield %next : i32
  }
  affine.for %i = 0 to 8 {
    affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%i) {
      affine.store %end, %x[%i] : memref<8xi32>
    }
  }
  return
}

// -----

// An iteration writes a column. Rows of 64 floats are whole lines, so 16 columns of each are one:
// other cores write other lines. The first column lies where a line begins.
// CHECK-LABEL: func.func @whole_columns_0
// CHECK-SAME: npu.blocks = 4 : i64
// CHECK: arith.muli %{{.*}}, %c16
func.func @whole_columns(%y: memref<10x64xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %t = 0 to 10 {
      affine.store %zero, %y[%t, %i] : memref<10x64xf32>
    }
  } {asc.parallel}
  return
}

// -----

// Two columns an iteration, and the second one's place may lie beyond its row's end, which is in the
// next row.
// CHECK-LABEL: func.func @beyond_columns_0
// CHECK-SAME: npu.blocks = 1 : i64
func.func @beyond_columns(%y: memref<10x64xf32>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %t = 0 to 9 {
      affine.store %zero, %y[%t, %i] : memref<10x64xf32>
      affine.store %zero, %y[%t, %i + 16] : memref<10x64xf32>
    }
  } {asc.parallel}
  return
}

// -----

// Rows begin whole lines apart, and between them there are gaps. Runs of 16 iterations are lines; a
// core takes whole runs where they are less.
// CHECK-LABEL: func.func @gaps_0
// CHECK-SAME: npu.blocks = 34 : i64
// CHECK: arith.muli %{{.*}}, %c48
// CHECK-LABEL: func.func @gaps_1
// CHECK-SAME: npu.blocks = 34 : i64
// CHECK: arith.muli %{{.*}}, %c24
#whole = affine_map<(i, j) -> (i, j)>
func.func @gaps(%y: memref<100x32xf32>, %z: memref<100x32xf32>) attributes {asc.kernel} {
  %wide = memref.subview %y[0, 0] [100, 16] [1, 1]
      : memref<100x32xf32> to memref<100x16xf32, strided<[32, 1]>>
  %narrow = memref.subview %z[0, 0] [100, 8] [1, 1]
      : memref<100x32xf32> to memref<100x8xf32, strided<[32, 1]>>
  linalg.generic {indexing_maps = [#whole], iterator_types = ["parallel", "parallel"]}
      outs(%wide : memref<100x16xf32, strided<[32, 1]>>) {
  ^bb0(%o: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %v = arith.sitofp %n : i32 to f32
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [#whole], iterator_types = ["parallel", "parallel"]}
      outs(%narrow : memref<100x8xf32, strided<[32, 1]>>) {
  ^bb0(%o: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %v = arith.sitofp %n : i32 to f32
    linalg.yield %v : f32
  }
  return
}
