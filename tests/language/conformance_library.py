"""The library's part of the conformance cases: one line or more for every function."""

import math

import numpy as np

from conformance_cases import (D, F, H, I8, I16, I32, I64, J, K, M, N, P, U8, X, Y, case, floats,
                               ints)

erf = np.vectorize(math.erf)
erfc = np.vectorize(math.erfc)


def one(name, function, args=None, bound=8):
    """asc.name(A) and its NumPy meaning; also on a scalar, and in float16."""
    x = X if args is None else args
    h = x.astype(H)
    case(f"asc.{name}", "A: asc.float32[N], B: asc.float16[N]",
         f"return asc.{name}(A), asc.{name}(A[0]), asc.{name}(B)", dict(A=x, B=h),
         lambda A, B: (function(A), function(A[0]), function(B)), bound=bound)


for _name, _function in {
        "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "sin": np.sin, "cos": np.cos,
        "tan": np.tan, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
        "erf": erf, "erfc": erfc, "cbrt": np.cbrt, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
        "silu": lambda x: x / (1 + np.exp(-x)), "softplus": lambda x: np.log1p(np.exp(x)),
        "relu": lambda x: np.maximum(x, 0), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
        "round": np.rint, "rint": np.rint, "abs": np.abs, "fabs": np.abs, "absolute": np.abs,
        "sign": np.sign, "square": np.square, "negative": np.negative}.items():
    one(_name, _function)
