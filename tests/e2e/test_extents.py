"""Small kernels of every shape that the Ascend planners tell apart, over awkward extents, on the
simulator, against NumPy: flat and row-wise operations, reductions, accumulations, and what the
scalar unit has to do."""

import math
import subprocess

import numpy as np
import pytest

import cli

F, H, I = np.float32, np.float16, np.int32
LENGTHS = (1, 7, 31, 257, 4097)
MATRICES = ((1, 1), (5, 1), (3, 7), (37, 401), (64, 64), (7, 4097), (257, 130))


def floats(*shape, dtype=F):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


def integers(*shape, low=-2**31, high=2**31):
    return np.random.default_rng(5).integers(low, high, shape).astype(I)


def softmax(x):
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def normalised(x, g, b):
    x = x.astype(float)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g + b


def convolved(x, w):
    y = 0
    for p in range(3):
        for q in range(3):
            part = x[:, :, p:p + x.shape[2] - 2, q:q + x.shape[3] - 2].astype(float)
            y = y + np.einsum("nchw,fc->nfhw", part, w[:, :, p, q])
    return y


# name, parameters, body, inputs from an extent, reference, relative and absolute tolerance
FLAT = [
    ("exponentials", "x: asc.float32[N], y: asc.float32[N]", """
    for i in asc.parallel_for(N):
        y[i] = max(x[i], 0.0) * 2.0 - 1.0 / (1.0 + asc.exp(-x[i]))""",
     lambda n: dict(x=floats(n), y=floats(n)),
     lambda x, y: dict(y=np.maximum(x, 0) * 2 - 1 / (1 + np.exp(-x.astype(float)))), 1e-5, 1e-6),
    ("branches", "x: asc.float32[N], y: asc.float32[N]", """
    for i in asc.parallel_for(N):
        if x[i] > 0.5:
            y[i] = x[i]
        else:
            y[i] = y[i] * 2.0""",
     lambda n: dict(x=floats(n), y=floats(n) + 1),
     lambda x, y: dict(y=np.where(x > 0.5, x, y * 2)), 0, 0),
    ("integers_wrap", "x: asc.int32[N], y: asc.int32[N], z: asc.int32[N]", """
    for i in asc.parallel_for(N):
        z[i] = x[i] + 3 if x[i] < y[i] else y[i] * x[i]""",
     lambda n: dict(x=integers(n), y=integers(n)[::-1].copy(), z=np.zeros(n, I)),
     lambda x, y, z: dict(z=np.where(x < y, x + I(3), y * x)), 0, 0),
    ("halves_round_each_time", "x: asc.float16[N], y: asc.float16[N]", "\n    return x * y + x",
     lambda n: dict(x=floats(n, dtype=H), y=floats(n, dtype=H)[::-1].copy()),
     lambda x, y: {"return": x * y + x}, 0, 0),
    ("functions", "x: asc.float32[N]",
     "\n    return asc.tanh(x) + asc.erf(x) + asc.log1p(asc.abs(x)) + asc.floor(x)",
     lambda n: dict(x=floats(n) * 3),
     lambda x: {"return": np.tanh(x.astype(float)) + np.vectorize(math.erf)(x.astype(float))
                + np.log1p(np.abs(x.astype(float))) + np.floor(x)}, 1e-5, 2e-6),
    ("bools", "x: asc.float32[N], y: asc.float32[N]", "\n    return (x > y) & (x < 1.0)",
     lambda n: dict(x=floats(n), y=floats(n)[::-1].copy()),
     lambda x, y: {"return": (x > y) & (x < 1)}, 0, 0),
    ("integer_sum", "x: asc.int32[N], o: asc.int32[1]", """
    for i in range(N):
        o[0] += x[i]""",
     lambda n: dict(x=integers(n), o=np.ones(1, I)),
     lambda x, o: dict(o=(o + x.sum(dtype=I)).astype(I)), 0, 0),
    ("shifted_slices", "x: asc.float32[N], y: asc.float32[N]", """
    y[1:] = x[:-1] + x[1:]
    y[0] = 5.0""",
     lambda n: dict(x=floats(n), y=floats(n)),
     lambda x, y: dict(y=np.concatenate([[F(5)], x[:-1] + x[1:]]).astype(F)), 0, 0),
    ("prefix_sum", "a: asc.int32[N]", """
    for i in range(1, N):
        a[i] = a[i] + a[i-1]""",
     lambda n: dict(a=integers(n, low=-9, high=9)),
     lambda a: dict(a=np.cumsum(a).astype(I)), 0, 0),
    ("bytes", "a: asc.int8[N], b: asc.int8[N], c: asc.int8[N]", """
    for i in asc.parallel_for(N):
        c[i] = a[i] * b[i] + a[i]""",
     lambda n: dict(a=integers(n).astype(np.int8), b=integers(n)[::-1].astype(np.int8),
                    c=np.zeros(n, np.int8)),
     lambda a, b, c: dict(c=(a * b + a).astype(np.int8)), 0, 0),
]

