"""The rows of the table: kernel, sizes, target.

A roof is the time that one resource needs for the work alone, at the rates of the 910B1's
description: HBM 1495 GB/s for every byte that has to be read or written once; the cube's 4096
products of 16 bits (1024 of f32) a cycle on 24 cores; the vector unit's 256 bytes a cycle on 48
cores, for `passes` over the elements in float32 (an exponential or a quotient counts two, as they
take twice the time, a reduction one); L2's 5200 GB/s for what cube and vector cores exchange. More
than 100 % of a memory roof is possible: what is still in L2 when the kernel ends, up to 192 MB, has
not been written to HBM in its time.
"""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import kernels as k
from row_pairs import pair_rows

CLOCK_MHZ = 1850.0
HBM, L2 = 1495e3, 5200e3  # bytes a us
CUBE = {2: 24 * 4096 * CLOCK_MHZ, 4: 24 * 1024 * CLOCK_MHZ}  # products a us
VECTOR = 48 * 64 * CLOCK_MHZ  # f32 elements a us


@dataclass
class Row:
    name: str
    text: str
    types: dict  # arguments of the timed launch
    # What the time is held against, and the least share of it that is a hit; or `within`.
    roof_us: float = 0
    share: float = 0
    at_most_us: float = 0
    # At most so many times the time of another row.
    beside: str = ""
    times: float = 1.0
    # Arguments of the launches whose results are checked, and what they should be.
    small: list = field(default_factory=list)
    reference: Callable = None
    output: str = "return"
    tolerance: float = 2.0 ** -9
    # Bytes that may come from global memory, over what is read once; 0: any.
    reads: float = 0
    quick: bool = False
    precision: str = ""


