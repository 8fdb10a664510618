"""One computation written twice: with whole tensors, and as tensor operations on rows, matrices or blocks in a
loop over them. The loop may take 1.1 times as long; the answers are the same."""

import numpy as np

from kernels import layer_norm, rms_norm, softmax

N, M = 512, 1024  # of the timed launches


def half(*shape):
    return f"f16[{','.join(map(str, shape))}]"


def kernel(parameters, *lines):
    return f"\n@asc.kernel\ndef kernel({', '.join(p + ': asc.tensor' for p in parameters.split())}):\n" + \
        "".join(f"    {line}\n" for line in lines)


def matmul_types(*lead):
    return {"q": half(*lead, 128, 64), "k": half(*lead, 64, 128), "y": half(*lead, 128, 128)}


X = {"x": half(N, M), "y": half(N, M)}
SMALL = [{"x": half(n, m), "y": half(n, m)} for n, m in ((1, 1), (7, 16), (16, 7), (3, 257))]


def also(types, **others):
    """Each of some launches with further tensors; a row's is as long as one of x."""
    return [{**t, **{name: half(*[int(n) for n in t["x"][4:-1].split(",")][-1:]) for name in others}}
            for t in types]


def with_row(*names):
    return {**X, **{name: half(M) for name in names}}, also(SMALL, **dict.fromkeys(names))


def softmax_of_scores(q, k, v):
    s = (q @ k.swapaxes(-1, -2)) * 0.125
    return softmax(s.reshape(-1, s.shape[-1])).reshape(s.shape) @ v


LAYER = ("h = asc.layer_norm({x}, g, g)", "q = asc.matmul(h, wq)", "k = asc.matmul(h, wk)", "v = asc.matmul(h, wv)",
         "p = asc.softmax(asc.matmul(q, {k}) * 0.125)", "a = {x} + asc.matmul(asc.matmul(p, v), wo)",
         "n = asc.layer_norm(a, g, g)", "{y} = a + asc.matmul(asc.maximum(asc.matmul(n, w1), 0.0), w2)")


def layer(**places):
    return [line.format(**places) for line in LAYER]


