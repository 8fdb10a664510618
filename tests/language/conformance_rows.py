"""Rows whose steps share work, and tanh as a factor: where the vector unit computes something else
than what is written, which must mean the same."""

import numpy as np

from conformance_cases import D, F, H, case, floats

# Short rows several at a time, long ones one by one.
for columns in (70, 2100):
    M, V = floats(5, columns, seed=31), floats(columns, seed=32)

    def _written_between(A, B):
        first = np.exp(A) + 1
        total = np.exp(A).sum(1)
        changed = A * 2
        return {"A": changed, "B": np.exp(changed) + total[:, None] + first.max(1)[:, None]}

    case(f"rows_written_between_reads_{columns}", "A: asc.tensor, B: asc.tensor", f"""
for i in asc.parallel_for(5):
    s = 0.0
    for j in range({columns}):
        s += asc.exp(A[i, j])
    m = -1e30
    for j in range({columns}):
        m = max(m, asc.exp(A[i, j]) + 1.0)
    for j in range({columns}):
        A[i, j] = A[i, j] * 2.0
    for j in range({columns}):
        B[i, j] = asc.exp(A[i, j]) + s + m""",
         {"A": M, "B": np.zeros_like(M)}, _written_between, bound=columns)

    case(f"rows_share_what_differs_by_an_operand_{columns}", "A: asc.tensor, v: asc.tensor", f"""
m = asc.mean(A, axis=1, keepdims=True)
a = asc.sum((A - m) * (A - m), axis=1, keepdims=True)
b = asc.sum((A - v) * (A - v), axis=1, keepdims=True)
c = asc.max((A - m) * (A - m), axis=1, keepdims=True)
return (A - m) / asc.sqrt(a + 1.0) + (A - v) / asc.sqrt(b + 1.0) + c""",
         {"A": M, "v": V},
         lambda A, v: (A - A.mean(1, keepdims=True)) /
         np.sqrt(((A - A.mean(1, keepdims=True)) ** 2).sum(1, keepdims=True) + 1) +
         (A - v) / np.sqrt(((A - v) ** 2).sum(1, keepdims=True) + 1) +
         ((A - A.mean(1, keepdims=True)) ** 2).max(1, keepdims=True), bound=64)

    case(f"rows_stored_and_read_again_{columns}", "A: asc.tensor, B: asc.tensor, C: asc.tensor", f"""
for i in asc.parallel_for(5):
    m = A[i, 0]
    for j in range(1, {columns}):
        m = max(m, A[i, j])
    s = 0.0
    for j in range({columns}):
        B[i, j] = asc.exp(A[i, j] - m)
        s += asc.exp(A[i, j] - m)
    for j in range({columns}):
        C[i, j] = asc.exp(A[i, j] - m) / s + B[i, j]""",
         {"A": M, "B": np.zeros_like(M), "C": np.zeros_like(M)},
         lambda A, B, C: {"B": np.exp(A - A.max(1, keepdims=True)),
                          "C": np.exp(A - A.max(1, keepdims=True)) *
                          (1 + 1 / np.exp(A - A.max(1, keepdims=True)).sum(1, keepdims=True))},
         bound=16)

# The whole range of a half, and what saturates.
ALL = np.arange(65536, dtype=np.uint16).view(H)
WIDE = np.concatenate([np.linspace(-60, 60, 4001), [0.0, -0.0, np.inf, -np.inf, np.nan, 4e37, -2e38,
                                                    1e-40, -1e-40]]).astype(F)


def _tanh_factor(scale, inner):
    # 1 + tanh(u) = 2 / (1 + exp(-2 u)) keeps its digits below 0.
    return lambda x: scale * x * 2 / (1 + np.exp(-2 * inner(x)))


def _cubic(x):
    return 0.7978845608028654 * (x + 0.044715 * x ** 3)


case("tanh_as_a_factor_of_all_halves", "x: asc.tensor", """
v = asc.float32(x)
return asc.float16(0.5 * v * (1.0 + asc.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))))""",
     {"x": ALL}, _tanh_factor(0.5, _cubic), bound=2)

for name, text, expected in (
        ("gelu", "0.5 * x * (1.0 + asc.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
         _tanh_factor(0.5, _cubic)),
        ("small", "(asc.tanh(x) + 1.0) * (x * -0.25)", _tanh_factor(-0.25, lambda x: x)),
        # Twice the factor would not be finite.
        ("large", "x * 1.5 * (1.0 + asc.tanh(x))", _tanh_factor(1.5, lambda x: x)),
        ("of_itself", "0.5 * x * (1.0 + asc.tanh(0.5 * x)) * (1.0 + asc.tanh(0.5 * x))",
         lambda x: 0.5 * x * (2 / (1 + np.exp(-x))) ** 2)):
    case(f"tanh_as_a_factor_{name}", "x: asc.tensor", f"return {text}", {"x": WIDE}, expected,
         bound=64 if name == "large" else 8)

case("tanh_as_a_factor_of_a_scalar", "x: asc.tensor, s: asc.float32, y: asc.tensor", """
for i in asc.parallel_for(4010):
    y[i] = (0.5 * s) * (1.0 + asc.tanh(x[i]))""",
     {"x": WIDE, "s": F(3.0), "y": np.zeros_like(WIDE)},
     lambda x, s, y: {"y": 0.5 * s * 2 / (1 + np.exp(-2 * x))})
case("tanh_of_a_scalar_as_a_factor", "x: asc.tensor, s: asc.float32, y: asc.tensor", """
for i in asc.parallel_for(4010):
    y[i] = (0.5 * x[i]) * (1.0 + asc.tanh(0.25 * s))""",
     {"x": WIDE, "s": F(3.0), "y": np.zeros_like(WIDE)},
     lambda x, s, y: {"y": 0.5 * x * (1 + np.tanh(D(0.25 * s)))})
case("tanh_of_a_row_as_a_factor", "A: asc.tensor", """
s = asc.sum(A, axis=1, keepdims=True)
return (0.5 * s) * (1.0 + asc.tanh(A)) + (0.5 * A) * (1.0 + asc.tanh(0.25 * s))""",
     {"A": floats(4, 3000, seed=33)},
     lambda A: 0.5 * A.sum(1, keepdims=True) * (1 + np.tanh(A)) +
     0.5 * A * (1 + np.tanh(0.25 * A.sum(1, keepdims=True))), bound=256)
