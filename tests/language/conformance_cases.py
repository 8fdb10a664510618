"""Small kernels, one for each statement and library function, with NumPy references.

A reference is computed in float64 (or exactly, for integers and bools) and shares nothing with
the interpreter or the compiler. `bound` is the error allowed to floats: relative to the largest
magnitude that takes part, in units of the dtype's epsilon.
"""

import math
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from drivers import kernel

F, D, H = np.float32, np.float64, np.float16
I8, I16, I32, I64 = np.int8, np.int16, np.int32, np.int64
U8, U32 = np.uint8, np.uint32


@dataclass
class Case:
    name: str
    source: str
    args: dict
    expected: dict  # output -> value in float64, or exact for integers and bools
    bound: float = 4.0
    debug: bool = False


CASES = []


def floats(*shape, seed=1, dtype=F, low=None):
    x = np.random.default_rng(seed).standard_normal(shape)
    return (np.abs(x) + low if low is not None else x).astype(dtype)


def ints(*shape, seed=2, low=-100, high=100, dtype=I32):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def case(name, parameters, body, args, expected, **more):
    """`expected` is a function of the arguments (floats widened to float64) that gives outputs by
    name, or the result alone."""
    before = more.pop("before", "")
    result = more.pop("result", "")
    wide = {n: a.astype(D) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else
            a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
    with np.errstate(all="ignore"):
        got = expected(**wide)
    if not isinstance(got, dict):
        got = {f"return.{i}": v for i, v in enumerate(got)} if isinstance(got, tuple) else \
            {"return": got}
    body = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    CASES.append(Case(name, kernel(parameters, body, before=before, result=result), args, got,
                      **more))


X, Y, P = floats(37, seed=1), floats(37, seed=2), floats(37, seed=3, low=0.1)
M, N = floats(5, 7, seed=4), floats(7, 6, seed=5)
J, K = ints(37, seed=6), ints(37, seed=7, low=1, high=9)


def _while(A):
    i = s = 0
    while i < len(A):
        i += 1
        if A[i - 1] < 0:
            continue
        if A[i - 1] > 90:
            break
        s += int(A[i - 1])
    else:
        s = -1
    return np.array([i, s, 2, 0], I32)


def _ranges():
    items = [*range(2, 20, 3), *range(10, -5, -4), 0, 100, 200, 300]
    return np.array(items + [0] * (63 - len(items)) + [len(items)], I64)


def _logic():
    out = []
    for i, a in enumerate(J.tolist()):
        b = (a and a + 1) or 77
        if not a > 3 or i > 5 and a % 2 == 0:
            b += 1000
        out.append(b)
    return np.array(out, I32)


def _slices():
    b = Y.astype(D)
    b[::2] = X[::-2]
    b[1:5] = 3
    b[12:14] = X[-2:]
    return b


def _views():
    a = M.astype(D)
    a[1, 0], a[1, 1], a[1, 2] = 5, 10, 9
    return a


def _builtins():
    a = X
    i = [int(a[0] * F(100)), int(np.rint(a[1] * F(100))), 37, abs(int(a[2] * F(50))),
         min(7, int(a[0]), 3), max(int(a[0]), -4), *divmod(int(a[3] * F(100)), 7)]
    return {"B": np.array(i, I64), "return.0": 18.5, "return.1": True}


def _f32(x):
    return x.astype(F)


# ---- statements ----

case("assignment_chained_and_tuple", "A: asc.int32[N], B: asc.int32[N]", """
for i in range(N):
    x = y = A[i]
    x, y = y + 1, x * 2
    B[i] = x - y
""", dict(A=J, B=np.zeros_like(J)), lambda A, B: dict(B=A + 1 - A * 2))
case("augmented", "A: asc.int32[N], B: asc.int32[N]", """
for i in range(N):
    B[i] += A[i]
    B[i] *= 3
    B[i] -= 1
    B[i] //= 2
    B[i] ^= 5
""", dict(A=J, B=K), lambda A, B: dict(B=(((B + A) * 3 - 1) // 2) ^ 5))
case("if_elif_else", "A: asc.int32[N], B: asc.int32[N]", """
for i in asc.parallel_for(N):
    if A[i] > 50:
        B[i] = 1
    elif A[i] < -50:
        B[i] = 2
    else:
        B[i] = 3
""", dict(A=J, B=np.zeros_like(J)),
     lambda A, B: dict(B=np.where(A > 50, 1, np.where(A < -50, 2, 3)).astype(I32)))
case("while_break_continue_else", "A: asc.int32[N], B: asc.int32[4]", """
i = 0
s = 0
while i < N:
    i += 1
    if A[i - 1] < 0:
        continue
    if A[i - 1] > 90:
        break
    s += A[i - 1]
else:
    s = -1
B[0] = i
B[1] = s
for j in range(3):
    if j == 5:
        break
else:
    B[2] = j
for j in range(3):
    if A[j] == A[0]:
        break
else:
    B[3] = 7
""", dict(A=J, B=np.zeros(4, I32)), lambda A, B: dict(B=_while(A)))


case("range_steps", "B: asc.int64[64]", """
n = 0
for i in range(2, 20, 3):
    B[n] = i
    n += 1
for i in range(10, -5, -4):
    B[n] = i
    n += 1
for i in asc.range(0, 4, 1, unroll=2):
    B[n] = i * 100
    n += 1
B[63] = n
""", dict(B=np.zeros(64, I64)), lambda B: dict(B=_ranges()))


case("parallel_grid", "A: asc.float32[N, M], B: asc.float32[M, N]", """
for i, j in asc.parallel_for_grid(N, M):
    B[j, i] = A[i, j] + 1
""", dict(A=M, B=np.zeros((7, 5), F)), lambda A, B: dict(B=A.T + 1))
case("static_range", "A: asc.int32[N], B: asc.int32[4]", """
for k in asc.static_range(4):
    B[k] = A[k] * k
""", dict(A=J, B=np.zeros(4, I32)), lambda A, B: dict(B=A[:4] * np.arange(4, dtype=I32)))
case("static_range_is_64_bits_wide", "B: asc.int64[3]", """
for k in asc.static_range(3):
    B[k] = k * 2000000000
""", dict(B=np.zeros(3, I64)), lambda B: dict(B=np.arange(3) * 2000000000))
case("loop_variable_lives_on", "B: asc.int64[2]", """
for i in range(5):
    pass
B[0] = i
for j in range(7, 0, -3):
    pass
B[1] = j
""", dict(B=np.zeros(2, I64)), lambda B: dict(B=np.array([4, 1])))
case("conditional_expression", "A: asc.float32[N], B: asc.float32[N]", """
for i in range(N):
    B[i] = A[i] if A[i] > 0 else 0
""", dict(A=X, B=np.zeros_like(X)), lambda A, B: dict(B=np.maximum(A, 0)), bound=0)
case("conditional_literal_stays_weak", "A: asc.float16[N], I: asc.int32[N]", """
i = I[0]
x = A[i] if i > 0 else 0.0
return x
""", dict(A=floats(8, dtype=H), I=np.full(8, 3, I32)), lambda A, I: A[3].astype(H), bound=0)
case("chained_comparison", "A: asc.float32[N], B: asc.bool[N]", """
for i in range(N):
    B[i] = 0 < A[i] < 1
""", dict(A=X, B=np.zeros(37, bool)), lambda A, B: dict(B=(A > 0) & (A < 1)))
case("and_or_not", "A: asc.int32[N], B: asc.int32[N]", """
for i in range(N):
    B[i] = A[i] and A[i] + 1 or 77
    if not A[i] > 3 or i > 5 and A[i] % 2 == 0:
        B[i] += 1000
""", dict(A=J, B=np.zeros_like(J)), lambda A, B: dict(B=_logic()))


case("early_return", "A: asc.int32[N]", """
for i in range(N):
    if A[i] > 80:
        return i
return -1
""", dict(A=J), lambda A: I64(next((i for i, a in enumerate(A) if a > 80), -1)))
case("return_tuple", "A: asc.float32[N]", "return A.sum(), A.max(), A * 2",
     dict(A=X), lambda A: (A.sum(), A.max(), A * 2), bound=16)
case("helpers_nested", "A: asc.float32[N], B: asc.float32[N]", """
for i in asc.parallel_for(N):
    B[i] = outer(A[i]) + inner(3)
""", dict(A=X, B=np.zeros_like(X)), lambda A, B: dict(B=(A * 2 + 1) * 2 + 7), before="""
def inner(x, y=1):
    return x * 2 + y


def outer(x):
    if x > 100:
        return x
    return inner(x) * 2

""")
case("comprehension", "A: asc.int32[N]", """
w = [k * k for k in range(4) if k != 1]
s = A[0]
for v in w:
    s += v
t = sum([A[k] for k in range(3)])
return s + t
""", dict(A=J), lambda A: I64(A[0] + 13 + A[:3].sum()))
case("slices_with_step", "A: asc.float32[N], B: asc.float32[N]", """
B[::2] = A[::-2]
B[1:5] = 3.0
v = B[10:20]
v[2:4] = A[-2:]
""", dict(A=X, B=Y), lambda A, B: dict(B=_slices()), bound=0)


case("none_and_ellipsis", "A: asc.float32[N, M], B: asc.float32[N, M]", """
B[...] = A[0][None, :] + A[..., 1][:, None]
""", dict(A=M, B=np.zeros_like(M)), lambda A, B: dict(B=A[0][None, :] + A[:, 1][:, None]))
case("negative_index", "A: asc.float32[N], B: asc.float32[2]", """
B[0] = A[-1]
for i in range(1):
    B[-1] = A[i - 2]
""", dict(A=X, B=np.zeros(2, F)), lambda A, B: dict(B=A[[-1, -2]]), bound=0)
case("widening_over_branches", "A: asc.float32[N], B: asc.float32[N]", """
for i in range(N):
    if A[i] > 0:
        x = 1
    else:
        x = 2.5
    B[i] = x / 2
""", dict(A=X, B=np.zeros_like(X)), lambda A, B: dict(B=np.where(A > 0, 0.5, 1.25)), bound=0)
case("constexpr_selects", "A: asc.float32[N], flag: asc.constexpr", """
if flag > 2:
    return A + 1
return A[0]
""", dict(A=X, flag=3), lambda A, flag: A + 1)
case("scalar_parameters", "a: int, b: float, c: bool, B: asc.float32[2]", """
B[0] = a * b
B[1] = 1 if c else 0
""", dict(a=7, b=0.5, c=True, B=np.zeros(2, F)), lambda a, b, c, B: dict(B=np.array([3.5, 1])))
case("default_argument", "A: asc.float32[N], scale: float = 3.0", "return A * scale",
     dict(A=X), lambda A: A * 3)
case("symbolic_arithmetic", "A: asc.float32[N], B: asc.float32[N - 2]", """
for i in range(N - 2):
    B[i] = A[i] + A[i + 2]
""", dict(A=X, B=np.zeros(35, F)), lambda A, B: dict(B=A[:-2] + A[2:]))
case("elementwise_of_scalars", "a: asc.float32, b: asc.float32", "return a * b if a > b else b",
     dict(a=X, b=Y), lambda a, b: np.where(a > b, a * b, b))
case("asserts_hold", "A: asc.float32[N]", """
assert N > 3, "too few"
asc.assert_shape(A, (N,))
asc.device_assert(A[0] == A[0], "not a number")
asc.static_assert(2 > 1)
return A[1]
""", dict(A=X), lambda A: A[1], debug=True, bound=0)
case("zero_size", "A: asc.float32[N], B: asc.float32[1]", """
for i in asc.parallel_for(N):
    A[i] = 1.0
B[0] = A.sum() + N
""", dict(A=np.zeros(0, F), B=np.zeros(1, F)), lambda A, B: dict(B=np.zeros(1)))
case("aliases_of_views", "A: asc.float32[N, M]", """
r = A[1]
r[0] = 5.0
A[1, 1] = r[0] * 2
t = A.T
t[2, 1] = 9.0
""", dict(A=M), lambda A: dict(A=_views()), bound=0)


# ---- numbers ----

case("a_float_variable_is_rounded_to_its_type", "B: asc.int64[2]", """
x = 16777217.0
B[0] = int(x)
B[1] = int(16777217.0)
""", dict(B=np.zeros(2, I64)), lambda B: dict(B=np.array([16777216, 16777217])))

case("integer_overflow_wraps", "A: asc.int32[N], B: asc.int8[N]", """
return A * 65537 + 2147483647, B + B, -B
""", dict(A=J, B=np.array([127, -128, 100, 5] * 9 + [1], I8)),
     lambda A, B: (A * I32(65537) + I32(2147483647), B + B, -B))
case("floor_division_and_modulo", "A: asc.int32[N], B: asc.int32[N]", "return A // B, A % B, A // -3",
     dict(A=J, B=K), lambda A, B: (A // B, A % B, A // I32(-3)))
case("float_floor_division", "A: asc.float32[N], B: asc.float32[N]", "return A // B, A % B",
     dict(A=X * 4, B=P), lambda A, B: (_f32(X * 4) // P, _f32(X * 4) % P), bound=8)
case("true_division_of_ints", "A: asc.int32[N], B: asc.int32[N]", "return A / B",
     dict(A=J, B=K), lambda A, B: A / B.astype(D), bound=2)
case("powers", "A: asc.float32[N], B: asc.int32[N]", "return A ** 2, A ** 3, B ** 3, A ** 0.5",
     dict(A=P, B=K), lambda A, B: (A ** 2, A ** 3, B ** 3, A ** 0.5), bound=8)
case("shifts_and_bits", "A: asc.int32[N], B: asc.int32[N]",
     "return A << B, A >> B, A & B, A | B, A ^ B, ~A",
     dict(A=J, B=K), lambda A, B: (A << B, A >> B, A & B, A | B, A ^ B, ~A))
case("promotion", "A: asc.int32[N], B: asc.float16[N], C: asc.int8[N], E: asc.uint8[N]",
     "return A + B, C + E, C + B, A + 0.5, C + 1",
     dict(A=J, B=floats(37, dtype=H), C=ints(37, dtype=I8), E=ints(37, low=0, dtype=U8)),
     lambda A, B, C, E: (A + B, C.astype(I16) + E, (C + B).astype(H), A + 0.5, C + I8(1)), bound=4)
case("bools_are_numbers", "A: asc.float32[N], B: asc.float32[N]",
     "return (A > B) & (A > 0), (A > B) | (A > 0), ~(A > B), asc.sum(A > B)",
     dict(A=X, B=Y), lambda A, B: ((A > B) & (A > 0), (A > B) | (A > 0), ~(A > B),
                                   I64((A > B).sum())))
case("casts", "A: asc.float32[N], B: asc.int32[N]",
     "return asc.int32(A * 10), asc.float16(B), asc.int8(B * 3), asc.bool(B), A.astype(asc.int64)",
     dict(A=X, B=J), lambda A, B: (np.trunc(_f32(X * F(10))).astype(I32), B.astype(H),
                                   (B * 3).astype(I8), B != 0, np.trunc(A).astype(I64)), bound=0)
case("builtins", "A: asc.float32[N], B: asc.int64[8]", """
B[0] = int(A[0] * 100)
B[1] = round(A[1] * 100)
B[2] = len(A)
B[3] = abs(int(A[2] * 50))
B[4] = min(7, int(A[0]), 3)
B[5] = max(int(A[0]), -4)
q, r = divmod(int(A[3] * 100), 7)
B[6] = q
B[7] = r
return float(B[2]) / 2, bool(B[2])
""", dict(A=X, B=np.zeros(8, I64)), lambda A, B: _builtins())


case("half_sums_in_float32", "A: asc.float16[N], B: asc.float16[2]", """
for i in range(N):
    B[0] += A[i]
s = 0.0
for i in range(N):
    s += A[i] * A[i]
B[1] = s
""", dict(A=floats(2000, dtype=H, low=0), B=np.zeros(2, H)),
     lambda A, B: dict(B=np.array([A.sum(), (A * A).sum()])), bound=1)

def _windows(A, W, step=1):
    return np.lib.stride_tricks.sliding_window_view(A, len(W))[::step] @ W


case("window_loops", "A: asc.float32[300], W: asc.float32[7], B: asc.float32[294]", """
for i in asc.parallel_for(294):
    s = 0.0
    for j in range(7):
        s += A[i + j] * W[j]
    B[i] = s
""", dict(A=floats(300), W=floats(7, seed=5), B=np.zeros(294, F)),
     lambda A, W, B: dict(B=_windows(A, W)), bound=40)
case("window_loops_with_steps", "A: asc.float32[300], W: asc.float32[7], B: asc.float32[98]", """
for i in asc.parallel_for(98):
    s = 0.0
    for j in range(7):
        s += A[i * 3 + j] * W[j]
    B[i] = s
""", dict(A=floats(300), W=floats(7, seed=5), B=np.zeros(98, F)),
     lambda A, W, B: dict(B=_windows(A, W, 3)), bound=40)
case("window_maximum", "A: asc.float32[40, 70], W: asc.float32[3, 5], B: asc.float32[38, 66]", """
for i in asc.parallel_for(38):
    for j in range(66):
        m = A[i, j] * W[0, 0]
        for p in range(3):
            for q in range(5):
                m = max(m, A[i + p, j + q] * W[p, q])
        B[i, j] = m
""", dict(A=floats(40, 70), W=floats(3, 5, seed=5), B=np.zeros((38, 66), F)),
     lambda A, W, B: dict(B=(np.lib.stride_tricks.sliding_window_view(A, (3, 5)) * W).max((2, 3))),
     bound=4)
for _name, _n, _c, _h, _f in (("small", 2, 3, 7, 4), ("wide", 2, 17, 20, 20)):
    case(f"convolution_loops_{_name}",
         f"A: asc.float16[{_n}, {_c}, {_h}, {_h}], W: asc.float16[{_f}, {_c}, 3, 3], "
         f"B: asc.float16[{_n}, {_f}, {_h - 2}, {_h - 2}]", f"""
for n, f in asc.parallel_for_grid({_n}, {_f}):
    for h in range({_h - 2}):
        for w in range({_h - 2}):
            s = 0.0
            for c in range({_c}):
                for i in range(3):
                    for j in range(3):
                        s += asc.float32(A[n, c, h + i, w + j]) * asc.float32(W[f, c, i, j])
            B[n, f, h, w] = s
""", dict(A=floats(_n, _c, _h, _h, dtype=H), W=floats(_f, _c, 3, 3, seed=5, dtype=H),
          B=np.zeros((_n, _f, _h - 2, _h - 2), H)),
         lambda A, W, B: dict(B=np.einsum("nchwij,fcij->nfhw",
                                          np.lib.stride_tricks.sliding_window_view(
                                              A, (3, 3), (2, 3)), W)), bound=4)
case("signed_zero_and_nan", "A: asc.float32[4]",
     "return -A, asc.maximum(A, 1.0), asc.isnan(A), asc.signbit(-A)",
     dict(A=np.array([0, -0.0, np.nan, np.inf], F)),
     lambda A: (-A, np.maximum(A, 1), np.isnan(A), np.signbit(-A)), bound=0)
