// Nests that raising must keep the meaning of, whether it raises or refuses them.

func.func @blocked_matmul(%A: memref<64x64xf32> {asc.name = "A"}, %B: memref<64x64xf32> {asc.name = "B"}, %C: memref<64x64xf32> {asc.name = "C"}) {
affine.for %i = 0 to 64 step 16 {
affine.for %j = 0 to 64 step 16 {
affine.for %k = 0 to 64 {
affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+16, 64)>(%i) {
affine.for %jj = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0)->(d0+16, 64)>(%j) {
%x = affine.load %C[%ii,%jj] : memref<64x64xf32>
    %y = affine.load %A[%ii,%k] : memref<64x64xf32>
    %z = affine.load %B[%k,%jj] : memref<64x64xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.addf %x, %p : f32
    affine.store %r, %C[%ii,%jj] : memref<64x64xf32>
}}}}}
  return
}

func.func @ragged_matmul(%A: memref<50x50xf32> {asc.name = "A"}, %B: memref<50x50xf32> {asc.name = "B"}, %C: memref<50x50xf32> {asc.name = "C"}) {
affine.for %i = 0 to 50 step 16 {
affine.for %j = 0 to 50 step 16 {
affine.for %k = 0 to 50 {
affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+16, 50)>(%i) {
affine.for %jj = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0)->(d0+16, 50)>(%j) {
%x = affine.load %C[%ii,%jj] : memref<50x50xf32>
    %y = affine.load %A[%ii,%k] : memref<50x50xf32>
    %z = affine.load %B[%k,%jj] : memref<50x50xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.addf %x, %p : f32
    affine.store %r, %C[%ii,%jj] : memref<50x50xf32>
}}}}}
  return
}

func.func @permuted_matmul(%A: memref<50x50xf32> {asc.name = "A"}, %B: memref<50x50xf32> {asc.name = "B"}, %C: memref<50x50xf32> {asc.name = "C"}) {
affine.for %k = 0 to 50 {
affine.for %j = 0 to 50 step 16 {
affine.for %i = 0 to 50 step 16 {
affine.for %jj = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0)->(d0+16, 50)>(%j) {
affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+16, 50)>(%i) {
%x = affine.load %C[%ii,%jj] : memref<50x50xf32>
    %y = affine.load %A[%ii,%k] : memref<50x50xf32>
    %z = affine.load %B[%k,%jj] : memref<50x50xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.addf %x, %p : f32
    affine.store %r, %C[%ii,%jj] : memref<50x50xf32>
}}}}}
  return
}

func.func @overlapping_tiles(%A: memref<50x50xf32> {asc.name = "A"}, %B: memref<50x50xf32> {asc.name = "B"}, %C: memref<50x50xf32> {asc.name = "C"}) {
affine.for %i = 0 to 50 step 16 {
affine.for %j = 0 to 50 step 16 {
affine.for %k = 0 to 50 {
affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+19, 50)>(%i) {
affine.for %jj = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0)->(d0+16, 50)>(%j) {
%x = affine.load %C[%ii,%jj] : memref<50x50xf32>
    %y = affine.load %A[%ii,%k] : memref<50x50xf32>
    %z = affine.load %B[%k,%jj] : memref<50x50xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.addf %x, %p : f32
    affine.store %r, %C[%ii,%jj] : memref<50x50xf32>
}}}}}
  return
}

func.func @two_level_tiles(%A: memref<60x60xf32> {asc.name = "A"}, %B: memref<60x60xf32> {asc.name = "B"}) {
affine.for %i = 0 to 60 step 20 {
affine.for %j = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+20, 60)>(%i) step 8 {
affine.for %k = affine_map<(d0)->(d0)>(%j) to min affine_map<(d0,d1)->(d0+8, d1+20, 60)>(%j,%i) {
affine.for %l = 0 to 60 {
  %x = affine.load %A[%k,%l] : memref<60x60xf32>
  %y = arith.mulf %x, %x : f32
  affine.store %y, %B[%l,%k] : memref<60x60xf32>
}}}}
  return
}