ROWS = [
    ("sum_of_squares", "x: asc.float32[R,C], y: asc.float32[R]", """
    for i in asc.parallel_for(R):
        s = 0.0
        for j in range(C):
            s += x[i,j] * x[i,j]
        y[i] = s""",
     lambda r, c: dict(x=floats(r, c), y=floats(r)),
     lambda x, y: dict(y=(x.astype(float)**2).sum(1)), 1e-5, 1e-5),
    ("column_sums", "x: asc.float32[R,C], y: asc.float32[C]", """
    for j in range(C):
        for i in range(R):
            y[j] += x[i,j]""",
     lambda r, c: dict(x=floats(r, c), y=floats(c)),
     lambda x, y: dict(y=y + x.astype(float).sum(0)), 1e-4, 1e-4),
    ("softmax", "x: asc.float32[R,C], y: asc.float32[R,C]", """
    for i in asc.parallel_for(R):
        m = x[i,0]
        for j in range(1, C):
            m = max(m, x[i,j])
        s = 0.0
        for j in range(C):
            s += asc.exp(x[i,j]-m)
        for j in range(C):
            y[i,j] = asc.exp(x[i,j]-m)/s""",
     lambda r, c: dict(x=floats(r, c) * 4, y=floats(r, c)),
     lambda x, y: dict(y=softmax(x)), 1e-4, 1e-7),
    ("layer_norm", "x: asc.float32[R,C], g: asc.float32[C], b: asc.float32[C], y: asc.float32[R,C]",
     """
    for i in asc.parallel_for(R):
        s = 0.0
        for j in range(C):
            s += x[i,j]
        mean = s / C
        v = 0.0
        for j in range(C):
            v += (x[i,j]-mean)*(x[i,j]-mean)
        inv = asc.rsqrt(v / C + 1e-5)
        for j in range(C):
            y[i,j] = (x[i,j]-mean)*inv*g[j]+b[j]""",
     lambda r, c: dict(x=floats(r, c), g=floats(c), b=floats(c)[::-1].copy(), y=floats(r, c)),
     lambda x, g, b, y: dict(y=normalised(x, g, b)), 1e-3, 1e-4),
    ("row_and_column_operands",
     "x: asc.float32[R,C], g: asc.float32[C], b: asc.float32[R], y: asc.float32[R,C]", """
    for i in asc.parallel_for(R):
        for j in range(C):
            y[i,j] = (b[i] - x[i,j]) * g[j] + b[i] * g[j]""",
     lambda r, c: dict(x=floats(r, c), g=floats(c), b=floats(r), y=floats(r, c)),
     lambda x, g, b, y: dict(y=(b[:, None] - x) * g + b[:, None] * g), 1e-5, 1e-5),
    ("transposed", "x: asc.float32[R,C], y: asc.float32[C,R]", """
    for i in asc.parallel_for(R):
        for j in range(C):
            y[j,i] = x[i,j] + 1.0""",
     lambda r, c: dict(x=floats(r, c), y=floats(c, r)),
     lambda x, y: dict(y=x.T + F(1)), 0, 0),
    ("maximum_keeps_nan", "x: asc.float32[R,C], y: asc.float32[R]", """
    for i in asc.parallel_for(R):
        y[i] = asc.max(x[i,:])""",
     lambda r, c: dict(x=np.where(floats(r, c) > 2.5, np.nan, floats(r, c)).astype(F), y=floats(r)),
     lambda x, y: dict(y=x.max(1)), 0, 0),
    ("integer_matmul", "x: asc.int32[R,C], w: asc.int32[C,D], y: asc.int32[R,D]", """
    for i in asc.parallel_for(R):
        for j in range(D):
            for q in range(C):
                y[i,j] += x[i,q]*w[q,j]""",
     lambda r, c: dict(x=integers(r, c, low=-99, high=99), w=integers(c, 19, low=-99, high=99),
                       y=np.ones((r, 19), I)),
     lambda x, w, y: dict(y=y + x @ w), 0, 0),
    ("maximum_of_all", "x: asc.float32[R,C], o: asc.float32[1]", """
    for i in range(R):
        for j in range(C):
            o[0] = max(o[0], x[i,j])""",
     lambda r, c: dict(x=floats(r, c), o=floats(1)),
     lambda x, o: dict(o=np.maximum(o, x.max())), 0, 0),
]

