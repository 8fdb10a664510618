// RUN: pyasc-opt %s --structure | FileCheck %s

// CHECK-LABEL: func.func @nothing
// CHECK: return
func.func @nothing() attributes {asc.kernel} {
  return
}