func.func @gapped_tiles(%A: memref<60xf32> {asc.name = "A"}, %B: memref<60xf32> {asc.name = "B"}) {
affine.for %i = 0 to 60 step 10 {
affine.for %k = affine_map<(d0)->(d0)>(%i) to affine_map<(d0)->(d0+8)>(%i) {
  %x = affine.load %A[%k] : memref<60xf32>
  affine.store %x, %B[%k] : memref<60xf32>
}}
  return
}

func.func @guarded_tail(%A: memref<50x50xf32> {asc.name = "A"}, %B: memref<50x50xf32> {asc.name = "B"}) {
affine.for %i = 0 to 4 {
affine.for %ii = 0 to 16 {
affine.for %j = 0 to 50 {
affine.if affine_set<(d0,d1):(49 - d0*16 - d1>=0)>(%i,%ii) {
  %x = affine.load %A[%i*16+%ii,%j] : memref<50x50xf32>
  affine.store %x, %B[%j,%i*16+%ii] : memref<50x50xf32>
}}}}
  return
}

func.func @trmm(%A: memref<24x24xf32> {asc.name = "A"}, %B: memref<24x24xf32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
affine.for %j = 0 to 24 {
affine.for %k = affine_map<(d0)->(d0+1)>(%i) to 24 {
%x = affine.load %B[%i,%j] : memref<24x24xf32>
    %y = affine.load %A[%k,%i] : memref<24x24xf32>
    %z = affine.load %B[%k,%j] : memref<24x24xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.addf %x, %p : f32
    affine.store %r, %B[%i,%j] : memref<24x24xf32>}}}
  return
}

func.func @syrk(%A: memref<24x24xf32> {asc.name = "A"}, %C: memref<24x24xf32> {asc.name = "C"}) {
affine.for %i = 0 to 24 {
affine.for %j = 0 to affine_map<(d0)->(d0+1)>(%i) {
affine.for %k = 0 to 24 {
%x = affine.load %C[%i,%j] : memref<24x24xf32>
    %y = affine.load %A[%i,%k] : memref<24x24xf32>
    %z = affine.load %A[%j,%k] : memref<24x24xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.addf %x, %p : f32
    affine.store %r, %C[%i,%j] : memref<24x24xf32>}}}
  return
}

func.func @lu(%A: memref<24x24xf32> {asc.name = "A"}) {
affine.for %k = 0 to 24 {
affine.for %i = affine_map<(d0)->(d0+1)>(%k) to 24 {
  %a = affine.load %A[%i,%k] : memref<24x24xf32>
  %b = affine.load %A[%k,%k] : memref<24x24xf32>
  %four = arith.constant 400.0 : f32
  %c = arith.addf %b, %four : f32
  %d = arith.divf %a, %c : f32
  affine.store %d, %A[%i,%k] : memref<24x24xf32>
  affine.for %j = affine_map<(d0)->(d0+1)>(%k) to 24 {
%x = affine.load %A[%i,%j] : memref<24x24xf32>
    %y = affine.load %A[%i,%k] : memref<24x24xf32>
    %z = affine.load %A[%k,%j] : memref<24x24xf32>
    %p = arith.mulf %y, %z : f32
    %r = arith.subf %x, %p : f32
    affine.store %r, %A[%i,%j] : memref<24x24xf32>}}}
  return
}

func.func @seidel(%A: memref<24x24xf32> {asc.name = "A"}) {
affine.for %t = 0 to 3 {
affine.for %i = 1 to 23 {
affine.for %j = 1 to 23 {
  %a = affine.load %A[%i+1,%j] : memref<24x24xf32>
  %b = affine.load %A[%i,%j+1] : memref<24x24xf32>
  %c = affine.load %A[%i + -1,%j] : memref<24x24xf32>
  %d = affine.load %A[%i,%j + -1] : memref<24x24xf32>
  %e = arith.addf %a, %b : f32
  %f = arith.addf %c, %d : f32
  %g = arith.addf %e, %f : f32
  %q = arith.constant 0.25 : f32
  %h = arith.mulf %g, %q : f32
  affine.store %h, %A[%i,%j] : memref<24x24xf32>
}}}
  return
}

