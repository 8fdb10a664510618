// RUN: pyasc-opt %s --structure | FileCheck %s

// CHECK-LABEL: func.func @nothing
// CHECK: return
func.func @nothing() attributes {asc.kernel} {
  return
}

// What reads the memory that it overwrites is no producer to inline, whoever wrote that memory.
// CHECK-LABEL: func.func @unwritten(
// CHECK: %[[T:.*]] = memref.alloc()
// CHECK: linalg.generic {{.*}} ins(%[[T]], %{{.*}}) outs(%[[T]] :
// CHECK: linalg.generic {{.*}} ins(%[[T]] : {{.*}}) outs(%arg1 :
func.func @unwritten(%x: memref<8xf32>, %y: memref<8xf32>) attributes {asc.kernel} {
  %t = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t, %x : memref<8xf32>, memref<8xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}
