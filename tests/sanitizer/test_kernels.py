"""Compiled kernels on the watched simulator: what they compute is right, and nothing is found.

The texts are those of tests/perf at small sizes, among them what runs on cube and vector cores in
turn, what packs images, and rows in blocks; and rows of every shape that the planner of row blocks
treats differently.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "language"), str(HERE.parent / "perf")]

import drivers  # noqa: E402
import kernels  # noqa: E402
from rows import all_rows  # noqa: E402
from targets import shape_of  # noqa: E402

drivers.SANITIZE = True
HEAD = "import pyasc as asc\n"
DTYPES = {"f16": np.float16, "f32": np.float32}


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    from targets import Daemon
    with Daemon(tmp_path_factory.mktemp("daemon")) as address:
        yield address


def launches():
    """(name, text, types, reference, output, tolerance), each once."""
    seen = set()
    for row in all_rows():
        for types in row.small:
            key = (row.text, str(types))
            if key not in seen:
                seen.add(key)
                yield pytest.param(row, types, id=f"{row.name} {types}".replace("'", ""))


def check(text, arrays, right, output, tolerance, server):
    got = drivers.run("sim", HEAD + text, arrays, server)[output].astype(np.float64)
    assert got.shape == right.shape
    error = np.abs(got - right) / np.maximum(1, np.abs(right))
    assert not right.size or error.max() <= tolerance


@pytest.mark.parametrize("row, types", launches())
def test_kernels_of_the_performance_table(server, row, types):
    rng = np.random.default_rng(5)
    arrays = {n: rng.standard_normal(shape_of(kind)).astype(DTYPES[kind[:3]])
              for n, kind in types.items()}
    if "q" in arrays:  # scores of the size that a scaled product has
        arrays["q"] /= np.sqrt(shape_of(types["q"])[1]).astype(arrays["q"].dtype)
    right = row.reference(**{n: a.astype(np.float64) for n, a in arrays.items()})
    check(row.text, arrays, right, row.output, row.tolerance, server)


# One row and one column; fewer columns than a vector, odd, whole; more rows than cores; rows that
# just fit a core, and rows that do not.
SHAPES = [(1, 1), (3, 1), (130, 7), (49, 64), (37, 401), (5, 1024), (2, 8192), (3, 12289), (2, 18001),
          (3, 40009)]
ROW_KERNELS = {
    "softmax": (kernels.SOFTMAX, lambda x, **_: kernels.softmax(x), ()),
    "softmax, tensor": (kernels.SOFTMAX_TENSOR, lambda x, **_: kernels.softmax(x), ()),
    "layer norm": (kernels.LAYER_NORM, lambda x, w, b, **_: kernels.layer_norm(x, w, b), "wb"),
    "layer norm, tensor": (kernels.LAYER_NORM_TENSOR,
                           lambda x, w, b, **_: kernels.layer_norm(x, w, b), "wb"),
    "RMS norm": (kernels.RMS_NORM, lambda x, w, **_: kernels.rms_norm(x, w), "w"),
    "RMS norm, tensor": (kernels.RMS_NORM_TENSOR, lambda x, w, **_: kernels.rms_norm(x, w), "w"),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ROW_KERNELS)
def test_row_blocks_of_every_shape(server, name, dtype, shape):
    text, reference, vectors = ROW_KERNELS[name]
    rng = np.random.default_rng(sum(shape))
    arrays = {"x": rng.standard_normal(shape).astype(dtype)}
    arrays.update({v: rng.standard_normal(shape[1]).astype(dtype) for v in vectors})
    right = reference(**{n: a.astype(np.float64) for n, a in arrays.items()})
    output = "return"
    if " y: " in text:
        arrays["y"] = np.zeros(shape, dtype)
        output = "y"
    tolerance = 2.0 ** -8 if dtype == "float16" else 2.0 ** -18
    check(text.replace("asc.float16[", f"asc.{dtype}["), arrays, right, output, tolerance, server)


def test_buffers_of_compiled_kernels_have_names(server):
    """What a finding calls the bytes on the chip that it speaks of."""
    from pyasc.v1 import artifact_pb2
    arrays = {"x": np.zeros((8, 64), np.float16), "y": np.zeros((8, 64), np.float16)}
    service, start, _ = drivers._start("sim", HEAD + kernels.SOFTMAX, arrays, server, False, "")
    artifact = artifact_pb2.Artifact.FromString(service.compile(start.compile, 120).artifact)
    names = {b.name for function in artifact.sim.functions for b in function.buffers}
    assert {"tile of x", "tile of y"} <= names
    assert any(name.startswith("temporary of line ") for name in names)