func.func @jacobi(%A: memref<24xf32> {asc.name = "A"}, %B: memref<24xf32> {asc.name = "B"}) {
affine.for %t = 0 to 3 {
affine.for %i = 1 to 23 {
  %a = affine.load %A[%i + -1] : memref<24xf32>
  %b = affine.load %A[%i+1] : memref<24xf32>
  %c = arith.addf %a, %b : f32
  affine.store %c, %B[%i] : memref<24xf32>
}
affine.for %i = 1 to 23 {
  %a = affine.load %B[%i] : memref<24xf32>
  affine.store %a, %A[%i] : memref<24xf32>
}}
  return
}

func.func @prefix_sum(%A: memref<40xf32> {asc.name = "A"}) {
affine.for %i = 1 to 40 {
  %a = affine.load %A[%i + -1] : memref<40xf32>
  %b = affine.load %A[%i] : memref<40xf32>
  %c = arith.addf %a, %b : f32
  affine.store %c, %A[%i] : memref<40xf32>
}
  return
}

func.func @prefix_sum_by_cell(%A: memref<40xf32> {asc.name = "A"}, %B: memref<40xf32> {asc.name = "B"}) {
%s = memref.alloca() : memref<f32>
%zero = arith.constant 0.0 : f32
affine.store %zero, %s[] : memref<f32>
affine.for %i = 0 to 40 {
  %a = affine.load %A[%i] : memref<40xf32>
  %b = affine.load %s[] : memref<f32>
  %c = arith.addf %a, %b : f32
  affine.store %c, %s[] : memref<f32>
  %d = affine.load %s[] : memref<f32>
  affine.store %d, %B[%i] : memref<40xf32>
}
  return
}

func.func @shift_down(%A: memref<40xf32> {asc.name = "A"}) {
affine.for %i = 0 to 39 {
  %a = affine.load %A[%i + 1] : memref<40xf32>
  affine.store %a, %A[%i] : memref<40xf32>
}
  return
}

func.func @shift_up(%A: memref<40xf32> {asc.name = "A"}) {
affine.for %i = 0 to 39 {
  %a = affine.load %A[%i] : memref<40xf32>
  affine.store %a, %A[%i + 1] : memref<40xf32>
}
  return
}

func.func @reversed(%A: memref<40xf32> {asc.name = "A"}, %B: memref<40xf32> {asc.name = "B"}) {
affine.for %i = 0 to 40 {
  %a = affine.load %A[39 - %i] : memref<40xf32>
  affine.store %a, %B[%i] : memref<40xf32>
}
  return
}

func.func @both_reversed(%A: memref<40xf32> {asc.name = "A"}, %B: memref<40xf32> {asc.name = "B"}) {
affine.for %i = 0 to 40 {
  %a = affine.load %A[39 - %i] : memref<40xf32>
  affine.store %a, %B[39 - %i] : memref<40xf32>
}
  return
}

func.func @reverse_in_place(%A: memref<40xf32> {asc.name = "A"}) {
affine.for %i = 0 to 40 {
  %a = affine.load %A[39 - %i] : memref<40xf32>
  affine.store %a, %A[%i] : memref<40xf32>
}
  return
}

func.func @transpose_in_place(%A: memref<24x24xf32> {asc.name = "A"}) {
affine.for %i = 0 to 24 {
affine.for %j = 0 to 24 {
  %a = affine.load %A[%j,%i] : memref<24x24xf32>
  affine.store %a, %A[%i,%j] : memref<24x24xf32>
}}
  return
}

func.func @transpose_by_swap(%A: memref<24x24xf32> {asc.name = "A"}) {
affine.for %i = 0 to 24 {
affine.for %j = 0 to affine_map<(d0)->(d0)>(%i) {
  %a = affine.load %A[%j,%i] : memref<24x24xf32>
  %b = affine.load %A[%i,%j] : memref<24x24xf32>
  affine.store %a, %A[%i,%j] : memref<24x24xf32>
  affine.store %b, %A[%j,%i] : memref<24x24xf32>
}}
  return
}

