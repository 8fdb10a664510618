"""The `unit` column of the library's table is what the compiler does: every function is compiled for a
chip, in float32 (or what it takes) and large enough, and the report's units are held against its row."""

import json
import os
import subprocess

import drivers
import pytest

BIN = drivers.BUILD / "bin"
ROWS = json.loads(subprocess.run([BIN / "pyasc-library"], capture_output=True, text=True,
                                 check=True).stdout)
KERNEL = """import pyasc as asc
import numpy as np


@asc.kernel
def k(A: asc.float32[64, 256], B: asc.float32[64, 256], O: asc.float32[64, 256],
      V: asc.float32[256], I: asc.int32[64, 256], J: asc.int32[64], W: asc.float32[256, 64],
      S: asc.float32[64, 64]):
    {}
"""
# Of functions that take more, or other things, than one or two float32 tensors.
BODIES = {
    "where": "O[:] = asc.where(A > 0, A, B)",
    "select": "O[:] = asc.select(A > 0, A, B)",
    "clip": "O[:] = asc.clip(A, -1.0, 1.0)",
    "clamp": "O[:] = asc.clamp(A, -1.0, 1.0)",
    "fma": "O[:] = asc.fma(A, B, A)",
    "matmul": "S[:] = asc.matmul(A, W)",
    "dot": "S[:] = asc.dot(A, W)",
    "batch_matmul": "return asc.batch_matmul(A.reshape(4, 16, 256), W.reshape(4, 256, 16))",
    "bmm": "return asc.bmm(A.reshape(4, 16, 256), W.reshape(4, 256, 16))",
    "outer": "return asc.outer(V, V)",
    "conv2d": "return asc.conv2d(A.reshape(1, 4, 64, 64), W.reshape(256, 4, 4, 4)[0:16, :, 0:3, 0:3])",
    "max_pool2d": "return asc.max_pool2d(A.reshape(1, 4, 64, 64), 2)",
    "avg_pool2d": "return asc.avg_pool2d(A.reshape(1, 4, 64, 64), 2)",
    "zeros": "return asc.zeros((64, 256), asc.float32)",
    "ones": "return asc.ones((64, 256), asc.float32)",
    "empty": "t = asc.empty((64, 256), asc.float32)\n    t[:] = A\n    return t",
    "full": "return asc.full((64, 256), 2.0, asc.float32)",
    "arange": "return asc.arange(4096)",
    "eye": "return asc.eye(64)",
    "zeros_like": "return asc.zeros_like(A)",
    "ones_like": "return asc.ones_like(A)",
    "full_like": "return asc.full_like(A, 2.0)",
    "empty_like": "t = asc.empty_like(A)\n    t[:] = A\n    return t",
    "shared_memory": "t = asc.shared_memory((16, 256), asc.float32)\n    t[:] = A[0:16]\n    O[0:16] = t + 1.0",
    "local": "t = asc.local((16, 256), asc.float32)\n    t[:] = A[0:16]\n    O[0:16] = t + 1.0",
    "aligned_alloc": "t = asc.aligned_alloc((16, 256), asc.float32)\n    t[:] = A[0:16]\n    O[0:16] = t + 1.0",
    "copy": "O[:] = asc.copy(A)",
    "cast": "return asc.cast(A, asc.float16)",
    "astype": "return asc.astype(A, asc.float16)",
    "flatten": "return asc.flatten(A)",
    "broadcast_to": "return asc.broadcast_to(V, (64, 256))",
    "concat": "return asc.concat((A, B))",
    "concatenate": "return asc.concatenate((A, B))",
    "stack": "return asc.stack((A, B))",
    "pad": "return asc.pad(A, ((1, 1), (0, 0)))",
    "tile": "return asc.tile(A, (2, 1))",
    "take": "return asc.take(A, J, 0)",
    "gather": "return asc.gather(A, J, 0)",
    "scatter": "asc.scatter(O, J, A, 0)",
    "layer_norm": "return asc.layer_norm(A, V, V)",
    "topk": "return asc.topk(A, 4)",
    "sort": "return asc.sort(A)",
    "atomic_add": "for i in asc.parallel_for(64):\n        asc.atomic_add(V, J[i], 1.0)",
    "atomic_max": "for i in asc.parallel_for(64):\n        asc.atomic_max(V, J[i], 1.0)",
    "atomic_min": "for i in asc.parallel_for(64):\n        asc.atomic_min(V, J[i], 1.0)",
    "rand": "return asc.rand((64, 256), 3)",
    "randn": "return asc.randn((64, 256), 3)",
    "bitwise_and": "return asc.bitwise_and(I, I)",
    "bitwise_or": "return asc.bitwise_or(I, I)",
    "bitwise_xor": "return asc.bitwise_xor(I, I)",
    "left_shift": "return asc.left_shift(I, 2)",
    "right_shift": "return asc.right_shift(I, 2)",
    "logical_and": "return asc.logical_and(A > 0, B > 0)",
    "logical_or": "return asc.logical_or(A > 0, B > 0)",
    "logical_xor": "return asc.logical_xor(A > 0, B > 0)",
    "logical_not": "return asc.logical_not(A > 0)",
    "any": "return asc.any(A > 0, 1)",
    "all": "return asc.all(A > 0, 1)",
}
REDUCTIONS = {"sum", "prod", "max", "min", "amax", "amin", "mean", "var", "std", "count_nonzero",
              "argmax", "argmin", "cumsum", "cumprod"}
# Scalars of Python, loops, and what is there in debug mode alone.
NOT_FOR_TENSORS = {"print", "device_assert", "item"}


def tried():
    for row in ROWS:
        if row["lowering"] in ("compile time", "view") or row["name"] in NOT_FOR_TENSORS:
            continue
        if not {"asc", "numpy"} & set(row["reach"]) or row["section"].startswith("Python"):
            continue
        yield pytest.param(row, id=row["name"])


def body_of(row):
    name = row["name"]
    call = ("asc." if "asc" in row["reach"] else "np.") + name
    if name in BODIES:
        return BODIES[name]
    if name in REDUCTIONS:
        return f"return {call}(A, 1)"
    return f"return {call}(A, B)" if row["signature"].startswith(("x, y", "y, x")) else \
        f"return {call}(A)"


@pytest.mark.parametrize("row", tried())
def test_the_unit_of_a_function_is_the_one_of_the_table(row, server, tmp_path):
    (tmp_path / "k.py").write_text(KERNEL.format(body_of(row)))
    done = subprocess.run([BIN / "pyasc", "compile", "k.py", "--quiet", "--json", "-"],
                          cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYASC_SERVER": server})
    assert done.returncode == 0, done.stderr
    units = {s["unit"] for s in json.loads(done.stdout)["statements"]}
    # What is slowest counts; a product's operands may be moved by the vector unit, and rows that
    # the scalar unit finds by DMA.
    assert row["lowering"] == ("cube" if "cube" in units else
                               "scalar" if units & {"scalar", "transfer"} else "vector"), units
