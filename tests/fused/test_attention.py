"""Softmax between two products on rows of any length: column block by column block, with a running
maximum. Results against NumPy in float64, the sanitizer's silence, and what the steps as written make
of infinities and NaN."""

import numpy as np
import pytest

from test_fused import ATTENTION, ATTENTION_F32, arguments, check, half, pyasc

ONLINE = "softmax with a running maximum"


def single(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


SCALED = """
@asc.kernel
def k(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    return asc.matmul(asc.softmax(asc.matmul(q, k.transpose()) * -2.0), v)
"""
# A matrix that is read along with the scores, a number a row, one a column, one of all.
BIASED = """
@asc.kernel
def k(q: asc.tensor, k: asc.tensor, v: asc.tensor, bias: asc.tensor, row: asc.tensor,
      column: asc.tensor, scale: asc.float32):
    s = asc.matmul(q, k.transpose()) * scale * row + bias + column
    e = asc.exp(s - asc.max(s, axis=1, keepdims=True))
    p = e / asc.sum(e, axis=1, keepdims=True)
    return asc.matmul(p, v)
"""
# No softmax: the sum begins with something.
OTHER = """
@asc.kernel
def k(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    s = asc.matmul(q, k.transpose())
    e = asc.exp(s - asc.max(s, axis=1, keepdims=True))
    return asc.matmul(e / (asc.sum(e, axis=1, keepdims=True) + 1.0), v)
"""


def other(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / (e.sum(axis=-1, keepdims=True) + 1)


def operands(make, rows, keys, depth, width):
    return lambda rng: {"q": make(rng, rows, depth), "k": make(rng, keys, depth),
                        "v": make(rng, keys, width)}


def biased(rng):
    return {**operands(single, 50, 1111, 24, 40)(rng), "bias": single(rng, 50, 1111),
            "row": single(rng, 50, 1), "column": single(rng, 1111)}


# Text, inputs, weights of the values, scalars, tolerance, whether rows go block by block.
CASES = {
    # Whole panels, blocks of columns of the same size; a narrow panel; one element in the last
    # panel; blocks of rows that differ; a vector core without rows.
    "even": (ATTENTION, operands(half, 96, 2048, 64, 64), lambda q, k: softmax(q @ k.T), {}, 2.0 ** -9, True),
    "narrow": (ATTENTION, operands(half, 33, 1500, 40, 24), lambda q, k: softmax(q @ k.T), {}, 2.0 ** -9, True),
    "one more": (ATTENTION_F32, operands(single, 7, 2049, 20, 33), lambda q, k: softmax(q @ k.T), {}, 2.0 ** -17, True),
    "many rows": (ATTENTION, operands(half, 3100, 1025, 16, 16), lambda q, k: softmax(q @ k.T), {}, 2.0 ** -9, True),
    "wide": (ATTENTION, operands(half, 49, 1300, 300, 250), lambda q, k: softmax(q @ k.T), {}, 2.0 ** -9, True),
    "scaled half": (SCALED, operands(half, 50, 1100, 32, 48), lambda q, k: softmax(-2 * q @ k.T), {}, 2.0 ** -9, True),
    "biased": (BIASED, biased,
               lambda q, k, bias, row, column, scale: softmax(q @ k.T * scale * row + bias + column),
               {"scale": 0.5}, 2.0 ** -16, True),
    "other": (OTHER, operands(single, 50, 1100, 32, 48), lambda q, k: other(q @ k.T), {}, 2.0 ** -17, False),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_numpys_and_the_sanitizer_is_silent(name, tmp_path):
    text, inputs, weights, scalars, tolerance, online = CASES[name]
    (tmp_path / "k.py").write_text("import pyasc as asc\n" + text)
    arrays = inputs(np.random.default_rng(7))
    exact = {n: a.astype(np.float64) for n, a in arrays.items()}
    right = weights(**{n: a for n, a in exact.items() if n != "v"}, **scalars) @ exact["v"]
    given = arguments(arrays, scalars, tmp_path)
    pyasc("run", tmp_path / "k.py", "--local", "--quiet", "--soc", "ascend910b1", "--sanitize", *given,
          "--out", f"return={tmp_path / 'out.npy'}")
    check(np.load(tmp_path / "out.npy"), right, tolerance)
    pyasc("compile", tmp_path / "k.py", "--local", "--quiet", "--target", "sim", "--emit", "npu-ir",
          "--soc", "ascend910b1", "-o", tmp_path / "k.mlir",
          *arguments(arrays, scalars, tmp_path, types_only=True))
    assert (ONLINE in (tmp_path / "k.mlir").read_text()) == online


KEYS, BLOCK = 2100, 1024  # the second block of columns begins at 1024 or before


def minus_infinity_first(q, k, v):
    """All scores of the first blocks overflow to -inf, those of the last ones are finite."""
    k[:BLOCK] = -np.inf
    q[:] = np.abs(q) + 1


def minus_infinity_only(q, k, v):
    q[:] = np.abs(q) + 1
    q[1:] = -q[1:]  # the others' are +inf
    k[:] = -np.inf


def infinity_last(q, k, v):
    q[:] = np.abs(q) + 1
    k[-1] = np.inf


def nan_first(q, k, v):
    q[2] = np.nan
    k[3, :] = np.where(np.arange(k.shape[1]) == 0, np.nan, k[3])


def rising(q, k, v):
    """Each block's maximum is far above all before: their factors are 0."""
    q[:] = 1
    k[:] = np.arange(KEYS)[:, None] // 128 * 2
    k[:, 1:] = 0


def falling(q, k, v):
    rising(q, k, v)
    k[:] = k[::-1].copy()


def largest_values(q, k, v):
    v[:] = np.finfo(v.dtype).max * 0.75


def infinite_values(q, k, v):
    v[5, 0], v[-1, 1], v[BLOCK, 2] = np.inf, -np.inf, np.nan


def largest_scores(q, k, v):
    """The largest finite scores, of either sign: their differences overflow."""
    q[:] = 0
    q[:, 0] = 1
    k[:] = 0
    k[:, 0] = np.where(np.arange(KEYS) % 3 == 0, 1, -1) * np.finfo(k.dtype).max


@pytest.mark.parametrize("change", [
    minus_infinity_first, minus_infinity_only, infinity_last, nan_first, rising, falling,
    largest_values, infinite_values, largest_scores])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_extremes_are_those_of_the_steps_as_written(change, dtype, tmp_path):
    rng = np.random.default_rng(11)
    # Few bits, so that scores are exact.
    arrays = {n: (rng.integers(-4, 5, shape) / 4).astype(dtype)
              for n, shape in (("q", (20, 8)), ("k", (KEYS, 8)), ("v", (KEYS, 16)))}
    change(**arrays)
    text = ATTENTION if dtype == np.float16 else ATTENTION_F32
    (tmp_path / "k.py").write_text("import pyasc as asc\n" + text)
    exact = {n: a.astype(np.float64) for n, a in arrays.items()}
    with np.errstate(all="ignore"):
        scores = (exact["q"] @ exact["k"].T).astype(dtype).astype(np.float64)
        right = softmax(scores) @ exact["v"]
    pyasc("run", tmp_path / "k.py", "--local", "--quiet", "--soc", "ascend910b1", "--sanitize",
          *arguments(arrays, {}, tmp_path), "--out", f"return={tmp_path / 'out.npy'}")
    got = np.load(tmp_path / "out.npy").astype(np.float64)
    assert (np.isnan(got) == np.isnan(right)).all()
    finite = np.isfinite(right)
    assert (got[~finite & ~np.isnan(right)] == right[~finite & ~np.isnan(right)]).all()
    error = np.abs(got[finite] - right[finite]) / np.maximum(1, np.abs(right[finite]))
    assert error.size == 0 or error.max() <= (2.0 ** -10 if dtype == np.float16 else 2.0 ** -19)