func.func @swap_rows(%A: memref<4x24xf32> {asc.name = "A"}) {
affine.for %j = 0 to 24 {
  %a = affine.load %A[0,%j] : memref<4x24xf32>
  %b = affine.load %A[2,%j] : memref<4x24xf32>
  affine.store %a, %A[2,%j] : memref<4x24xf32>
  affine.store %b, %A[0,%j] : memref<4x24xf32>
}
  return
}

func.func @diagonal(%A: memref<24x24xf32> {asc.name = "A"}, %B: memref<24xf32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
  %a = affine.load %A[%i,%i] : memref<24x24xf32>
  affine.store %a, %B[%i] : memref<24xf32>
}
  return
}

func.func @last_value(%A: memref<24xf32> {asc.name = "A"}, %B: memref<4xf32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
  %a = affine.load %A[%i] : memref<24xf32>
  affine.store %a, %B[1] : memref<4xf32>
}
  return
}

func.func @repeated_update(%A: memref<24xf32> {asc.name = "A"}, %B: memref<24xf32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
affine.for %r = 0 to 3 {
  %a = affine.load %A[%i] : memref<24xf32>
  %b = affine.load %B[%i] : memref<24xf32>
  %c = arith.addf %a, %b : f32
  affine.store %c, %B[%i] : memref<24xf32>
}}
  return
}

func.func @repeated_write(%A: memref<24xf32> {asc.name = "A"}, %B: memref<24xf32> {asc.name = "B"}) {
affine.for %r = 0 to 3 {
affine.for %i = 0 to 24 {
  %a = affine.load %A[%i] : memref<24xf32>
  affine.store %a, %B[%i] : memref<24xf32>
}}
  return
}

func.func @lost_update(%A: memref<24xi32> {asc.name = "A"}, %B: memref<2xi32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
  %b = affine.load %B[0] : memref<2xi32>
  %a = affine.load %A[%i] : memref<24xi32>
  %c = arith.addi %b, %a : i32
  %d = arith.muli %a, %a : i32
  %e = arith.addi %b, %d : i32
  affine.store %c, %B[0] : memref<2xi32>
  affine.store %e, %B[0] : memref<2xi32>
}
  return
}

func.func @histogram(%A: memref<24xi32> {asc.name = "A"}, %B: memref<64xi32> {asc.name = "B"}) {
%m = arith.constant 63 : i32
%one = arith.constant 1 : i32
affine.for %i = 0 to 24 {
  %a = affine.load %A[%i] : memref<24xi32>
  %b = arith.andi %a, %m : i32
  %c = arith.index_cast %b : i32 to index
  %d = memref.load %B[%c] : memref<64xi32>
  %e = arith.addi %d, %one : i32
  memref.store %e, %B[%c] : memref<64xi32>
}
  return
}

func.func @gather(%A: memref<24xi32> {asc.name = "A"}, %B: memref<64xi32> {asc.name = "B"}, %C: memref<24xi32> {asc.name = "C"}) {
%m = arith.constant 63 : i32
affine.for %i = 0 to 24 {
  %a = affine.load %A[%i] : memref<24xi32>
  %b = arith.andi %a, %m : i32
  %c = arith.index_cast %b : i32 to index
  %d = memref.load %B[%c] : memref<64xi32>
  affine.store %d, %C[%i] : memref<24xi32>
}
  return
}

func.func @hoisted_load(%A: memref<24xi32> {asc.name = "A"}, %B: memref<24xi32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
  %t = affine.load %A[%i] : memref<24xi32>
  affine.for %j = 0 to 24 {
    %u = affine.load %B[%j] : memref<24xi32>
    %c = arith.addi %u, %t : i32
    affine.store %c, %A[%j] : memref<24xi32>
  }
}
  return
}

func.func @hoisted_load_kept_inner(%A: memref<24xi32> {asc.name = "A"}, %B: memref<24x24xi32> {asc.name = "B"}) {
affine.for %i = 0 to 24 {
  %t = affine.load %A[%i] : memref<24xi32>
  affine.for %k = 1 to 24 {
    affine.for %j = 0 to 24 {
      %u = affine.load %B[%k + -1, %j] : memref<24x24xi32>
      %c = arith.addi %u, %t : i32
      affine.store %c, %B[%k, %j] : memref<24x24xi32>
    }
    %q = affine.load %B[%k, 3] : memref<24x24xi32>
    affine.store %q, %A[%i] : memref<24xi32>
  }
}
  return
}

