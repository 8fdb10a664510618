"""Reductions against NumPy: of every dtype, along rows, along columns, of everything.

Extents below, at and above what a tile, a vector and a core take; integers that wrap; NaN; what the
result held before counts, too.
"""

import numpy as np
import pytest

import drivers

SHAPES = [(1, 1), (3, 40), (17, 129), (257, 31), (300, 500), (1, 5000), (5000, 3), (2, 70001)]
INTEGERS = ["int8", "int16", "int32", "bool"]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.3
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max + 1, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def wrong_of(driver, server, shape, dtype, axis, x, cases):
    """Which of the cases are wrong: (function, what is right, whether it has to be exact)."""
    names = ", ".join(map(str, shape))
    calls = ", ".join("asc." + f.format(axis=axis) for f, _, _ in cases)
    text = drivers.kernel(f"x: asc.{dtype}[{names}]", f"    return {calls},")
    results = drivers.run(driver, text, {"x": x}, server)
    wrong = []
    for i, (function, want, exact) in enumerate(cases):
        got, want = np.asarray(results[f"return.{i}"]), np.asarray(want)
        if exact:
            fine = got.dtype == want.dtype and np.array_equal(got, want,
                                                              equal_nan=got.dtype.kind == "f")
        else:
            steps = 2.0 ** -22 * np.sqrt(x.size // want.size)
            bound = steps * (np.abs(x.astype(float)).sum(axis) + np.abs(want))
            fine = np.all(np.abs(got.astype(float) - want) <=
                          bound + 2.0 ** -10 * (dtype == "float16") * np.abs(want))
        if not fine:
            wrong.append((shape, dtype, function))
    return wrong


@pytest.mark.parametrize("driver", drivers.DRIVERS[:2])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype, axis, driver, server):
    wrong = []
    for shape in SHAPES if driver == "sim" else SHAPES[:4]:
        x = numbers(shape, dtype)
        cases = [("sum(x, axis={axis})", x.sum(axis, dtype=np.int64)),
                 ("any(x, axis={axis})", x.any(axis)), ("all(x, axis={axis})", x.all(axis)),
                 ("count_nonzero(x, axis={axis})", np.asarray(np.count_nonzero(x, axis), np.int64)),
                 ("max(x, axis={axis})", x.max(axis)), ("min(x, axis={axis})", x.min(axis))]
        if dtype in ("int16", "int32"):
            cases += [(f"sum(x, axis={{axis}}, dtype=asc.{dtype})", x.sum(axis, dtype=dtype)),
                      (f"prod(x | 1, axis={{axis}}, dtype=asc.{dtype})",
                       np.prod(x | 1, axis, dtype=dtype))]
        wrong += wrong_of(driver, server, shape, dtype, axis, x, [(*case, True) for case in cases])
    assert not wrong


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("end", [-2 ** 31, 2 ** 31 - 1, 65535, 32767, -32769])
def test_sums_in_64_bits_are_exact_where_all_elements_are_extreme(end, axis, server):
    wrong = []
    for shape in [(33, 1000), (300, 400), (2, 70001), (70001, 2)]:
        x = np.full(shape, end, np.int32)
        wrong += wrong_of("sim", server, shape, "int32", axis, x,
                          [("sum(x, axis={axis})", x.sum(axis, dtype=np.int64), True)])
    assert not wrong


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_floats(dtype, axis, server):
    wrong = []
    for shape in SHAPES:
        x = numbers(shape, dtype)
        wide = x.astype(float)
        cases = [("sum(x, axis={axis})", wide.sum(axis), False),
                 ("max(x, axis={axis})", x.max(axis), True),
                 ("min(x, axis={axis})", x.min(axis), True),
                 ("any(x > 2, axis={axis})", (x > 2).any(axis), True),
                 ("all(x, axis={axis})", x.all(axis), True)]
        if dtype == "float32":
            cases.append(("prod(1.0 + x * 0.000244140625, axis={axis})",
                          np.prod(1 + wide * 2.0 ** -12, axis), False))
        wrong += wrong_of("sim", server, shape, dtype, axis, x, cases)
        holed = x.copy()
        holed[x > 1.5] = np.nan
        wrong += wrong_of("sim", server, shape, dtype, axis, holed,
                          [("max(x, axis={axis})", holed.max(axis), True),
                           ("any(x, axis={axis})", holed.any(axis), True)])
    assert not wrong


LOOPS = {
    # The result so far counts, whatever it is.
    "rows": ("y[i] += x[i, j]", lambda x, y: y + x.sum(1, dtype=y.dtype), "M"),
    "columns": ("y[j] += x[i, j]", lambda x, y: y + x.sum(0, dtype=y.dtype), "N"),
    "largest": ("y[i] = max(y[i], x[i, j])", lambda x, y: np.maximum(y, x.max(1)), "M"),
    "smallest": ("y[j] = min(y[j], x[i, j])", lambda x, y: np.minimum(y, x.min(0)), "N"),
    "products": ("y[j] *= x[i, j]", lambda x, y: y * np.prod(x, 0, dtype=y.dtype), "N"),
    "weighted": ("y[j] += x[i, j] * x[i, 0]",
                 lambda x, y: y + (x * x[:, :1]).sum(0, dtype=y.dtype), "N"),
    "apart": ("y[2 * j] += x[i, j]",
              lambda x, y: y + np.pad(x.sum(0, dtype=y.dtype)[:, None], ((0, 0), (0, 1))).ravel(),
              "2 * N"),
}


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("dtype", ["int16", "int32"])
def test_loops_add_to_what_is_there(dtype, name, driver, server):
    body, reference, extent = LOOPS[name]
    text = drivers.kernel(
        f"x: asc.{dtype}[M, N], y: asc.{dtype}[{extent}]",
        f"    for i in range(M):\n        for j in range(N):\n            {body}")
    text = text.replace("@asc.kernel", "M, N = asc.dims('M N')\n\n\n@asc.kernel", 1)
    wrong = []
    for m, n in [(1, 1), (17, 33), (300, 40), (40, 300), (5000, 3), (3, 9001)]:
        if driver == "interpreter" and m * n > 1000:
            continue
        x = numbers((m, n), dtype)
        y = numbers({"M": (m,), "N": (n,), "2 * N": (2 * n,)}[extent], dtype, 1)
        with np.errstate(all="ignore"):
            want = reference(x, y).astype(y.dtype)
        if not np.array_equal(drivers.run(driver, text, {"x": x, "y": y}, server)["y"], want):
            wrong.append((m, n))
    assert not wrong


@pytest.mark.parametrize("shape, axis", [((6, 40, 33), 1), ((6, 40, 33), (0, 1)), ((70, 9, 5), (0, 2)),
                                         ((3, 200, 130), 1), ((3, 200, 130), (0, 2)),
                                         ((50, 3, 7, 20), (0, 2))], ids=str)
def test_middle_axes(shape, axis, server):
    wrong = []
    for dtype in ("int32", "float32", "bool"):
        x = numbers(shape, dtype)
        if dtype == "float32":
            x = np.round(x * 8)  # exact sums
        want = x.sum(axis, dtype=np.float32 if dtype == "float32" else np.int64)
        wrong += wrong_of("sim", server, shape, dtype, axis, x, [("sum(x, axis={axis})", want, True)])
    assert not wrong
