"""Kernels that become groups of cube and vector cores: against NumPy in float64, watched by the
sanitizer, on chips with different numbers of cores; and the same through the text's twin."""

import subprocess

import numpy as np
import pytest

import cli
import run_text
from pyasc.v1 import artifact_pb2, tensor_pb2

DTYPES = {np.dtype(np.float32): "f32", np.dtype(np.float16): "f16"}

GELU = """
@asc.kernel
def k(A: asc.tensor, B: asc.tensor, bias: asc.tensor):
    return asc.gelu(asc.matmul(A, B) + bias)
"""
# A full operand, one a row and a scalar; the result replaces an operand.
RESIDUAL = """
M, N, K = asc.dims('M N K')

@asc.kernel
def k(A: asc.float32[M, K], B: asc.float32[K, N], scale: asc.float32[M], alpha: asc.float32,
      C: asc.float32[M, N]):
    for i in asc.parallel_for(M):
        for j in range(N):
            total = 0.0
            for p in range(K):
                total += A[i, p] * B[p, j]
            C[i, j] = alpha * C[i, j] + total * scale[i]
"""
BATCHED = """
@asc.kernel
def k(A: asc.tensor, B: asc.tensor, bias: asc.tensor):
    return asc.relu(asc.matmul(A, B) + bias)
"""


# Two products with rows between them.
ATTENTION = """
@asc.kernel(precision='mixed')
def k(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    scores = asc.float32(asc.matmul(q, k.transpose()))
    probs = asc.float16(asc.softmax(scores))
    return asc.matmul(probs, v)
"""
ATTENTION_F32 = """
@asc.kernel
def k(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    return asc.matmul(asc.softmax(asc.matmul(q, k.transpose())), v)
"""


def gelu(x):
    import math
    return x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2)))


def half(rng, *shape):
    return (rng.standard_normal(shape) / 4).astype(np.float16)


def gelu_case(m, n, k):
    def inputs(rng):
        return {"A": half(rng, m, k), "B": half(rng, k, n), "bias": half(rng, n)}
    return GELU, inputs, lambda A, B, bias: gelu(A @ B + bias), "return", 2.0 ** -8, {}


def residual_case(m, n, k):
    def inputs(rng):
        f32 = lambda *s: rng.standard_normal(s).astype(np.float32)  # noqa: E731
        return {"A": f32(m, k), "B": f32(k, n), "scale": f32(m), "C": f32(m, n)}
    return (RESIDUAL, inputs, lambda A, B, scale, C: 0.75 * C + (A @ B) * scale[:, None], "C",
            2.0 ** -14, {"alpha": 0.75})


def attention_case(rows, keys, depth, width, dtype):
    def inputs(rng):
        q = rng.standard_normal((rows, depth)) / np.sqrt(depth)
        return {n: a.astype(dtype) for n, a in (
            ("q", q), ("k", rng.standard_normal((keys, depth))),
            ("v", rng.standard_normal((keys, width))))}

    def reference(q, k, v):
        scores = q @ k.T
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v
    half = dtype == np.float16
    return (ATTENTION if half else ATTENTION_F32, inputs, reference, "return",
            2.0 ** (-9 if half else -17), {})


def batched_case(b, m, n, k):
    def inputs(rng):
        return {"A": half(rng, b, m, k), "B": half(rng, b, k, n), "bias": half(rng, m, n)}
    return BATCHED, inputs, lambda A, B, bias: np.maximum(A @ B + bias, 0), "return", 2.0 ** -8, {}