func.func @window_sum(%X: memref<20x20xf32> {asc.name = "X"}, %W: memref<3x3xf32> {asc.name = "W"}, %Y: memref<18x18xf32> {asc.name = "Y"}) {
affine.for %i = 0 to 18 {
affine.for %j = 0 to 18 {
affine.for %p = 0 to 3 {
affine.for %q = 0 to 3 {
  %a = affine.load %X[%i+%p,%j+%q] : memref<20x20xf32>
  %w = affine.load %W[%p,%q] : memref<3x3xf32>
  %y = affine.load %Y[%i,%j] : memref<18x18xf32>
  %m = arith.mulf %a, %w : f32
  %s = arith.addf %y, %m : f32
  affine.store %s, %Y[%i,%j] : memref<18x18xf32>
}}}}
  return
}

func.func @max_pool(%X: memref<20x20xf32> {asc.name = "X"}, %Y: memref<10x10xf32> {asc.name = "Y"}) {
%acc = memref.alloca() : memref<f32>
affine.for %i = 0 to 10 {
affine.for %j = 0 to 10 {
  %first = affine.load %X[%i*2,%j*2] : memref<20x20xf32>
  affine.store %first, %acc[] : memref<f32>
  affine.for %p = 0 to 2 {
  affine.for %q = 0 to 2 {
    %a = affine.load %X[%i*2+%p,%j*2+%q] : memref<20x20xf32>
    %y = affine.load %acc[] : memref<f32>
    %s = arith.maximumf %y, %a : f32
    affine.store %s, %acc[] : memref<f32>
  }}
  %r = affine.load %acc[] : memref<f32>
  affine.store %r, %Y[%i,%j] : memref<10x10xf32>
}}
  return
}

func.func @softmax(%X: memref<9x33xf32> {asc.name = "X"}, %Y: memref<9x33xf32> {asc.name = "Y"}) {
%m = memref.alloca() : memref<f32>
%s = memref.alloca() : memref<f32>
%zero = arith.constant 0.0 : f32
affine.for %i = 0 to 9 {
  %x0 = affine.load %X[%i, 0] : memref<9x33xf32>
  affine.store %x0, %m[] : memref<f32>
  affine.for %j = 1 to 33 {
    %a = affine.load %m[] : memref<f32>
    %b = affine.load %X[%i, %j] : memref<9x33xf32>
    %c = arith.maximumf %a, %b : f32
    affine.store %c, %m[] : memref<f32>
  }
  affine.store %zero, %s[] : memref<f32>
  affine.for %j = 0 to 33 {
    %a = affine.load %s[] : memref<f32>
    %mm = affine.load %m[] : memref<f32>
    %b = affine.load %X[%i, %j] : memref<9x33xf32>
    %c = arith.subf %b, %mm : f32
    %d = math.exp %c : f32
    %e = arith.addf %a, %d : f32
    affine.store %e, %s[] : memref<f32>
  }
  affine.for %j = 0 to 33 {
    %a = affine.load %s[] : memref<f32>
    %mm = affine.load %m[] : memref<f32>
    %b = affine.load %X[%i, %j] : memref<9x33xf32>
    %c = arith.subf %b, %mm : f32
    %d = math.exp %c : f32
    %e = arith.divf %d, %a : f32
    affine.store %e, %Y[%i, %j] : memref<9x33xf32>
  }
}
  return
}

