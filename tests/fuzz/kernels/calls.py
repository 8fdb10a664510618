"""Calls of the library's functions on tensors, beside those that expressions write themselves."""

from kernel import dtypes
from pyasc.interpret import ops
from pyasc.interpret.values import Unknown
from terms import E, entry, typed

EXACT = ("abs", "fabs", "square", "relu", "floor", "ceil", "trunc", "rint", "round", "sign", "negative",
         "isnan", "isinf", "isfinite", "signbit", "logical_not", "zeros_like", "ones_like", "ravel", "flatten",
         "squeeze", "transpose")
ROUNDED = ("sin", "cos", "tanh", "sigmoid", "erf", "erfc", "gelu", "silu", "softplus", "atan", "cbrt")
GUARDED = {"sqrt": "abs({})", "log1p": "abs({})", "rsqrt": "(abs({}) + 1)", "log": "(abs({}) + 1)",
           "log2": "(abs({}) + 1)", "exp2": "asc.minimum({}, 4)", "expm1": "asc.minimum({}, 2)",
           "reciprocal": "(abs({}) + 1)", "sinh": "asc.clip({}, -3, 3)", "cosh": "asc.clip({}, -3, 3)",
           "asin": "asc.clip({}, -1, 1)", "acos": "asc.clip({}, -1, 1)", "tan": "asc.clip({}, -1, 1)"}
PAIRS = ("add", "subtract", "multiply", "minimum", "maximum", "equal", "not_equal", "less", "less_equal",
         "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "hypot", "copysign",
         "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "outer", "dot", "fmod", "mod", "floor_divide",
         "divide")
REDUCTIONS = ("prod", "var", "std", "amax", "amin", "count_nonzero", "sum", "mean", "max", "min", "any", "all")
ROWS = ("softmax", "log_softmax", "layer_norm", "rms_norm", "cumsum", "cumprod", "flip", "sort")


def library_call(e, a):
    """A call on the tensor `a`, or None. `e` is the generator."""
    r = e.random
    rank = len(a.shape)
    axis = r.randint(-rank, rank - 1)
    kind = r.choice(("exact", "exact", "rounded", "guarded", "pair", "pair", "pair", "reduction", "reduction",
                     "all", "row", "row", "select", "take", "take", "shape", "fma", "made", "method"))
    if kind == "exact":
        f = r.choice(EXACT)
        return E(f"asc.{f}({a.text})", typed(entry(f), a.v))
    if kind == "rounded":
        f = r.choice(ROUNDED)
        return E(f"asc.{f}({a.text})", typed(entry(f), a.v))
    if kind == "guarded":
        f = r.choice(sorted(GUARDED))
        return E(f"asc.{f}({GUARDED[f].format(a.text)})", typed(entry(f), a.v))
    if kind == "pair":
        f = r.choice(PAIRS)
        b = e.tensor(1, "num", a.shape) if r.random() < .7 or f in ("outer", "dot") else e.scalar(1)
        if b is None:
            return None
        if f in ("mod", "floor_divide", "fmod", "divide"):
            b = e.literal_of((1, 2, 3, 7)) if not a.t.is_float else e.literal_of((2.0, 0.5, 4.0))
        if r.random() < .2 and b.shape:
            a, b = b, a
        return E(f"asc.{f}({a.text}, {b.text})", typed(entry(f), a.v, b.v))
    if kind in ("reduction", "all"):
        f = r.choice(REDUCTIONS)
        if f in ("amax", "amin", "max", "min", "var", "std", "mean") and not all(a.shape):
            return None
        if kind == "all":
            return scalar(e, f, a)
        keep = r.random() < .5
        axes = axis if rank < 2 or r.random() < .7 else (0, rank - 1)
        return E(r.choice((f"asc.{f}({a.text}, axis={axes}, keepdims={keep})", f"asc.{f}({a.text}, {axes}, {keep})")),
                 typed(entry(f), a.v, axes, keep))
    if kind == "row":
        f = r.choice(ROWS)
        if f in ("layer_norm", "rms_norm") and not all(a.shape):
            return None
        return E(f"asc.{f}({a.text}, axis={axis})", typed(entry(f), a.v, axis=axis))
    if kind == "select":
        b, c = e.tensor(1, "num", a.shape), e.tensor(1, "bool", a.shape)
        if b is None or c is None:
            return None
        return E(f"asc.select({c.text}, {a.text}, {b.text})", typed(entry("select"), c.v, a.v, b.v))
    if kind == "take":
        index = e.tensor_leaf()
        if index is None or not index.t.is_int or not a.shape[axis] or not index.shape:
            return None
        v = typed(ops.binary, "%", index.v, a.shape[axis])
        return None if v is None else E(f"asc.take({a.text}, {index.text} % {a.shape[axis]}, {axis})",
                                        typed(entry("take"), a.v, v, axis))
    if kind == "shape":
        shape = (r.choice((1, 2, 3)), *a.shape)
        pick = r.random()
        if pick < .4:
            return E(f"asc.broadcast_to({a.text}, {shape})", typed(entry("broadcast_to"), a.v, shape))
        if pick < .6:
            back = tuple(reversed(range(rank)))
            return E(f"asc.permute({a.text}, {back})", typed(entry("permute"), a.v, back))
        if pick < .8:
            return E(f"asc.unsqueeze({a.text}, {axis})", typed(entry("unsqueeze"), a.v, axis))
        n = e.size(a.shape)
        parts = [d for d in (2, 3, 4, 5, 7) if n % d == 0] or [1]
        d = r.choice(parts)
        return E(f"asc.reshape({a.text}, {d}, -1)", typed(entry("reshape"), a.v, d, -1) if n else None)
    if kind == "fma":
        b, c = e.tensor(1, "num", a.shape), e.scalar(1)
        return None if b is None else E(f"asc.fma({a.text}, {b.text}, {c.text})",
                                        typed(entry("fma"), a.v, b.v, c.v))
    if kind == "made":
        n, t = r.choice((1, 2, 5, 8)), r.choice(("float32", "int32", e.float_name))
        texts = (f"asc.eye({n}, {n + 1}, asc.{t})", f"asc.arange({n}, dtype=asc.{t})",
                 f"asc.full_like({a.text}, 3)", f"asc.arange({n}, 0, -1, asc.{t})",
                 f"asc.rand(({n}, 3), 7, asc.float32)")
        k = r.randrange(len(texts))
        shapes = ((n, n + 1), (n,), a.shape, (n,), (n, 3))
        types = (dtypes.BY_NAME[t],) * 2 + (a.t, dtypes.BY_NAME[t], dtypes.BY_NAME["float32"])
        return E(texts[k], Unknown(types[k], shapes[k]))
    f = r.choice(("sum", "max", "min", "any", "prod", "cumsum"))  # a method
    if f in ("max", "min") and not all(a.shape):
        return None
    return E(f"{a.text}.{f}({axis})", typed(entry(f), a.v, axis))


def scalar(e, f, a):
    """A reduction of everything, set against the tensor again."""
    v = typed(entry(f), a.v)
    if v is None:
        return None
    return E(f"({a.text} + asc.{f}({a.text}))", typed(ops.binary, "+", a.v, v))