# The sizes give no tile, one, fewer tiles than cores, an uneven number, tiles cut short each way, a
# single row in the last tile: an empty half for one vector core.
CASES = {
    "gelu 7": gelu_case(7, 257, 33),
    "gelu 1 column": gelu_case(33, 1, 16),
    "gelu 1 row": gelu_case(1, 65, 257),
    "gelu 257": gelu_case(257, 257, 257),
    "gelu uneven": gelu_case(385, 1025, 70),
    "gelu long": gelu_case(4097, 96, 16),
    "gelu 0": gelu_case(0, 64, 16),
    "gelu without k": gelu_case(16, 64, 0),
    "residual 7": residual_case(7, 19, 5),
    "residual 130": residual_case(130, 300, 257),
    "residual long": residual_case(4097, 40, 33),
    "batched": batched_case(5, 33, 70, 40),
    # Blocks of a row or two, one block a core, several; rows that one vector core has none of; rows
    # too long to be worked on several at a time, whole and column block by column block; products cut
    # into several tiles and panels.
    "attention 7": attention_case(7, 33, 16, 24, np.float16),
    "attention 257": attention_case(257, 257, 64, 64, np.float16),
    "attention long": attention_case(4097, 130, 33, 16, np.float16),
    "attention wide": attention_case(65, 2049, 128, 200, np.float16),
    "attention wider": attention_case(33, 2049, 64, 272, np.float16),
    "attention 1101 f32": attention_case(40, 1101, 24, 40, np.float32),
    "attention 257 f32": attention_case(257, 257, 64, 64, np.float32),
    "attention long f32": attention_case(3001, 70, 300, 16, np.float32),
    "attention 1": attention_case(1, 64, 16, 16, np.float16),
}
FUSED = {"attention 7", "attention 257 f32", "attention wide", "attention 1101 f32", "gelu 7", "gelu uneven", "residual 130", "residual long"}


def arguments(arrays, scalars, folder, types_only=False):
    args = []
    for name, array in arrays.items():
        kind = f"{DTYPES[array.dtype]}[{','.join(map(str, array.shape))}]"
        if not types_only:
            np.save(folder / f"{name}.npy", array)
            kind = f"@{folder / name}.npy"
        args += ["--arg", f"{name}={kind}"]
    for name, value in scalars.items():
        args += ["--arg", f"{name}={'f32' if types_only else value}"]
    return args


def pyasc(*args):
    done = subprocess.run([cli.PYASC, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    return done


def check(got, right, tolerance):
    error = np.abs(got.astype(np.float64) - right) / np.maximum(1, np.abs(right))
    assert got.shape == right.shape
    assert error.size == 0 or error.max() <= tolerance, f"error {error.max():.3g}"


def prepared(name, folder):
    text, inputs, reference, output, tolerance, scalars = CASES[name]
    (folder / "k.py").write_text("import pyasc as asc\n" + text)
    arrays = inputs(np.random.default_rng(3))
    right = reference(**{n: a.astype(np.float64) for n, a in arrays.items()})
    return arrays, scalars, right, output, tolerance


@pytest.mark.parametrize("name, soc", [(name, "ascend910b1") for name in CASES] +
                         [(name, soc) for name in ("gelu uneven", "residual 130", "attention 257",
                                       "attention long f32")
                          for soc in ("ascend910b2", "ascend910b3", "ascend910b4")])
def test_results_are_numpys_and_the_sanitizer_is_silent(name, soc, tmp_path):
    arrays, scalars, right, output, tolerance = prepared(name, tmp_path)
    pyasc("run", tmp_path / "k.py", "--local", "--quiet", "--soc", soc, "--sanitize",
          *arguments(arrays, scalars, tmp_path), "--out", f"{output}={tmp_path / 'out.npy'}")
    check(np.load(tmp_path / "out.npy"), right, tolerance)


@pytest.mark.parametrize("name", sorted(FUSED))
def test_the_text_does_the_same(name, tmp_path):
    arrays, scalars, right, output, tolerance = prepared(name, tmp_path)
    types = arguments(arrays, scalars, tmp_path, types_only=True)
    base = ["compile", tmp_path / "k.py", "--local", "--quiet", "--target", "sim", *types]
    pyasc(*base, "-o", tmp_path / "k.pyasc")
    pyasc(*base, "--emit", "ascendc", "-o", tmp_path / "k.asc")
    record = artifact_pb2.ArtifactRecord.FromString((tmp_path / "k.pyasc").read_bytes())
    contract = artifact_pb2.Artifact.FromString(record.artifact).launch
    groups = [phase.group for phase in contract.phases]
    assert len(groups) == 2 and groups[0] == groups[1] > 0, "no group of cube and vector cores"
    mine = {n: a.copy() for n, a in arrays.items()}
    library = run_text.build((tmp_path / "k.asc").read_text(), tmp_path)
    results = run_text.launch(library, contract, tensor_pb2.DType.Name, mine, scalars)
    got = results.get(output, mine.get(output))
    check(got, right, tolerance)
    pyasc("run", tmp_path / "k.py", "--local", "--quiet", *arguments(arrays, scalars, tmp_path),
          "--out", f"{output}={tmp_path / 'out.npy'}")
    simulated = np.load(tmp_path / "out.npy")
    check(simulated, got.astype(np.float64), tolerance)
