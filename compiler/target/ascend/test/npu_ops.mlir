// RUN: pyasc-opt %s --npu-verify-stage | pyasc-opt - --npu-verify-stage | FileCheck %s

// Every instruction survives printing and parsing.
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = [4096]} {
  // CHECK-LABEL: func.func @cube
  func.func @cube(%a: memref<4096xf32, #npu.space<gm>> {npu.binding = "parameter:0"},
                  %c: memref<4096xf32, #npu.space<gm>> {npu.binding = "result:0"})
      attributes {npu.core = "aic", npu.blocks = 20 : i64} {
    %zero = arith.constant 0 : index
    %n = arith.constant 64 : index
    %true = arith.constant true
    // CHECK: npu.buffer depth 2 : memref<4096xf32, #npu.space<l1>>
    %l1 = npu.buffer depth 2 : memref<4096xf32, #npu.space<l1>>
    %l0a = npu.buffer : memref<4096xf32, #npu.space<l0a>>
    %l0b = npu.buffer : memref<4096xf32, #npu.space<l0b>>
    %l0c = npu.buffer : memref<4096xf32, #npu.space<l0c>>
    %b = npu.block_idx
    // CHECK: npu.slot %{{.*}}[%{{.*}}] : memref<4096xf32, #npu.space<l1>>
    %s = npu.slot %l1[%b] : memref<4096xf32, #npu.space<l1>>
    // CHECK: npu.load_nd2nz %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] rows %{{.*}} cols %{{.*}} src_stride %{{.*}} dst_rows %{{.*}} :
    npu.load_nd2nz %s[%zero], %a[%zero] rows %n cols %n src_stride %n dst_rows %n
      : memref<4096xf32, #npu.space<l1>>, memref<4096xf32, #npu.space<gm>>
    // CHECK: npu.load_nd2nz {{.*}} dst_rows %{{.*}} row_step 3 bypass_l2 :
    npu.load_nd2nz %s[%zero], %a[%zero] rows %b cols %n src_stride %n dst_rows %n row_step 3
      bypass_l2 : memref<4096xf32, #npu.space<l1>>, memref<4096xf32, #npu.space<gm>>
    // CHECK: npu.load_l0 {{.*}} src_rows %{{[a-z0-9_]*}} : memref
    npu.load_l0 %l0a[%zero], %s[%zero] extent %n k %n src_rows %n
      : memref<4096xf32, #npu.space<l0a>>, memref<4096xf32, #npu.space<l1>>
    // CHECK: npu.load_l0 {{.*}} transpose : memref
    npu.load_l0 %l0b[%zero], %s[%zero] extent %n k %n src_rows %n transpose
      : memref<4096xf32, #npu.space<l0b>>, memref<4096xf32, #npu.space<l1>>
    // CHECK: npu.mmad {{.*}} init %{{.*}} :
    npu.mmad %l0c[%zero], %l0a[%zero], %l0b[%zero] m %n n %n k %n init %true
      : memref<4096xf32, #npu.space<l0c>>, memref<4096xf32, #npu.space<l0a>>,
        memref<4096xf32, #npu.space<l0b>>
    // CHECK: npu.fixpipe {{.*}} atomic add :
    npu.fixpipe %c[%zero], %l0c[%zero] m %n n %n dst_stride %n src_rows %n atomic add
      : memref<4096xf32, #npu.space<gm>>, memref<4096xf32, #npu.space<l0c>>
    return
  }

  // CHECK-LABEL: func.func @vector
  func.func @vector(%a: memref<4096xf32, #npu.space<gm>> {npu.binding = "parameter:0"},
                    %w: memref<1024xf32, #npu.space<gm>> {npu.binding = "workspace:0"},
                    %s: f32 {npu.binding = "parameter:1"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 64 : index
    %x = npu.buffer : memref<4096xf32, #npu.space<ub>>
    %y = npu.buffer : memref<4096xf32, #npu.space<ub>>
    %t = npu.buffer : memref<4096xf32, #npu.space<ub>>
    %h = npu.buffer : memref<4096xf16, #npu.space<ub>>
    %m = npu.buffer : memref<512xi8, #npu.space<ub>>
    // CHECK: npu.load %{{.*}} count %{{.*}} len %{{.*}} src_stride %{{.*}} dst_stride
    npu.load %x[%zero], %a[%zero] count %one len %n src_stride %n dst_stride %n
      : memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<gm>>
    // CHECK: npu.vbinary add
    npu.vbinary add %y[%zero], %x[%zero], %x[%zero] count %n : memref<4096xf32, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vunary exp
    npu.vunary exp %y[%zero], %x[%zero] count %n : memref<4096xf32, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vscalar muls {{.*}} : memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>, f32
    npu.vscalar muls %y[%zero], %x[%zero], %s count %n : memref<4096xf32, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>, f32
    // CHECK: npu.vdup
    npu.vdup %y[%zero], %s count %n : memref<4096xf32, #npu.space<ub>>, f32
    // CHECK: npu.vcast {{.*}} round rint :
    npu.vcast %h[%zero], %x[%zero] count %n round rint : memref<4096xf16, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vcompare lt
    npu.vcompare lt %m[%zero], %x[%zero], %y[%zero] count %n : memref<512xi8, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vcompares ge
    npu.vcompares ge %m[%zero], %x[%zero], %s count %n : memref<512xi8, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>, f32
    // CHECK: npu.vselect
    npu.vselect %y[%zero], %m[%zero], %x[%zero], %y[%zero] count %n
      : memref<4096xf32, #npu.space<ub>>, memref<512xi8, #npu.space<ub>>,
        memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vreduce sum {{.*}} tmp
    npu.vreduce sum %y[%zero], %x[%zero] tmp %t[%zero] count %n : memref<4096xf32, #npu.space<ub>>,
      memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vrow_reduce max {{.*}} rows
    npu.vrow_reduce max %y[%zero], %x[%zero] tmp %t[%zero] rows %n cols %n row_stride %n
      : memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>,
        memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vrow_binary sub {{.*}} row_stride %{{.*}} reverse :
    npu.vrow_binary sub %x[%zero], %x[%zero], %y[%zero] tmp %t[%zero] rows %n cols %n row_stride %n
      reverse : memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>,
        memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vcol_binary mul
    npu.vcol_binary mul %x[%zero], %x[%zero], %y[%zero] rows %n cols %n row_stride %n
      : memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>,
        memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.vtranspose {{.*}} a_stride %{{.*}} dst_stride %{{.*}} :
    npu.vtranspose %y[%zero], %x[%zero] rows %n cols %n a_stride %n dst_stride %n
      : memref<4096xf32, #npu.space<ub>>, memref<4096xf32, #npu.space<ub>>
    // CHECK: npu.store {{.*}} atomic add :
    npu.store %w[%zero], %x[%zero] count %one len %n dst_stride %n src_stride %n atomic add
      : memref<1024xf32, #npu.space<gm>>, memref<4096xf32, #npu.space<ub>>
    return
  }
}