CONVOLUTION = ("convolution",
               "x: asc.float32[N,C,H,W], w: asc.float32[F,C,3,3], y: asc.float32[N,F,H-2,W-2]", """
    for n, f in asc.parallel_for_grid(N, F):
        for h in range(H-2):
            for v in range(W-2):
                acc = 0.0
                for c in range(C):
                    for p in range(3):
                        for q in range(3):
                            acc += x[n,c,h+p,v+q]*w[f,c,p,q]
                y[n,f,h,v] = acc""",
               lambda n, c, h, w, f: dict(x=floats(n, c, h, w), w=floats(f, c, 3, 3),
                                          y=floats(n, f, h - 2, w - 2)),
               lambda x, w, y: dict(y=convolved(x, w)), 1e-3, 1e-4)
IMAGES = ((1, 1, 3, 3, 1), (2, 5, 19, 23, 7), (1, 3, 66, 130, 16))

ALL = ([(kernel, (n,)) for kernel in FLAT for n in LENGTHS] +
       [(kernel, extents) for kernel in ROWS for extents in MATRICES] +
       [(CONVOLUTION, extents) for extents in IMAGES])


@pytest.mark.parametrize(
    "kernel,extents", ALL, ids=[f"{k[0]}-{'x'.join(map(str, e))}" for k, e in ALL])
def test_kernel_agrees_with_numpy(kernel, extents, tmp_path, service):
    name, parameters, body, inputs, reference, relative, absolute = kernel
    (tmp_path / "kernel.py").write_text(
        f"import pyasc as asc\n\n\n@asc.kernel\ndef {name}({parameters}):{body}\n")
    arrays = inputs(*extents)
    with np.errstate(all="ignore"):
        expected = reference(**{key: array.copy() for key, array in arrays.items()})
    command = [cli.PYASC, "run", str(tmp_path / "kernel.py"), "--target", "sim", *service]
    for key, array in arrays.items():
        np.save(tmp_path / f"{key}.npy", array)
        command += ["--arg", f"{key}=@{tmp_path}/{key}.npy"]
    for key in expected:
        command += ["--out", f"{key}={tmp_path}/out_{key}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr or done.stdout
    for key, values in expected.items():
        np.testing.assert_allclose(np.load(tmp_path / f"out_{key}.npy"), values, relative, absolute)
