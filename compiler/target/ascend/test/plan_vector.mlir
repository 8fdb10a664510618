// RUN: pyasc-opt %s --split-input-file --pass-pipeline='builtin.module(npu-plan{without-cube},canonicalize,cse,loop-invariant-code-motion,npu-verify-stage)' | FileCheck %s

// Flat elements in tiles of whole repeats; the last tile is shorter.
// CHECK-LABEL: func.func @add_0
// CHECK-SAME: npu.blocks = 4 : i64, npu.core = "aiv"
// CHECK-DAG: npu.buffer depth 2 : memref<256xf32, #npu.space<ub>>
// CHECK: %[[FROM:.*]] = arith.muli %{{.*}}, %c256
// CHECK: %[[LEFT:.*]] = arith.subi %c1000, %[[FROM]]
// CHECK: %[[N:.*]] = arith.minsi %[[LEFT]], %c256
// CHECK: npu.load %{{.*}}[%c0], %{{.*}}[%[[FROM]]] count %c1 len %[[N]]
// CHECK: npu.load
// CHECK: npu.vbinary {{ *}}add {{.*}} count %[[N]]
// CHECK: npu.store %{{.*}}[%[[FROM]]], %{{.*}}[%c0] count %c1 len %[[N]]
func.func @add(%x: memref<1000xf32>, %y: memref<1000xf32>, %z: memref<1000xf32>)
    attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]}
    ins(%x, %y : memref<1000xf32>, memref<1000xf32>) outs(%z : memref<1000xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A strided view takes one transfer of many bursts; the factor is the kernel's scalar.
// CHECK-LABEL: func.func @strided_0
// CHECK: npu.load %{{.*}}[%c0], %{{.*}} count %[[ROWS:.*]] len %{{.*}} src_stride %c100 dst_stride
// CHECK: npu.vscalar{{ +}}muls {{.*}}, %arg{{[0-9]}} count
// CHECK: npu.store {{.*}} dst_stride %c30 src_stride
func.func @strided(%x: memref<64x100xf32>, %s: f32, %z: memref<64x30xf32>)
    attributes {asc.kernel} {
  %v = memref.subview %x[0, 7] [64, 30] [1, 1] : memref<64x100xf32> to
    memref<64x30xf32, strided<[100, 1], offset: 7>>
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%v : memref<64x30xf32, strided<[100, 1], offset: 7>>) outs(%z : memref<64x30xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.mulf %a, %s : f32
    linalg.yield %m : f32
  }
  return
}

// -----

// What lies across the result is loaded in columns and transposed; the other operand is not.
// CHECK-LABEL: func.func @across_0
// CHECK: npu.load %[[COLUMNS:[0-9]+]][%c0], %arg0[%{{.*}}] count %[[C:.*]] len %[[R:.*]] src_stride %c96 dst_stride
// CHECK: npu.vtranspose %[[TILE:[0-9]+]][%c0], %[[COLUMNS]][%c0] rows %[[C]] cols %[[R]] a_stride
// CHECK: npu.load %{{.*}}, %arg1[%{{.*}}] count %[[R]] len %[[C]] src_stride %c500
// CHECK: npu.vbinary{{ +}}add %{{.*}}, %[[TILE]][%c0], %
func.func @across(%x: memref<500x96xf32>, %y: memref<96x500xf32>, %z: memref<96x500xf32>)
    attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>,
                     affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : memref<500x96xf32>, memref<96x500xf32>) outs(%z : memref<96x500xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// One operand a row and one a column.
// CHECK-LABEL: func.func @normalise_0
// CHECK: npu.load {{.*}} count %c1 len %c384
// CHECK: scf.for
// CHECK: npu.vrow_binary{{ +}}sub
// CHECK: npu.vcol_binary{{ +}}mul
// CHECK: npu.vunary{{ +}}exp
func.func @normalise(%x: memref<640x384xf32>, %m: memref<640xf32>, %g: memref<384xf32>,
                     %z: memref<640x384xf32>) attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                     affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x, %m, %g : memref<640x384xf32>, memref<640xf32>, memref<384xf32>)
    outs(%z : memref<640x384xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = arith.subf %a, %b : f32
    %p = arith.mulf %s, %c : f32
    %e = math.exp %p : f32
    linalg.yield %e : f32
  }
  return
}

// -----

