"""Names that are fine in Python and keywords, macros or taken names in C++: in the text and in the
header of kernel.o."""

import ctypes
import subprocess
from dataclasses import replace

import numpy as np

import cli
import run_text
from test_twin import compile_text
import kernels
from pyasc.v1 import tensor_pb2

SOURCE = """import pyasc as asc


@asc.kernel
def double(int: asc.float32[N, N], workspace0: asc.float32[N, N], result: asc.float32[N, N],
           args: float, Add: asc.float32[N, N]) -> asc.float32[N, N]:
    product = asc.matmul(int + args, workspace0)
    Add[:, :] = product * 2.0
    return product + result
"""
CASE = replace(kernels.CASES[0], scalars={"args": 0.5})


def inputs():
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal((33, 33)).astype(np.float32)
            for name in ("int", "workspace0", "result", "Add")}


def check(arrays, given, returned):
    product = (given["int"].astype(np.float64) + 0.5) @ given["workspace0"]
    np.testing.assert_allclose(arrays["Add"], 2 * product, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(returned, product + given["result"], rtol=1e-4, atol=1e-4)


def test_text_compiles_whatever_the_names(tmp_path, monkeypatch):
    path = tmp_path / "double.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(cli, "case_file", lambda case: path)
    given = inputs()
    text, contract = compile_text(cli.case_file(CASE), given, CASE.scalars, tmp_path)
    arrays = {k: v.copy() for k, v in given.items()}
    library = run_text.build(text, tmp_path)
    results = run_text.launch(library, contract, tensor_pb2.DType.Name, arrays, CASE.scalars)
    check(arrays, given, results["return"])


def test_header_of_the_object_compiles_whatever_the_names(tmp_path):
    (tmp_path / "double.py").write_text(SOURCE)
    tensors = [f"--arg={name}=f32[33,33]" for name in ("int", "workspace0", "result", "Add")]
    done = subprocess.run([cli.PYASC, "compile", str(tmp_path / "double.py"), "--local", *tensors,
                           "--arg", "args=f32", "--emit", "obj", "-o", str(tmp_path / "k.o")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    call = ('#include "k.h"\nvoid call(float *a, float *b, float *c, float d, float *e, float *f)'
            " { double_(a, b, c, d, e, f); }\n")
    (tmp_path / "call.c").write_text(call)
    (tmp_path / "call.cpp").write_text(call.replace("void call", 'extern "C" void call'))
    for compiler, source in (("clang-19", "call.c"), ("clang++-19", "call.cpp")):
        library = tmp_path / (source + ".so")
        built = subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", source, "k.o",
                                "-lm", "-o", str(library)], cwd=tmp_path, capture_output=True,
                               text=True)
        assert built.returncode == 0, built.stderr
        given = inputs()
        arrays = {k: v.copy() for k, v in given.items()}
        returned = np.zeros((33, 33), np.float32)
        pointer = lambda array: ctypes.c_void_p(array.ctypes.data)  # noqa: E731
        ctypes.CDLL(str(library)).call(
            pointer(arrays["int"]), pointer(arrays["workspace0"]), pointer(arrays["result"]),
            ctypes.c_float(0.5), pointer(arrays["Add"]), pointer(returned))
        check(arrays, given, returned)
