// RUN: (pyasc-opt %s --split-input-file 2>&1 || true) | FileCheck %s

// The verifiers refuse what the hardware cannot do.
func.func @space(%a: memref<64xf32, #npu.space<gm>>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 64 : index
  %x = npu.buffer : memref<64xf32, #npu.space<ub>>
  // CHECK: b must be in ub, not gm
  npu.vbinary add %x[%zero], %x[%zero], %a[%zero] count %n
    : memref<64xf32, #npu.space<ub>>, memref<64xf32, #npu.space<ub>>, memref<64xf32, #npu.space<gm>>
  return
}

// -----

func.func @alignment() {
  %one = arith.constant 1 : index
  %x = npu.buffer : memref<64xf32, #npu.space<ub>>
  // CHECK: dst must start at a multiple of 32 bytes
  npu.vunary exp %x[%one], %x[%one] count %one
    : memref<64xf32, #npu.space<ub>>, memref<64xf32, #npu.space<ub>>
  return
}

// -----

func.func @types() {
  %zero = arith.constant 0 : index
  %x = npu.buffer : memref<64xi32, #npu.space<ub>>
  // CHECK: does not exist for this element type
  npu.vbinary div %x[%zero], %x[%zero], %x[%zero] count %zero
    : memref<64xi32, #npu.space<ub>>, memref<64xi32, #npu.space<ub>>, memref<64xi32, #npu.space<ub>>
  return
}

// -----

func.func @bursts(%a: memref<8192xf32, #npu.space<gm>>) {
  %zero = arith.constant 0 : index
  %count = arith.constant 5000 : index
  %one = arith.constant 1 : index
  %x = npu.buffer : memref<64xf32, #npu.space<ub>>
  // CHECK: count is 5000, must be in 0 .. 4095
  npu.load %x[%zero], %a[%zero] count %count len %one src_stride %one dst_stride %count
    : memref<64xf32, #npu.space<ub>>, memref<8192xf32, #npu.space<gm>>
  return
}

// -----

func.func @stride(%a: memref<8192xf32, #npu.space<gm>>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 9 : index
  %x = npu.buffer : memref<128xf32, #npu.space<ub>>
  // CHECK: the stride on the chip x element size must be a multiple of 32
  npu.load %x[%zero], %a[%zero] count %n len %n src_stride %n dst_stride %n
    : memref<128xf32, #npu.space<ub>>, memref<8192xf32, #npu.space<gm>>
  return
}

// -----

func.func @nested() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %one step %one {
    // CHECK: must be in a function's entry block
    %x = npu.buffer : memref<128xf32, #npu.space<ub>>
    npu.vunary exp %x[%zero], %x[%zero] count %one
      : memref<128xf32, #npu.space<ub>>, memref<128xf32, #npu.space<ub>>
  }
  return
}

// -----

func.func @mmad(%init: i1) {
  %n = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %a = npu.buffer : memref<256xf16, #npu.space<l0a>>
  %b = npu.buffer : memref<256xf32, #npu.space<l0b>>
  %c = npu.buffer : memref<256xf32, #npu.space<l0c>>
  // CHECK: has no such combination of element types
  npu.mmad %c[%zero], %a[%zero], %b[%zero] m %n n %n k %n init %init : memref<256xf32, #npu.space<l0c>>,
    memref<256xf16, #npu.space<l0a>>, memref<256xf32, #npu.space<l0b>>
  return
}

// -----

func.func @flags() {
  %id = arith.constant 6 : index
  // CHECK: id is 6, must be in 0 .. 5
  npu.set_flag MTE2 -> V, %id
  return
}

// -----

func.func @transposed_bytes() {
  %zero = arith.constant 0 : index
  %n = arith.constant 64 : index
  %x = npu.buffer : memref<4096xi8, #npu.space<ub>>
  %y = npu.buffer : memref<4096xi8, #npu.space<ub>>
  // CHECK: moves elements of 2 or 4 bytes
  npu.vtranspose %y[%zero], %x[%zero] rows %n cols %n a_stride %n dst_stride %n
    : memref<4096xi8, #npu.space<ub>>, memref<4096xi8, #npu.space<ub>>
  return
}
