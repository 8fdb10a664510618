// RUN: pyasc-opt %s --split-input-file --npu-plan --canonicalize --cse | FileCheck %s

// A product of f32 matrices after a zero fill: one phase on all cube cores, the fill is folded into
// a plain store, B (rows along k) is transposed on its way to L0B.
// CHECK: npu.lowered = [{{.*}}unit = "cube", what = "contraction 1024x1024x1024 f32"
// CHECK-SAME: npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []
// CHECK: func.func @matmul_0(%[[A:.*]]: memref<1048576xf32, #npu.space<gm>> {npu.binding = "parameter:0"}, %[[B:.*]]: memref<1048576xf32, #npu.space<gm>> {npu.binding = "parameter:1"}, %[[C:.*]]: memref<1048576xf32, #npu.space<gm>> {npu.binding = "result:0"}) attributes {npu.blocks = 20 : i64, npu.core = "aic"}
// CHECK-DAG: npu.buffer depth 2 : memref<{{.*}}xf32, #npu.space<l0a>>
// CHECK-DAG: npu.buffer depth 2 : memref<{{.*}}xf32, #npu.space<l0b>>
// CHECK: npu.block_idx
// CHECK: scf.for
// CHECK: scf.for
// CHECK: npu.load_nd2nz %{{.*}}, %[[A]]
// CHECK: npu.load_nd2nz %{{.*}}, %[[B]]
// CHECK: scf.for
// CHECK: npu.load_l0 {{.*}} src_rows %{{[a-z0-9_]*}} : memref<{{.*}}l0a
// CHECK: npu.load_l0 {{.*}} transpose : memref<{{.*}}l0b
// CHECK: npu.mmad
// CHECK-NOT: a_transposed
// CHECK: npu.fixpipe %[[C]]{{.*}} src_rows %{{[a-z0-9_]*}} : memref
func.func @matmul(%A: memref<1024x1024xf32>, %B: memref<1024x1024xf32>,
                  %C: memref<1024x1024xf32> {asc.result}) attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>],
                  iterator_types = ["parallel", "parallel"]} outs(%C : memref<1024x1024xf32>) {
  ^bb0(%c: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<1024x1024xf32>, memref<1024x1024xf32>)
      outs(%C : memref<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Without a fill before it, the result is added to what is there; A's rows along k make the f32
// fractals of L0A padded.
// CHECK-LABEL: func.func @accumulate_0
// CHECK: npu.load_l0 {{.*}} transpose : memref<{{.*}}l0a
// CHECK: npu.load_l0 {{.*}} src_rows %{{[a-z0-9_]*}} : memref<{{.*}}l0b
// CHECK: npu.mmad {{.*}} a_transposed
// CHECK: npu.fixpipe {{.*}} atomic add
func.func @accumulate(%A: memref<70x30xf32>, %B: memref<50x70xf32>, %C: memref<30x50xf32>)
    attributes {asc.kernel} {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<70x30xf32>, memref<50x70xf32>) outs(%C : memref<30x50xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %b, %a : f32
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// f16 in and out: accumulated in f32 on the chip, rounded by the fixpipe; the temporary is gone.
// CHECK: npu.workspaces = []
// CHECK-LABEL: func.func @half_0
// CHECK: npu.fixpipe %{{.*}} : memref<1600xf16, #npu.space<gm>>, memref<{{.*}}xf32, #npu.space<l0c>>
// CHECK-NOT: func.func
func.func @half(%A: memref<40x8xf16>, %B: memref<8x40xf16>, %C: memref<40x40xf16> {asc.result})
    attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  %T = memref.alloc() : memref<40x40xf32>
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>],
                  iterator_types = ["parallel", "parallel"]} outs(%T : memref<40x40xf32>) {
  ^bb0(%c: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<40x8xf16>, memref<8x40xf16>) outs(%T : memref<40x40xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%T : memref<40x40xf32>) outs(%C : memref<40x40xf16>) {
  ^bb0(%t: f32, %c: f16):
    %r = arith.truncf %t : f32 to f16
    linalg.yield %r : f16
  }
  return
}

// -----

// A matrix-vector product leaves the cube as one row: the vector is A, the matrix B.
// CHECK: func.func @vector_0(%[[X:.*]]: memref<300xf32, #npu.space<gm>> {npu.binding = "parameter:1"}, %[[M:.*]]: memref<60000xf32, #npu.space<gm>> {npu.binding = "parameter:0"}
// CHECK: npu.load_nd2nz %{{.*}}, %[[X]]{{.*}} rows %c1
// CHECK: npu.load_nd2nz %{{.*}}, %[[M]]
func.func @vector(%M: memref<200x300xf32>, %x: memref<300xf32>, %y: memref<200xf32>)
    attributes {asc.kernel} {
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>,
                                   affine_map<(m, k) -> (m)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%M, %x : memref<200x300xf32>, memref<300xf32>) outs(%y : memref<200xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Rows farther apart than ND to NZ can say are loaded one by one.
// CHECK-LABEL: func.func @far_0
// CHECK: scf.for %[[ROW:.*]] = %c0 to
// CHECK: npu.load_nd2nz {{.*}} rows %c1 {{.*}} src_stride %c1
func.func @far(%A: memref<32x70000xf32>, %B: memref<16x16xf32>, %C: memref<32x16xf32>)
    attributes {asc.kernel} {
  %a = memref.subview %A[0, 64] [32, 16] [1, 1]
    : memref<32x70000xf32> to memref<32x16xf32, strided<[70000, 1], offset: 64>>
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %B : memref<32x16xf32, strided<[70000, 1], offset: 64>>, memref<16x16xf32>)
      outs(%C : memref<32x16xf32>) {
  ^bb0(%x: f32, %b: f32, %c: f32):
    %p = arith.mulf %x, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// An empty contraction does nothing; a kernel without any work is one phase that does nothing.
// CHECK: module attributes {{.*}}what = "contraction 16x16x0 f32"
// CHECK: func.func @empty_0() attributes {npu.blocks = 1 : i64, npu.core = "aiv"} {
// CHECK-NEXT: return
func.func @empty(%A: memref<16x0xf32>, %B: memref<0x16xf32>, %C: memref<16x16xf32>)
    attributes {asc.kernel} {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<16x0xf32>, memref<0x16xf32>) outs(%C : memref<16x16xf32>) {
  ^bb0(%x: f32, %b: f32, %c: f32):
    %p = arith.mulf %x, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A convolution: the filter's rows are read as they lie, the image in nine loads a panel, one for
// each place of the filter, between each other's rows. Rows of images are one long row; one phase
// copies the parts that count.
// CHECK-LABEL: func.func @conv_0
// CHECK-SAME: npu.core = "aic"
// CHECK: npu.load_nd2nz {{.*}} dst_rows %{{[a-z0-9_]*}} :
// CHECK: scf.for %{{.*}} = %c0{{[a-z0-9_]*}} to %c9
// CHECK: npu.load_nd2nz {{.*}} row_step 9
// CHECK-LABEL: func.func @conv_1
// CHECK-SAME: npu.core = "aiv"
// CHECK-NOT: func.func
func.func @conv(%w: memref<20x17x3x3xf16>, %x: memref<2x17x30x30xf16>, %y: memref<2x20x28x28xf32>)
    attributes {asc.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(n, f, h, w) -> (n, f, h, w)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%y : memref<2x20x28x28xf32>) {
  ^bb0(%c: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c, i, j) -> (f, c, i, j)>,
                                   affine_map<(n, f, h, w, c, i, j) -> (n, c, h + i, w + j)>,
                                   affine_map<(n, f, h, w, c, i, j) -> (n, f, h, w)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel",
                                    "reduction", "reduction", "reduction"]}
      ins(%w, %x : memref<20x17x3x3xf16>, memref<2x17x30x30xf16>)
      outs(%y : memref<2x20x28x28xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %p = arith.extf %a : f16 to f32
    %q = arith.extf %b : f16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %c, %r : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Statements that add a filter's places one by one are one contraction.
// CHECK-LABEL: func.func @taps_0
// CHECK-SAME: npu.core = "aic"
// CHECK: scf.for %{{.*}} = %c0{{[a-z0-9_]*}} to %c3
// CHECK: npu.load_nd2nz {{.*}} row_step 3
// CHECK-NOT: func.func
#w = affine_map<(f, x, c) -> (f, c)>
#x = affine_map<(f, x, c) -> (c, x)>
#y = affine_map<(f, x, c) -> (f, x)>
func.func @taps(%w: memref<32x64x3xf32>, %x: memref<64x130xf32>, %y: memref<32x128xf32>)
    attributes {asc.kernel} {
  %w0 = memref.subview %w[0, 0, 0] [32, 64, 1] [1, 1, 1]
    : memref<32x64x3xf32> to memref<32x64xf32, strided<[192, 3]>>
  %w1 = memref.subview %w[0, 0, 1] [32, 64, 1] [1, 1, 1]
    : memref<32x64x3xf32> to memref<32x64xf32, strided<[192, 3], offset: 1>>
  %w2 = memref.subview %w[0, 0, 2] [32, 64, 1] [1, 1, 1]
    : memref<32x64x3xf32> to memref<32x64xf32, strided<[192, 3], offset: 2>>
  %x0 = memref.subview %x[0, 0] [64, 128] [1, 1]
    : memref<64x130xf32> to memref<64x128xf32, strided<[130, 1]>>
  %x1 = memref.subview %x[0, 1] [64, 128] [1, 1]
    : memref<64x130xf32> to memref<64x128xf32, strided<[130, 1], offset: 1>>
  %x2 = memref.subview %x[0, 2] [64, 128] [1, 1]
    : memref<64x130xf32> to memref<64x128xf32, strided<[130, 1], offset: 2>>
  linalg.generic {indexing_maps = [#w, #x, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w0, %x0 : memref<32x64xf32, strided<[192, 3]>>, memref<64x128xf32, strided<[130, 1]>>)
      outs(%y : memref<32x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#w, #x, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w1, %x1 : memref<32x64xf32, strided<[192, 3], offset: 1>>, memref<64x128xf32, strided<[130, 1], offset: 1>>)
      outs(%y : memref<32x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#w, #x, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w2, %x2 : memref<32x64xf32, strided<[192, 3], offset: 2>>, memref<64x128xf32, strided<[130, 1], offset: 2>>)
      outs(%y : memref<32x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