# (name, types, small, whole form, forms in loops, reference)
PAIRS = [
    ("bias", *with_row("b"), kernel("x b y", "y[:] = x + b"),
     [kernel("x b y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = x[i] + b"),
      kernel("x b y", "for i in range(x.shape[0]):", "    t = x[i]", "    y[i] = t + b")],
     lambda x, b, **_: x + b),
    ("softmax", X, SMALL, kernel("x y", "y[:] = asc.softmax(x)"),
     [kernel("x y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = asc.softmax(x[i])")],
     lambda x, **_: softmax(x)),
    ("softmax by hand", X, SMALL,
     kernel("x y", "t = x - asc.max(x, axis=1, keepdims=True)", "e = asc.exp(t)",
            "y[:] = e / asc.sum(e, axis=1, keepdims=True)"),
     [kernel("x y", "for i in asc.parallel_for(x.shape[0]):", "    t = x[i] - asc.max(x[i])",
             "    e = asc.exp(t)", "    y[i] = e / asc.sum(e)")],
     lambda x, **_: softmax(x)),
    ("softmax of blocks", X, [t for t in SMALL if t["x"] == half(16, 7)],
     kernel("x y", "y[:] = asc.softmax(x)"),
     [kernel("x y", "for i in asc.parallel_for(x.shape[0] // 16):",
             "    y[i * 16:(i + 1) * 16] = asc.softmax(x[i * 16:(i + 1) * 16])"),
      kernel("x y", "for i in range(0, x.shape[0], 16):", "    y[i:i + 16] = asc.softmax(x[i:i + 16])")],
     lambda x, **_: softmax(x)),
    ("layer norm", *with_row("w", "b"), kernel("x w b y", "y[:] = asc.layer_norm(x, w, b)"),
     [kernel("x w b y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = asc.layer_norm(x[i], w, b)")],
     lambda x, w, b, **_: layer_norm(x, w, b)),
    ("RMS norm", *with_row("w"), kernel("x w y", "y[:] = asc.rms_norm(x, w)"),
     [kernel("x w y", "for i in range(x.shape[0]):", "    y[i] = asc.rms_norm(x[i], w)")],
     lambda x, w, **_: rms_norm(x, w)),
    ("columns", X, SMALL, kernel("x y", "y[:] = x * 2.0 + 1.0"),
     [kernel("x y", "for j in asc.parallel_for(x.shape[1]):", "    y[:, j] = x[:, j] * 2.0 + 1.0")],
     lambda x, **_: x * 2 + 1),
    ("a factor a row", {**X, "a": half(N)}, [{**t, "a": half(*[int(t["x"][4:-1].split(",")[0])])} for t in SMALL],
     kernel("x a y", "y[:] = x * a.reshape(x.shape[0], 1)"),
     [kernel("x a y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = x[i] * a[i]")],
     lambda x, a, **_: x * a[:, None]),
    ("sums of rows", {"x": half(N, M), "y": half(N)}, [{"x": half(n, m), "y": half(n)} for n, m in ((1, 1), (7, 33))],
     kernel("x y", "y[:] = asc.sum(x, axis=1)"),
     [kernel("x y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = asc.sum(x[i])")],
     lambda x, **_: x.sum(1)),
    ("sums of blocks", {"x": half(N * M), "y": half(M)}, [{"x": half(1536), "y": half(3)}],
     kernel("x y", "y[:] = asc.sum(x.reshape(y.shape[0], 512), axis=1)"),
     [kernel("x y", "for i in asc.parallel_for(y.shape[0]):", "    y[i] = asc.sum(x[i * 512:(i + 1) * 512])")],
     lambda x, y, **_: x.reshape(len(y), 512).sum(1)),
    ("a row's number", X, SMALL, kernel("x y", "for i in range(x.shape[0]):", "    for j in range(x.shape[1]):",
                                        "        y[i, j] = x[i, j] * float(i)"),
     [kernel("x y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = x[i] * float(i)")],
     lambda x, **_: x * np.arange(len(x))[:, None]),
    ("running sums", X, SMALL[:3], kernel("x y", "y[:] = asc.cumsum(x, axis=1)"),
     [kernel("x y", "for i in asc.parallel_for(x.shape[0]):", "    y[i] = asc.cumsum(x[i])")],
     lambda x, **_: np.cumsum(x, 1)),
    ("heads", matmul_types(16), [{"q": half(3, 5, 7), "k": half(3, 7, 4), "y": half(3, 5, 4)}],
     kernel("q k y", "y[:] = asc.matmul(q, k)"),
     [kernel("q k y", "for h in asc.parallel_for(q.shape[0]):", "    y[h] = asc.matmul(q[h], k[h])")],
     lambda q, k, **_: q @ k),
    ("batches of heads", matmul_types(4, 4), [{"q": half(2, 3, 5, 7), "k": half(2, 3, 7, 4), "y": half(2, 3, 5, 4)}],
     kernel("q k y", "y[:] = asc.matmul(q, k)"),
     [kernel("q k y", "for b in asc.parallel_for(q.shape[0]):", "    for h in range(q.shape[1]):",
             "        y[b, h] = asc.matmul(q[b, h], k[b, h])")],
     lambda q, k, **_: q @ k),
    ("heads with attention", {a: half(16, 256, 64) for a in "qkvy"}, [{a: half(2, 5, 8) for a in "qkvy"}],
     kernel("q k v y", "p = asc.softmax(asc.matmul(q, k.transpose(0, 2, 1)) * 0.125)", "y[:] = asc.matmul(p, v)"),
     [kernel("q k v y", "for h in asc.parallel_for(q.shape[0]):",
             "    p = asc.softmax(asc.matmul(q[h], k[h].T) * 0.125)", "    y[h] = asc.matmul(p, v[h])")],
     lambda q, k, v, **_: softmax_of_scores(q, k, v)),
    ("product of tiles", {a: half(512, 512) for a in "qky"},
     [{"q": half(128, 48), "k": half(48, 64), "y": half(128, 64)}], kernel("q k y", "y[:] = asc.matmul(q, k)"),
     [kernel("q k y", "for i in asc.parallel_for(q.shape[0] // 64):", "    for j in asc.parallel_for(k.shape[1] // 64):",
             "        y[i * 64:(i + 1) * 64, j * 64:(j + 1) * 64] = \\",
             "            asc.matmul(q[i * 64:(i + 1) * 64], k[:, j * 64:(j + 1) * 64])")],
     lambda q, k, **_: q @ k),
    ("transformer's layer", {"x": half(8, 128, 64), "y": half(8, 128, 64), "g": half(64), "w1": half(64, 256),
                             "w2": half(256, 64), **{w: half(64, 64) for w in ("wq", "wk", "wv", "wo")}}, [],
     kernel("x wq wk wv wo g w1 w2 y", *layer(x="x", k="k.transpose(0, 2, 1)", y="y[:]")),
     [kernel("x wq wk wv wo g w1 w2 y", "for b in asc.parallel_for(x.shape[0]):",
             *("    " + line for line in layer(x="x[b]", k="k.T", y="y[b]")))], None),
]


def pair_rows(row):
    """The table's rows; `row` makes one."""
    rows = []
    for name, types, small, whole, loops, reference in PAIRS:
        common = dict(small=small, reference=reference, output="y", tolerance=2.0 ** -6, quick=True)
        rows.append(row(f"{name}, whole", whole, types, **common))
        for number, text in enumerate(loops):
            rows.append(row(f"{name}, in a loop" + (" again" if number else ""), text, types,
                            beside=f"{name}, whole", times=1.1, **common))
    return rows
