"""Rows copied from and to where indices in memory say, against NumPy on the same text.

Rows of every length around those at which copies change their form, of every width of element; with
indices that wrap, within one tensor, under conditions, and out of bounds.
"""

import textwrap

import numpy as np
import pytest

import drivers

# Rows of `t`, of `y`, and their length: below and above the shortest row that is moved as a whole,
# and more than goes at a time.
SHAPES = [(1, 1, 1), (5, 3, 7), (9, 16, 31), (9, 16, 32), (6, 5, 33), (13, 41, 257), (7, 9, 20_001)]
DTYPES = ["float16", "float32", "int8", "int64", "bool"]
BODIES = {
    "row": "for i in asc.parallel_for(K):\n    y[i] = t[idx[i]]",
    "row_in_order": "for i in range(K):\n    y[i] = t[idx[i]]",
    "elements": "for i in range(K):\n    for j in range(N):\n        y[i, j] = t[idx[i], j]",
    "part": "for i in range(K):\n    for j in range(1, N):\n        y[i, j - 1] = t[idx[i], j]",
    "to": "for i in range(K):\n    y[idx[i]] = y[i]\n    y[i] = t[0]",
    "within": "for i in range(K):\n    y[i] = y[idx[i]]",
    "both": "for i in range(K):\n    y[i] = t[idx[i]]\n    y[i, 0] = y[i, 0] if i % 2 else t[0, 0]",
    "if": "for i in range(K):\n    if idx[i] >= 0:\n        y[i] = t[idx[i]]",
    "triangle": "for i in range(K):\n    for r in range(i, K):\n        y[r] = t[idx[i]]",
}
TAKES = [((6, 40), (9,), 0), ((6, 40), (3, 5), 0), ((6, 40), (9,), 1), ((5, 6, 33), (4,), 1),
         ((5, 6, 33), (2, 2), 0), ((70,), (40,), 0), ((70,), (40,), None), ((6, 7), (), 0)]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0 if dtype == "bool" else -100, 2 if dtype == "bool" else 100,
                        shape).astype(dtype)


class Loops:
    """What a kernel's text sees in NumPy's hands."""
    parallel_for = staticmethod(range)


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("name", BODIES)
def test_rows_by_index_are_numpys(name, driver, server):
    wrong = []
    for n, (m, k, length) in enumerate(SHAPES):
        dtype = DTYPES[n % len(DTYPES)]
        least = min(m, k)
        args = {"t": numbers((m, length), dtype, 1), "y": numbers((k, length), dtype, 2),
                "idx": np.random.default_rng(3).integers(-least, least, k).astype(np.int32)}
        text = drivers.kernel(f"t: asc.{dtype}[M, N], y: asc.{dtype}[K, N], idx: asc.int32[K]",
                              textwrap.indent(BODIES[name], "    "))
        text = text.replace("@asc.kernel", "M, N, K = asc.dims('M N K')\n\n\n@asc.kernel", 1)
        want = {a: v.copy() for a, v in args.items()}
        exec(BODIES[name], {"asc": Loops, "K": k, "N": length, **want})
        got = drivers.run(driver, text, args, server)
        if not np.array_equal(got.get("y", args["y"]), want["y"]):
            wrong.append((m, k, length, dtype))
    assert not wrong


@pytest.mark.parametrize("driver", drivers.DRIVERS)
def test_take_is_numpys(driver, server):
    wrong = []
    for shape, at, axis in TAKES:
        for dtype in ("float16", "int32"):
            x = numbers(shape, dtype)
            extent = x.size if axis is None else shape[axis]
            indices = np.random.default_rng(1).integers(-extent, extent, at).astype(np.int32)
            kind = f"asc.int32{list(at)}" if at else "asc.int32"
            text = drivers.kernel(f"x: asc.{dtype}{list(shape)}, at: {kind}",
                                  f"    return asc.take(x, at, axis={axis})")
            got = drivers.run(driver, text, {"x": x, "at": indices if at else int(indices)}, server)
            if not np.array_equal(got["return"], np.take(x, indices, axis=axis)):
                wrong.append((shape, at, axis, dtype))
    assert not wrong


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("name", ["row", "elements", "take"])
def test_an_index_out_of_bounds_is_said_with_its_line(name, driver, server):
    body = BODIES.get(name, "y[:] = asc.take(t, idx, axis=0)")
    text = drivers.kernel("t: asc.float32[6, 40], y: asc.float32[5, 40], idx: asc.int32[5]",
                          textwrap.indent(body.replace("K", "5").replace("N", "40"), "    "))
    args = {"t": numbers((6, 40), "float32"), "y": numbers((5, 40), "float32"),
            "idx": np.array([1, 2, 6, 0, 1], np.int32)}
    with pytest.raises(drivers.Wrong) as error:
        drivers.run(driver, text, args, server)
    assert error.value.kind == "run" and "index 6 is out of bounds" in error.value.message
    assert error.value.line == next(n for n, line in enumerate(text.splitlines(), 1)
                                    if "idx[i]" in line or "take" in line)