// Half sums are taken in f32 and rounded once.
// CHECK-LABEL: func.func @half_sum_0
// CHECK: npu.vcast {{.*}} round none : memref<{{.*}}xf32, {{.*}}>, memref<{{.*}}xf16
// CHECK: npu.vrow_reduce{{ +}}sum
// CHECK: npu.vbinary{{ +}}add
// CHECK: npu.vcast {{.*}} round rint : memref<{{.*}}xf16, {{.*}}>, memref<{{.*}}xf32
// CHECK: npu.store
func.func @half_sum(%x: memref<500x128xf16>, %y: memref<500xf16>) attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<500x128xf16>) outs(%y : memref<500xf16>) {
  ^bb0(%a: f16, %c: f16):
    %s = arith.addf %c, %a : f16
    linalg.yield %s : f16
  }
  return
}

// -----

// The sum of everything: parts with partial results, the last one shorter, then their sum in order.
// CHECK-LABEL: func.func @total_0
// CHECK-SAME: npu.binding = "workspace:0"
// CHECK-SAME: npu.blocks = 40 : i64
// CHECK: npu.vdup
// CHECK: arith.muli %{{.*}}, %c25024
// CHECK: arith.subi %c1000003
// CHECK: npu.vreduce{{ +}}sum
// CHECK-LABEL: func.func @total_1
// CHECK-SAME: npu.blocks = 1 : i64
// CHECK: npu.vreduce{{ +}}sum
// CHECK-NOT: func.func @total_2
func.func @total(%x: memref<1000003xf32>, %y: memref<f32>) attributes {asc.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
                  iterator_types = ["reduction"]}
    ins(%x : memref<1000003xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Columns with the fill of their results: many rows a transfer, folded by halves.
// CHECK-LABEL: func.func @columns_0
// CHECK: npu.vdup
// CHECK: npu.load %{{.*}} count %[[ROWS:.*]] len %{{.*}} src_stride %c300
// CHECK: npu.vbinary{{ +}}add
// CHECK-NOT: npu.load
// CHECK: npu.store
// CHECK-NOT: func.func @columns_1
func.func @columns(%x: memref<90x300xi32>, %y: memref<300xi32>) attributes {asc.kernel} {
  %zero = arith.constant 0 : i32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    outs(%y : memref<300xi32>) {
  ^bb0(%c: i32):
    linalg.yield %zero : i32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<90x300xi32>) outs(%y : memref<300xi32>) {
  ^bb0(%a: i32, %c: i32):
    %s = arith.addi %c, %a : i32
    linalg.yield %s : i32
  }
  return
}

// -----

// Rows of integers are transposed; 64-bit sums of 32-bit elements are put together of halves.
// CHECK-LABEL: func.func @wide_sums_0
// CHECK: npu.vscalar{{ +}}muls
// CHECK: npu.vtranspose
// CHECK: npu.vbinary{{ +}}add
// CHECK: arith.shli
// CHECK: memref.store %{{.*}} : memref<{{[0-9]+}}xi64, #npu.space<ub>>
// CHECK: npu.store
func.func @wide_sums(%x: memref<90x300xi32>, %y: memref<90xi64>) attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<90x300xi32>) outs(%y : memref<90xi64>) {
  ^bb0(%a: i32, %c: i64):
    %e = arith.extsi %a : i32 to i64
    %s = arith.addi %c, %e : i64
    linalg.yield %s : i64
  }
  return
}

// -----

// A convolution: each row of the image is loaded once for several filters, whose weights are
// scalars.
// CHECK-LABEL: func.func @conv_0
// CHECK: npu.buffer depth 2 : memref<512xf32, #npu.space<ub>>
// CHECK: scf.for
// CHECK: npu.load
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: npu.load {{.*}} src_stride %c23
// CHECK: scf.for
// CHECK: %[[W:.*]] = memref.load %{{.*}} : memref<315xf32
// CHECK: npu.vscalar{{ +}}muls {{.*}}, %[[W]]
// CHECK: npu.vbinary{{ +}}add %[[ACC:.*]][%[[AT:.*]]], %[[ACC]][%[[AT]]]
// CHECK: npu.store
func.func @conv(%x: memref<2x5x19x23xf32>, %w: memref<7x5x3x3xf32>, %y: memref<2x7x17x21xf32>)
    attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(n,f,h,w,c,p,q) -> (n,c,h+p,w+q)>,
                     affine_map<(n,f,h,w,c,p,q) -> (f,c,p,q)>,
                     affine_map<(n,f,h,w,c,p,q) -> (n,f,h,w)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction",
                      "reduction"]}
    ins(%x, %w : memref<2x5x19x23xf32>, memref<7x5x3x3xf32>) outs(%y : memref<2x7x17x21xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Comparisons become bit masks, bools are bytes of 0 and 1.
// CHECK-LABEL: func.func @masks_0
// CHECK: npu.vcompares{{ +}}gt {{.*}}, %cst
// CHECK: npu.vselect
// CHECK: npu.vcast {{.*}} : memref<{{.*}}xi8, {{.*}}>, memref<{{.*}}xf16
// CHECK: npu.store
func.func @masks(%x: memref<777xf32>, %z: memref<777xi8>) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]}
    ins(%x : memref<777xf32>) outs(%z : memref<777xi8>) {
  ^bb0(%a: f32, %c: i8):
    %p = arith.cmpf ogt, %a, %zero : f32
    %b = arith.extui %p : i1 to i8
    linalg.yield %b : i8
  }
  return
}