def t(dtype, *shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def memory(*bytes_):
    return sum(bytes_) / HBM


def cube(m, n, k_, size=2):
    return m * n * k_ / CUBE[size]


def vector(elements, passes):
    return elements * passes / VECTOR


R, C = 16384, 8192
HALVES = 2 * R * C
_rows = [(37, 401), (5, 8192), (48, 64)]


def row_kernel(name, text, tensor_text, extras, passes, reference, tolerance=2.0 ** -9):
    roof = max(memory(HALVES, HALVES), vector(R * C, passes[0])), \
        max(memory(HALVES, HALVES), vector(R * C, passes[1]))
    x = {"x": t("f16", R, C), **{e: t("f16", C) for e in extras}}
    small = [{"x": t("f16", r, c), **{e: t("f16", c) for e in extras}} for r, c in _rows]
    common = dict(share=0.8, reference=reference, reads=1.02, tolerance=tolerance)
    return [Row(f"{name}, loops", text, {**x, "y": t("f16", R, C)}, roof_us=roof[0], output="y",
                small=[{**s, "y": s["x"]} for s in small], **common),
            Row(f"{name}, tensor", tensor_text, x, roof_us=roof[1], small=small, **common)]


def matmul_rows():
    rows = []
    for n, share in ((8192, 0.83), (2048, 0.65)):
        square = t("f16", n, n)
        small = [{"A": t("f16", a, c), "B": t("f16", c, b)} for a, b, c in
                 ((1, 1, 1), (7, 257, 33), (130, 96, 257), (256, 512, 384))]
        common = dict(roof_us=cube(n, n, n), share=share, reference=lambda A, B, **_: A @ B,
                      quick=n == 2048)
        rows += [Row(f"matmul half {n}, loops", k.MATMUL, {a: square for a in "ABC"}, output="C",
                     small=[{**s, "C": t("f16", int(s["A"][4:-1].split(",")[0]),
                                         int(s["B"][4:-1].split(",")[1]))} for s in small],
                     **common),
                 Row(f"matmul half {n}, asc.matmul", k.MATMUL_TENSOR, {a: square for a in "AB"},
                     small=small, **common)]
        rows.append(Row(f"matmul half {n}, bias, GELU", k.MATMUL_BIAS_GELU,
                        {"A": square, "B": square, "bias": t("f16", n)},
                        beside=f"matmul half {n}, asc.matmul", times=1.05,
                        small=[{**s, "bias": t("f16", int(s["B"][4:-1].split(",")[1]))}
                               for s in small],
                        reference=lambda A, B, bias: k.gelu(A @ B + bias)))
    return rows


def attention_rows():
    rows = []
    D = 128
    for s in (1024, 2048, 4096, 8192, 16384, 32768):
        types = {a: t("f16", s, D) for a in "qkv"}
        # The scores, rounded to half, go from cube to vector cores, the probabilities back; the
        # scores pass the vector unit nine times: from half and back, maximum, difference,
        # exponential, sum, quotient.
        roof = max(2 * cube(s, s, D), vector(s * s, 9), 2 * (2 + 2) * s * s / L2,
                   memory(4 * 2 * s * D))
        rows.append(Row(f"attention half {s}", k.ATTENTION, types, roof_us=roof, precision="mixed",
                        share=0.6 if s == 8192 else 0, quick=s == 1024,
                        small=[{a: t("f16", n, d) for a in "qkv"} for n, d in
                               ((1, 8), (33, 40), (257, 64), (384, 128))],
                        reference=k.attention, tolerance=2.0 ** -7))
    # As above in float32, where nothing is rounded on the way.
    roof = max(2 * cube(8192, 8192, D, 4), vector(8192 ** 2, 6), 2 * (4 + 4) * 8192 ** 2 / L2)
    rows.append(Row("attention f32 8192", k.ATTENTION_F32, {a: t("f32", 8192, D) for a in "qkv"},
                    roof_us=roof, share=0.6, small=[{a: t("f32", 65, 40) for a in "qkv"}], reference=k.attention,
                    tolerance=2.0 ** -14))
    return rows


def odd_rows():
    rows = []
    for name, text, types in (
            ("add", k.ADD_TENSOR, lambda n: {a: t("f16", n, n) for a in "ab"}),
            ("softmax", k.SOFTMAX_TENSOR, lambda n: {"x": t("f16", n, n)}),
            ("matmul", k.MATMUL_TENSOR, lambda n: {a: t("f16", n, n) for a in "AB"})):
        for odd, friendly in ((1, 16), (7, 16), (257, 272), (4097, 4112)):
            size = f"{name} half {friendly}"
            if all(row.name != size for row in rows):
                rows.append(Row(size, text, types(friendly)))
            rows.append(Row(f"{name} half {odd}", text, types(odd), beside=size, times=3,
                            quick=odd == 7))
        rows[-1].small = [types(n) for n in (0, 1, 7, 257)]
        rows[-1].reference = {"add": lambda a, b: a + b, "softmax": k.softmax,
                              "matmul": lambda A, B: A @ B}[name]
    return rows


def all_rows():
    n = 8192
    image = dict(x=t("f16", 32, 256, 56, 56), weight=t("f16", 256, 256, 3, 3))
    rows = [
        Row("add half 8192x8192, loops", k.ADD, {a: t("f16", n, n) for a in "abc"}, at_most_us=190,
            small=[{a: t("f16", r, c) for a in "abc"} for r, c in _rows], output="c", quick=True,
            reference=lambda a, b, **_: a + b),
        Row("add half 8192x8192, tensor", k.ADD_TENSOR, {a: t("f16", n, n) for a in "ab"},
            at_most_us=190, small=[{a: t("f16", r, c) for a in "ab"} for r, c in _rows],
            reference=lambda a, b: a + b)]
    # From half and back, and: maximum, difference, exponential, sum, quotient.
    rows += row_kernel("softmax half", k.SOFTMAX, k.SOFTMAX_TENSOR, (), (9, 9),
                       lambda x, **_: k.softmax(x))
    # ... sum, difference, square, sum, scale, weight, bias.
    rows += row_kernel("layer norm half", k.LAYER_NORM, k.LAYER_NORM_TENSOR, ("w", "b"), (9, 9),
                       lambda x, w, b, **_: k.layer_norm(x, w, b))
    # ... square, sum, scale, weight.
    rows += row_kernel("RMS norm half", k.RMS_NORM, k.RMS_NORM_TENSOR, ("w",), (6, 6),
                       lambda x, w, **_: k.rms_norm(x, w))
    # With tanh: the cube, its factors and sum, an exponential and a quotient for 1 + tanh, two
    # products. Exact: 1 + erf as an exponential of a polynomial of 7 coefficients and a quotient.
    rows += row_kernel("GELU half", k.GELU, k.GELU_TENSOR, (), (17, 21),
                       lambda x, **_: k.gelu(x), tolerance=2.0 ** -9)
    rows += matmul_rows()
    f32 = t("f32", 1024, 1024)
    rows += [
        Row("matmul f32 1024, asc.matmul", k.MATMUL_ADDED, {a: f32 for a in "ABC"},
            roof_us=cube(1024, 1024, 1024, 4), share=0.5, output="C",
            small=[{"A": t("f32", 33, 65), "B": t("f32", 65, 17), "C": t("f32", 33, 17)}],
            reference=lambda A, B, C: C + A @ B, tolerance=2.0 ** -18),
        Row("matmul f32 1024, the article's", k.MATMUL_ARTICLE, {a: f32 for a in "ABC"},
            roof_us=cube(1024, 1024, 1024, 4), share=0.5, beside="matmul f32 1024, asc.matmul",
            times=1.1, quick=True),
        Row("conv 3x3 half, conv2d", k.CONV_TENSOR, image,
            roof_us=cube(32 * 56 * 56, 256, 256 * 9), share=0.5,
            small=[{"x": t("f16", 2, c, h, w), "weight": t("f16", f, c, 3, 3)} for c, f, h, w in
                   ((1, 1, 3, 3), (17, 20, 9, 13), (32, 16, 28, 28))],
            reference=lambda x, weight: k.conv(x, weight, 1)),
        Row("conv 3x3 half, loops", k.CONV, {**image, "y": t("f16", 32, 256, 54, 54)},
            roof_us=cube(32 * 54 * 54, 256, 256 * 9), share=0.5, output="y",
            small=[{"x": t("f16", 2, 17, 9, 13), "weight": t("f16", 20, 17, 3, 3),
                    "y": t("f16", 2, 20, 7, 11)}],
            reference=lambda x, weight, **_: k.conv(x, weight, 0)),
    ]
    rows += attention_rows()
    rows += odd_rows()
    rows += pair_rows(Row)
    return rows