for _name, _function in {
        "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
        "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x}.items():
    one(_name, _function, P)
for _name, _function in {"asin": np.arcsin, "acos": np.arccos}.items():
    one(_name, _function, np.linspace(-1, 1, 21).astype(F))


def two(names, functions, args=None):
    a, b = args or (X, Y)
    calls = ", ".join(f"asc.{n}(A, B)" for n in names)
    t = {"f": "float32", "i": "int32"}[a.dtype.kind]
    case("asc." + "_".join(names), f"A: asc.{t}[N], B: asc.{t}[N]", f"return {calls}",
         dict(A=a, B=b), lambda A, B: tuple(f(A, B) for f in functions), bound=8)


two(("minimum", "maximum", "add", "subtract", "multiply", "divide"),
    (np.minimum, np.maximum, np.add, np.subtract, np.multiply, np.divide))
two(("sub", "mul", "div"), (np.subtract, np.multiply, np.divide))
two(("atan2", "arctan2", "copysign", "hypot"), (np.arctan2, np.arctan2, np.copysign, np.hypot))
two(("fmod", "pow", "power"), (np.fmod, np.power, np.power), (P * 3, P))
two(("floor_divide", "mod", "remainder"), (np.floor_divide, np.mod, np.mod), (J, K))
two(("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift), (J, K))
two(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal), (J % 4, K % 4))
two(("logical_and", "logical_or", "logical_xor"),
    (np.logical_and, np.logical_or, np.logical_xor), (J % 2, K % 2))
case("asc.where_select_clip", "A: asc.float32[N], B: asc.float32[N]",
     "return asc.where(A > B, A, 0), asc.select(A > B, A, B), asc.clip(A, -0.5, 0.5), "
     "asc.clamp(A, max=0.0), A.clip(0.0), asc.logical_not(A > B)",
     dict(A=X, B=Y), lambda A, B: (np.where(A > B, A, 0), np.where(A > B, A, B),
                                   np.clip(A, -0.5, 0.5), np.minimum(A, 0), np.maximum(A, 0),
                                   ~(A > B)), bound=0)
SPECIAL = np.array([1, np.nan, np.inf, -np.inf, -0.0], F)
case("asc.isnan_isinf_isfinite_signbit", "A: asc.float32[N]",
     "return asc.isnan(A), asc.isinf(A), asc.isfinite(A), asc.signbit(A)", dict(A=SPECIAL),
     lambda A: (np.isnan(A), np.isinf(A), np.isfinite(A), np.signbit(A)))
case("asc.fma_cdiv", "A: asc.float32[N], n: int", "return asc.fma(A, A, 1.0), asc.cdiv(n, 4)",
     dict(A=X, n=-9), lambda A, n: (A * A + 1, I64(-2)))
case("math", "x: float", "return math.floor(x), math.ceil(x), math.trunc(x), math.sqrt(x), math.pi",
     dict(x=2.5), lambda x: (I64(2), I64(3), I64(2), math.sqrt(x), math.pi), before="import math\n\n")

def _sequences():
    t = 0
    for i, v in enumerate((5, 6, 7)):
        t += i * v
    for a, b in zip((1, 2), (3, 4)):
        t += a * b
    for k in reversed((1, 2, 3)):
        t = t * 2 + k
    for k in reversed(range(3)):
        t = t * 2 + k
    return t + 9 + 4 + int(J[0])


# ---- creation ----

case("asc.zeros_ones_full", "A: asc.float32[N, M]", """
z = asc.zeros((2, 3))
z[0, 1] = 4.0
i = asc.ones(3, asc.int32)
f = asc.full((2,), 7, asc.int8)
e = asc.empty((2, 2))
e[:] = 1.5
return z, i, f, e, asc.zeros_like(A), asc.ones_like(A, asc.int32), asc.full_like(A, 2.0), asc.empty_like(A).shape[0]
""", dict(A=M), lambda A: (np.array([[0, 4, 0], [0, 0, 0.]]), np.ones(3, I32), np.full(2, 7, I8),
                           np.full((2, 2), 1.5), A * 0, np.ones((5, 7), I32), A * 0 + 2, I32(5)), bound=0)
case("asc.arange_eye", "A: asc.float32[N]",
     "return asc.arange(5), asc.arange(2, 9, 3), asc.arange(0.0, 1.0, 0.25), asc.eye(3, 4)",
     dict(A=X), lambda A: (np.arange(5, dtype=I32), np.arange(2, 9, 3, dtype=I32),
                           np.arange(0, 1, 0.25), np.eye(3, 4)), bound=0)
case("asc.shared_memory_local_copy", "A: asc.float32[N, M], B: asc.float32[N, M]", """
s = asc.shared_memory((N, M), asc.float32)
asc.copy(A, s)
asc.prefetch(A)
asc.barrier()
for i in asc.parallel_for(N):
    row = asc.local((M,), asc.float32)
    row[:] = s[i] * 2
    B[i] = row
c = asc.copy(A)
c[0, 0] = 100.0
q = asc.aligned_alloc((2,), asc.float32, alignment=64)
q[0] = c[0, 0]
q[1] = A[0, 0]
return q
""", dict(A=M, B=np.zeros_like(M)),
     lambda A, B: {"B": A * 2, "return": np.array([100, A[0, 0]])}, bound=0)
case("asc.cast_astype_item", "A: asc.float32[N]",
     "return asc.cast(A, asc.float16), asc.astype(A, asc.int32), A[0:1].item(), A.cast(asc.float32)",
     dict(A=X), lambda A: (A, np.trunc(A).astype(I32), A[0], A), bound=2)

# ---- reductions ----

for _name in ("sum", "prod", "max", "min", "mean", "var", "std"):
    _f = getattr(np, _name)
    case(f"asc.{_name}", "A: asc.float32[N, M], B: asc.float16[N, M]",
         f"return asc.{_name}(A), A.{_name}(0), asc.{_name}(A, axis=-1, keepdims=True), "
         f"asc.{_name}(B, 1)", dict(A=M, B=M.astype(H)),
         lambda A, B, f=_f: (f(A), f(A, 0), f(A, -1, keepdims=True), f(B, 1)), bound=64)
case("asc.integer_reductions", "A: asc.int8[N, M]",
     "return asc.sum(A), asc.prod(A[0, :3]), asc.max(A, 0), asc.min(A, 1), asc.mean(A), "
     "asc.count_nonzero(A), asc.amax(A), asc.amin(A)",
     dict(A=M.astype(I8) * 60), lambda A: (I64(A.sum(dtype=I64)), I64(A[0, :3].prod(dtype=I64)),
                                           A.max(0), A.min(1), A.mean(), I64((A != 0).sum()),
                                           A.max(), A.min()))
case("asc.any_all", "A: asc.bool[N, M]", "return asc.any(A), asc.all(A, 0), asc.any(A, 1, True)",
     dict(A=M > 0), lambda A: (A.any(), A.all(0), A.any(1, keepdims=True)))
TIES = np.array([[3, np.nan, 9, np.nan], [4, 9, 9, 1]], F)
case("asc.argmax_argmin", "A: asc.float32[N, M], B: asc.int32[K]",
     "return asc.argmax(A, 1), asc.argmin(A, axis=1, keepdims=True), asc.argmax(B), B.argmin()",
     dict(A=TIES, B=J), lambda A, B: (A.argmax(1), A.argmin(1)[:, None], B.argmax(), B.argmin()))
case("asc.cumsum_cumprod", "A: asc.float32[N, M], B: asc.int16[K]",
     "return asc.cumsum(A, 1), A.cumsum(0), asc.cumsum(B), asc.cumprod(A, 0)",
     dict(A=M, B=J.astype(I16)), lambda A, B: (A.cumsum(1), A.cumsum(0), B.cumsum(dtype=I64),
                                               A.cumprod(0)), bound=32)
case("builtin_sum_min_max_any", "A: asc.float32[N, M]",
     "return sum(A), max(A), min(A), sum((1, 2, 3)) + A[0, 0], any(A > 0), all(A > 0)",
     dict(A=M), lambda A: (A.sum(0), A.max(), A.min(), A[0, 0] + 6, (A > 0).any(), (A > 0).all()),
     bound=16)

# ---- linear algebra, normalisation ----

case("asc.matmul", "A: asc.float32[N, K], B: asc.float32[K, M], C: asc.float16[K, M]",
     "return A @ B, asc.matmul(A, C), asc.dot(A[0], B), asc.matmul(B, A, transpose_x=True, "
     "transpose_y=True), A[0] @ B[:, 0], asc.outer(A[0], B[0])",
     dict(A=M, B=N, C=N.astype(H)),
     lambda A, B, C: (A @ B, A @ C, A[0] @ B, B.T @ A.T, A[0] @ B[:, 0], np.outer(A[0], B[0])),
     bound=64)
G = floats(3, 4, 5, seed=11)
case("asc.batched_matmul", "A: asc.float32[B, N, K], C: asc.float32[K, M]",
     "return asc.matmul(A, C), asc.bmm(A, A.mT), asc.batch_matmul(A, A, transpose_y=True)",
     dict(A=G, C=floats(5, 2)), lambda A, C: (A @ C, A @ A.transpose(0, 2, 1),
                                              A @ A.transpose(0, 2, 1)), bound=64)
case("asc.integer_matmul", "A: asc.int32[N, K], B: asc.int32[K, M]", "return A @ B",
     dict(A=ints(4, 9), B=ints(9, 3, seed=3)), lambda A, B: A @ B)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def norm(x, w, b, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * w + b


case("asc.softmax", "A: asc.float32[N, M], B: asc.float16[N, M]",
     "return asc.softmax(A), asc.softmax(A, 0), asc.log_softmax(A), asc.softmax(B, axis=1)",
     dict(A=M, B=M.astype(H)), lambda A, B: (softmax(A), softmax(A, 0), np.log(softmax(A)),
                                             softmax(B)), bound=32)
case("asc.layer_norm_rms_norm", "A: asc.float32[N, M], w: asc.float32[M], b: asc.float32[M]",
     "return asc.layer_norm(A, w, b), asc.layer_norm(A), asc.rms_norm(A, w, eps=0.01)",
     dict(A=M, w=floats(7, seed=8), b=floats(7, seed=9)),
     lambda A, w, b: (norm(A, w, b, 1e-5), norm(A, 1, 0, 1e-5),
                      A / np.sqrt((A * A).mean(-1, keepdims=True) + 0.01) * w), bound=128)

# ---- shape ----

case("asc.reshape_and_friends", "A: asc.float32[N, M]",
     "return asc.reshape(A, (7, 5)), A.reshape(-1), asc.flatten(A), asc.ravel(A), "
     "asc.expand_dims(A, 1), asc.unsqueeze(A, 0), asc.squeeze(A[:, None]), A.reshape(7, -1)",
     dict(A=M), lambda A: (A.reshape(7, 5), A.reshape(-1), A.reshape(-1), A.reshape(-1),
                           A[:, None], A[None], A, A.reshape(7, 5)), bound=0)
case("asc.transpose_permute_swapaxes", "A: asc.float32[B, N, K]",
     "return A.transpose(), asc.transpose(A, (1, 0, 2)), asc.permute(A, 2, 0, 1), "
     "asc.swapaxes(A, 0, -1), A.T, A.mT",
     dict(A=G), lambda A: (A.T, A.transpose(1, 0, 2), A.transpose(2, 0, 1), A.swapaxes(0, -1), A.T,
                           A.swapaxes(1, 2)), bound=0)
case("asc.concat_stack_split", "A: asc.float32[N, M], B: asc.float32[N, M]", """
p = asc.split(A[:4], 2)
return asc.concat((A, B), axis=1), asc.stack([A, B]), p[1], asc.concatenate((A, B))
""", dict(A=M, B=M + 1), lambda A, B: (np.concatenate((A, B), 1), np.stack([A, B]), A[2:4],
                                       np.concatenate((A, B))), bound=0)
case("asc.flip_pad_tile_broadcast", "A: asc.float32[N, M]",
     "return asc.flip(A), asc.flip(A, 1), asc.pad(A, 1), asc.pad(A, ((0, 1), (2, 0)), 5.0), "
     "asc.tile(A, (2, 1)), asc.broadcast_to(A[0], (3, 7)), asc.broadcast_to(1.5, (2,))",
     dict(A=M), lambda A: (A[::-1, ::-1], A[:, ::-1], np.pad(A, 1),
                           np.pad(A, ((0, 1), (2, 0)), constant_values=5), np.tile(A, (2, 1)),
                           np.broadcast_to(A[0], (3, 7)), np.full(2, 1.5)), bound=0)
case("asc.take_gather", "A: asc.float32[N, M], I: asc.int32[K]",
     "return asc.take(A, I, 0), asc.gather(A, I, axis=1), asc.take(A, I), asc.take(A, 3)",
     dict(A=M, I=np.array([0, -1, 3, 1], I32)),
     lambda A, I: (A[I], A[:, I], A.reshape(-1)[I], A.reshape(-1)[3]), bound=0)
case("builtin_sequences", "A: asc.int32[N]", """
t = 0
for i, v in enumerate((5, 6, 7)):
    t += i * v
for a, b in zip((1, 2), (3, 4)):
    t += a * b
for k in reversed((1, 2, 3)):
    t = t * 2 + k
for k in reversed(range(3)):
    t = t * 2 + k
u = tuple(range(3)) + (9,)
t += u[-1] + len(list(u))
return t + A[0]
""", dict(A=J), lambda A: I64(_sequences()))
