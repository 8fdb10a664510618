"""The example kernels with inputs and NumPy references in float64.

A reference shares nothing with the compiler: it is NumPy alone, and states the largest error that
the dtype and the length of the kernel's sums allow.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
EPS = {np.dtype(np.float32): 2.0 ** -24, np.dtype(np.float16): 2.0 ** -11}


@dataclass
class Case:
    """One kernel at one size. `inputs(rng)` makes the arrays, `reference(arrays)` the expected
    outputs in float64 with, for each, the magnitude that errors are relative to."""

    name: str
    file: str
    inputs: Callable
    reference: Callable
    # Length of the longest sum behind one output element.
    sum_length: int
    scalars: dict = field(default_factory=dict)
    # dtype that the result is rounded to, and that of the widest product's operands.
    dtype: type = np.float32
    # "full": the sizes of the demo; "small": odd sizes that show tails.
    size: str = "full"

    def tolerance(self, magnitude):
        """Bound on |got - reference|: rounding of `sum_length` additions and of the products."""
        return (self.sum_length + 4) * EPS[np.dtype(self.dtype)] * magnitude


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def _f64(arrays):
    return {k: np.asarray(v, np.float64) for k, v in arrays.items()}


def _add(a):
    a = _f64(a)
    return {"return": (a["a"] + a["b"], np.abs(a["a"]) + np.abs(a["b"]))}


def _saxpy(a):
    a = _f64(a)
    return {"y": (a["y"] + 0.75 * a["x"], np.abs(a["y"]) + np.abs(0.75 * a["x"]))}


def _matmul(left, right, out):
    def reference(a):
        a = _f64(a)
        return {out: (a[out] + a[left] @ a[right],
                      np.abs(a[out]) + np.abs(a[left]) @ np.abs(a[right]))}
    return reference


def _conv(channels):
    def reference(a):
        a = _f64(a)
        x, w = a["input"], a["weight"]
        if not channels:
            x, w = x[:, :1], w[:, :1]
        n, _, height, width = x.shape
        out = np.zeros((n, w.shape[0], height - 2, width - 2))
        size = np.zeros_like(out)
        for p in range(3):
            for q in range(3):
                window = x[:, :, p:p + height - 2, q:q + width - 2]
                out += np.einsum("nchw,fc->nfhw", window, w[:, :, p, q])
                size += np.einsum("nchw,fc->nfhw", np.abs(window), np.abs(w[:, :, p, q]))
        return {"output": (out, size)}
    return reference


def _softmax_rows(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _softmax(a):
    y = _softmax_rows(np.asarray(a["x"], np.float64))
    return {"y": (y, y)}


def _attention(a):
    a = _f64(a)
    scores = a["q"] @ a["k"].T
    probs = _softmax_rows(scores)
    # exp turns the scores' absolute error into a relative one of the probabilities; a score's own
    # error is that of a float32 sum of |q| @ |k|.
    score_error = np.max(np.abs(a["q"]) @ np.abs(a["k"]).T) * (a["q"].shape[1] + 4) * 2.0 ** -24
    scale = 1.0 + score_error / 2.0 ** -11
    return {"return": (probs @ a["v"], scale * (probs @ np.abs(a["v"])) + 2.0 ** -14)}


def _conv_inputs(n, c, f, height, width):
    return lambda rng: dict(input=normal(rng, n, c, height, width), weight=normal(rng, f, c, 3, 3),
                            output=np.zeros((n, f, height - 2, width - 2), np.float32))


def _square(names, extent):
    return lambda rng: {name: normal(rng, extent, extent) for name in names}


CASES = [
    Case("add_tensors", "add_tensors.py",
         lambda rng: dict(a=normal(rng, 1 << 20), b=normal(rng, 1 << 20)), _add, 1),
    Case("add_scalars", "add_tensors.py", lambda rng: {}, lambda a: {"return": (3.75, 3.75)}, 1,
         scalars=dict(a=1.5, b=2.25), size="small"),
    Case("add_tensors_odd", "add_tensors.py",
         lambda rng: dict(a=normal(rng, 7, 257), b=normal(rng, 7, 257)), _add, 1, size="small"),
    Case("saxpy", "saxpy.py", lambda rng: dict(x=normal(rng, 1 << 20), y=normal(rng, 1 << 20)),
         _saxpy, 2, scalars=dict(alpha=0.75)),
    Case("saxpy_odd", "saxpy.py", lambda rng: dict(x=normal(rng, 4099), y=normal(rng, 4099)),
         _saxpy, 2, scalars=dict(alpha=0.75), size="small"),
    Case("saxpy_empty", "saxpy.py", lambda rng: dict(x=normal(rng, 0), y=normal(rng, 0)),
         _saxpy, 2, scalars=dict(alpha=0.75), size="small"),
    Case("matmul", "matmul.py", _square("ABC", 1024), _matmul("A", "B", "C"), 1024),
    Case("matmul_block48", "matmul_block48.py", _square(("left", "right", "out"), 1000),
         _matmul("left", "right", "out"), 1000),
    Case("matmul_block48_odd", "matmul_block48.py", _square(("left", "right", "out"), 97),
         _matmul("left", "right", "out"), 97, size="small"),
    Case("conv3x3", "conv3x3.py", _conv_inputs(4, 1, 16, 64, 64), _conv(False), 9),
    Case("conv3x3_odd", "conv3x3.py", _conv_inputs(2, 2, 3, 19, 23), _conv(False), 9,
         size="small"),
    Case("conv3x3_channels", "conv3x3_channels.py", _conv_inputs(4, 16, 16, 64, 64), _conv(True),
         9 * 16),
    Case("conv3x3_channels_odd", "conv3x3_channels.py", _conv_inputs(2, 5, 7, 19, 23), _conv(True),
         45, size="small"),
    Case("softmax", "softmax.py",
         lambda rng: dict(x=normal(rng, 1024, 1024), y=np.zeros((1024, 1024), np.float32)),
         _softmax, 1024),
    Case("softmax_odd", "softmax.py",
         lambda rng: dict(x=normal(rng, 37, 401), y=np.zeros((37, 401), np.float32)),
         _softmax, 401, size="small"),
    Case("attention", "attention.py",
         lambda rng: dict(q=normal(rng, 1024, 64) / 8, k=normal(rng, 1024, 64),
                          v=normal(rng, 1024, 64, dtype=np.float16)),
         _attention, 4, dtype=np.float16),
    Case("attention_odd", "attention.py",
         lambda rng: dict(q=normal(rng, 33, 40) / 8, k=normal(rng, 65, 40),
                          v=normal(rng, 65, 24, dtype=np.float16)),
         _attention, 4, dtype=np.float16, size="small"),
]


def worst_error(case, outputs, arrays):
    """Largest error over the tolerance (at most 1 is right), and the largest absolute error."""
    ratio = absolute = 0.0
    for name, (expected, magnitude) in case.reference(arrays).items():
        got = np.asarray(outputs[name], np.float64)
        if got.shape != np.shape(expected):
            return float("inf"), float("inf")
        if got.size == 0:
            continue
        error = np.abs(got - expected)
        if not np.all(np.isfinite(error)):
            return float("inf"), float("inf")
        absolute = max(absolute, float(error.max()))
        bound = case.tolerance(np.asarray(magnitude, np.float64)) + 1e-300
        ratio = max(ratio, float((error / bound).max()))
    return ratio, absolute
