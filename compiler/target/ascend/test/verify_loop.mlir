// RUN: (pyasc-opt %s --split-input-file --npu-verify-stage 2>&1 || true) | FileCheck %s

// CHECK: argument 0 is a loop variable: an index or i64, of a function with npu.loop
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @outside(%t: index {npu.binding = "loop_variable"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    return
  }
}

// -----

// CHECK: argument 0 is a loop variable: an index or i64
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @narrow(%t: i32 {npu.binding = "loop_variable"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, 3]} {
    return
  }
}

// -----

// CHECK: needs both npu.loop, a whole number, and npu.rounds = [start, step, count]
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @negative()
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, -3]} {
    return
  }
}

// -----

// CHECK: needs both npu.loop, a whole number, and npu.rounds = [start, step, count]
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @endless() attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64} {
    return
  }
}

// -----

// CHECK: has other npu.rounds than the functions of its npu.loop
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @a()
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, 3]} {
    return
  }
  func.func @b()
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, 4]} {
    return
  }
}

// -----

// CHECK: stands apart from the functions of its npu.loop
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @a()
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, 3]} {
    return
  }
  func.func @b() attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    return
  }
  func.func @c()
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, 3]} {
    return
  }
}

// -----

// CHECK: has another npu.loop than the function of its group
module attributes {npu.soc = "ascend910b3", npu.stage = "planned", npu.workspaces = []} {
  func.func @a()
      attributes {npu.core = "aic", npu.blocks = 1 : i64, npu.group = 1 : i64, npu.loop = 1 : i64, npu.rounds = [0, 1, 3]} {
    return
  }
  func.func @b() attributes {npu.core = "aiv", npu.blocks = 2 : i64, npu.group = 1 : i64} {
    return
  }
}