func.func @conv3x3(%X: memref<2x3x8x9xf32> {asc.name = "X"}, %W: memref<4x3x3x3xf32> {asc.name = "W"}, %Y: memref<2x4x6x7xf32> {asc.name = "Y"}) {
%acc = memref.alloca() : memref<f32>
%zero = arith.constant 0.0 : f32
affine.for %n = 0 to 2 {
affine.for %f = 0 to 4 {
affine.for %h = 0 to 6 {
affine.for %w = 0 to 7 {
  affine.store %zero, %acc[] : memref<f32>
  affine.for %c = 0 to 3 {
  %a00 = affine.load %acc[] : memref<f32>
  %x00 = affine.load %X[%n,%c,%h+0,%w+0] : memref<2x3x8x9xf32>
  %w00 = affine.load %W[%f,%c,0,0] : memref<4x3x3x3xf32>
  %p00 = arith.mulf %x00, %w00 : f32
  %s00 = arith.addf %a00, %p00 : f32
  affine.store %s00, %acc[] : memref<f32>
  %a01 = affine.load %acc[] : memref<f32>
  %x01 = affine.load %X[%n,%c,%h+0,%w+1] : memref<2x3x8x9xf32>
  %w01 = affine.load %W[%f,%c,0,1] : memref<4x3x3x3xf32>
  %p01 = arith.mulf %x01, %w01 : f32
  %s01 = arith.addf %a01, %p01 : f32
  affine.store %s01, %acc[] : memref<f32>
  %a02 = affine.load %acc[] : memref<f32>
  %x02 = affine.load %X[%n,%c,%h+0,%w+2] : memref<2x3x8x9xf32>
  %w02 = affine.load %W[%f,%c,0,2] : memref<4x3x3x3xf32>
  %p02 = arith.mulf %x02, %w02 : f32
  %s02 = arith.addf %a02, %p02 : f32
  affine.store %s02, %acc[] : memref<f32>
  %a10 = affine.load %acc[] : memref<f32>
  %x10 = affine.load %X[%n,%c,%h+1,%w+0] : memref<2x3x8x9xf32>
  %w10 = affine.load %W[%f,%c,1,0] : memref<4x3x3x3xf32>
  %p10 = arith.mulf %x10, %w10 : f32
  %s10 = arith.addf %a10, %p10 : f32
  affine.store %s10, %acc[] : memref<f32>
  %a11 = affine.load %acc[] : memref<f32>
  %x11 = affine.load %X[%n,%c,%h+1,%w+1] : memref<2x3x8x9xf32>
  %w11 = affine.load %W[%f,%c,1,1] : memref<4x3x3x3xf32>
  %p11 = arith.mulf %x11, %w11 : f32
  %s11 = arith.addf %a11, %p11 : f32
  affine.store %s11, %acc[] : memref<f32>
  %a12 = affine.load %acc[] : memref<f32>
  %x12 = affine.load %X[%n,%c,%h+1,%w+2] : memref<2x3x8x9xf32>
  %w12 = affine.load %W[%f,%c,1,2] : memref<4x3x3x3xf32>
  %p12 = arith.mulf %x12, %w12 : f32
  %s12 = arith.addf %a12, %p12 : f32
  affine.store %s12, %acc[] : memref<f32>
  %a20 = affine.load %acc[] : memref<f32>
  %x20 = affine.load %X[%n,%c,%h+2,%w+0] : memref<2x3x8x9xf32>
  %w20 = affine.load %W[%f,%c,2,0] : memref<4x3x3x3xf32>
  %p20 = arith.mulf %x20, %w20 : f32
  %s20 = arith.addf %a20, %p20 : f32
  affine.store %s20, %acc[] : memref<f32>
  %a21 = affine.load %acc[] : memref<f32>
  %x21 = affine.load %X[%n,%c,%h+2,%w+1] : memref<2x3x8x9xf32>
  %w21 = affine.load %W[%f,%c,2,1] : memref<4x3x3x3xf32>
  %p21 = arith.mulf %x21, %w21 : f32
  %s21 = arith.addf %a21, %p21 : f32
  affine.store %s21, %acc[] : memref<f32>
  %a22 = affine.load %acc[] : memref<f32>
  %x22 = affine.load %X[%n,%c,%h+2,%w+2] : memref<2x3x8x9xf32>
  %w22 = affine.load %W[%f,%c,2,2] : memref<4x3x3x3xf32>
  %p22 = arith.mulf %x22, %w22 : f32
  %s22 = arith.addf %a22, %p22 : f32
  affine.store %s22, %acc[] : memref<f32>
  }
  %r = affine.load %acc[] : memref<f32>
  affine.store %r, %Y[%n,%f,%h,%w] : memref<2x4x6x7xf32>
}}}}
  return
}