// -----

// What the unit does not have, and what it cannot reach, goes to the scalar unit with a reason.
// CHECK: reason = "cube: switched off; vector: the vector unit has no arith.divsi on i32"
// CHECK: reason = "cube: switched off; vector: no dimension is contiguous in all operands"
// CHECK: reason = "cube: switched off; vector: an operand overlaps the result"
// CHECK-LABEL: func.func @refused_0
func.func @refused(%a: memref<100xi32>, %b: memref<100xi32>, %x: memref<20x59xf32>,
                   %y: memref<30x20xf32>) attributes {asc.kernel} {
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]}
    ins(%a : memref<100xi32>) outs(%b : memref<100xi32>) {
  ^bb0(%p: i32, %q: i32):
    %d = arith.divsi %p, %p : i32
    linalg.yield %d : i32
  }
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1 * 2)>, affine_map<(d0, d1) -> (d1, d0)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<20x59xf32>) outs(%y : memref<30x20xf32>) {
  ^bb0(%p: f32, %q: f32):
    linalg.yield %p : f32
  }
  %from = memref.subview %a[0] [99] [1] : memref<100xi32> to memref<99xi32, strided<[1]>>
  %to = memref.subview %a[1] [99] [1] : memref<100xi32> to memref<99xi32, strided<[1], offset: 1>>
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]}
    ins(%from : memref<99xi32, strided<[1]>>) outs(%to : memref<99xi32, strided<[1], offset: 1>>) {
  ^bb0(%p: i32, %q: i32):
    linalg.yield %p : i32
  }
  return
}

// -----

// tanh that is wanted only as x / 2 * (1 + tanh(x)) is the quotient x / (1 + exp(-2 x)); twice a
// larger factor might not be finite, and there it stays a product.
// CHECK-LABEL: func.func @tanh_factor_0
// CHECK: npu.vunary{{ +}}exp
// CHECK-NOT: npu.vscalar{{ +}}muls
// CHECK: npu.vbinary{{ +}}div
// CHECK-NOT: npu.vbinary
// CHECK: return
// CHECK-LABEL: func.func @tanh_factor_1
// CHECK: npu.vbinary{{ +}}mul
// CHECK: return
#id = affine_map<(d0) -> (d0)>
func.func @tanh_factor(%x: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>)
    attributes {asc.kernel} {
  %half = arith.constant 0.5 : f32
  %large = arith.constant 1.5 : f32
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %half : f32
    %1 = math.tanh %a : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %0, %2 : f32
    linalg.yield %3 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%y : memref<4096xf32>) outs(%z : memref<4096xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %large : f32
    %1 = math.tanh %a : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %0, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

// 1 + erf(x) is a quotient too, of a polynomial's exponential; what scales x takes its factor.
// CHECK-LABEL: func.func @erf_incremented
// CHECK: npu.vscalar{{ +}}muls
// CHECK-NOT: npu.vscalar{{ +}}muls
// CHECK: npu.vunary{{ +}}exp
// CHECK: npu.vscalar{{ +}}adds
// CHECK: npu.vbinary{{ +}}div
// CHECK-NOT: npu.vbinary
// CHECK: return
#id = affine_map<(d0) -> (d0)>
func.func @erf_incremented(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {asc.kernel} {
  %half = arith.constant 0.5 : f32
  %root = arith.constant 0.70710678118 : f32
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %half : f32
    %1 = arith.mulf %a, %root : f32
    %2 = math.erf %1 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %0, %3 : f32
    linalg.yield %4 : f32
  }
  return
}