func.func @blocked_cell(%A: memref<50x50xf32> {asc.name = "A"}, %Y: memref<50xf32> {asc.name = "Y"}) {
%acc = memref.alloca() : memref<f32>
%zero = arith.constant 0.0 : f32
affine.for %i = 0 to 50 step 16 {
affine.for %ii = affine_map<(d0)->(d0)>(%i) to min affine_map<(d0)->(d0+16, 50)>(%i) {
  affine.store %zero, %acc[] : memref<f32>
  affine.for %c = 0 to 50 {
    %a = affine.load %acc[] : memref<f32>
    %x = affine.load %A[%ii, %c] : memref<50x50xf32>
    %s = arith.addf %a, %x : f32
    affine.store %s, %acc[] : memref<f32>
  }
  %r = affine.load %acc[] : memref<f32>
  affine.store %r, %Y[%ii] : memref<50xf32>
}}
  return
}

func.func @linearised(%A: memref<12xi32> {asc.name = "A"}, %B: memref<3x4xi32> {asc.name = "B"}, %C: memref<12xi32> {asc.name = "C"}) {
affine.for %i = 0 to 12 {
  %a = affine.load %A[%i] : memref<12xi32>
  affine.store %a, %B[%i floordiv 4, %i mod 4] : memref<3x4xi32>
}
affine.for %i = 0 to 3 {
affine.for %j = 0 to 4 {
  %a = affine.load %B[%i,%j] : memref<3x4xi32>
  affine.store %a, %C[%i*4+%j] : memref<12xi32>
}}
  return
}

func.func @index_as_value(%A: memref<12x8xi32> {asc.name = "A"}, %B: memref<12x8xi32> {asc.name = "B"}) {
affine.for %i = 2 to 12 {
affine.for %j = 0 to 8 {
  %k = affine.apply affine_map<(d0,d1)->(d0*8+d1)>(%i,%j)
  %v = arith.index_cast %k : index to i32
  affine.store %v, %A[%i,%j] : memref<12x8xi32>
  %w = arith.index_cast %j : index to i32
  %o = affine.load %B[%i,0] : memref<12x8xi32>
  %n = arith.addi %w, %o : i32
  affine.store %n, %B[%i,0] : memref<12x8xi32>
}}
  return
}

func.func @strided_access(%A: memref<24xi32> {asc.name = "A"}, %B: memref<24xi32> {asc.name = "B"}) {
affine.for %i = 1 to 12 {
  %a = affine.load %A[%i*2] : memref<24xi32>
  affine.store %a, %B[%i*2 + -1] : memref<24xi32>
}
affine.for %i = 0 to 24 step 3 {
  %a = affine.load %A[%i] : memref<24xi32>
  affine.store %a, %B[%i + 2] : memref<24xi32>
}
  return
}

func.func @empty_loops(%A: memref<24xi32> {asc.name = "A"}, %B: memref<24xi32> {asc.name = "B"}) {
affine.for %i = 5 to 5 {
  %a = affine.load %A[%i] : memref<24xi32>
  affine.store %a, %B[%i] : memref<24xi32>
}
affine.for %i = 0 to 24 {
affine.for %j = 7 to 3 {
  %a = affine.load %A[%j] : memref<24xi32>
  affine.store %a, %B[%i] : memref<24xi32>
}}
  return
}

func.func @guard_on_kept_loop(%A: memref<24xi32> {asc.name = "A"}, %B: memref<24x24xi32> {asc.name = "B"}) {
affine.for %k = 1 to 24 {
  affine.for %j = 0 to 24 {
    affine.if affine_set<(d0):(d0 - 5>=0, 20-d0>=0)>(%k) {
      %a = affine.load %B[%k + -1,%j] : memref<24x24xi32>
      %b = affine.load %A[%j] : memref<24xi32>
      %c = arith.addi %a, %b : i32
      affine.store %c, %B[%k,%j] : memref<24x24xi32>
    }
  }
}
  return
}
