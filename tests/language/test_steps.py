"""Every second, third and fourth element of a row, read and written, against NumPy."""

import numpy as np
import pytest

import drivers

# Rows, columns of the result: below and above a tile, and rows that end in the middle of a repeat.
SHAPES = [(1, 40), (3, 17), (5, 300), (70, 33), (33, 129), (2, 9000)]
DTYPES = ["float16", "float32", "int32", "int16", "int8", "int64"]
BODIES = {
    "plain": "y[i, j] = x[i, S * j + F]",
    "beside": "y[i, j] = x[i, S * j + F] * z[i, j] + x[i, S * j]",
    "largest": "y[i, 0] = asc.maximum(y[i, 0], x[i, S * j + F])",
    "rows_added": "y[i, 0] += x[i, S * j + F] * z[i, j]",
    "columns_added": "y[0, j] += x[i, S * j + F] * z[i, j]",
}


def numbers(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def reference(name, x, z, step, first):
    rows, columns = z.shape
    part, start = x[:, first::step][:, :columns], x[:, ::step][:, :columns]
    y = np.zeros_like(z)
    if name == "plain":
        y[:] = part
    elif name == "beside":
        y[:] = part * z + start
    elif name == "largest":
        y[:, 0] = np.maximum(0, part.max(1))
    elif name == "rows_added":
        y[:, 0] = (part * z).sum(1)
    else:
        y[0] = (part * z).sum(0)
    return y


def differences(body, steps, driver, server, arguments, right):
    """What of the shapes and steps gives another y than `right(arrays, step, first)`, where
    `arguments(long, z)` says what the arrays are: `long` ends with the last element that is taken."""
    wrong = []
    for n, (rows, columns) in enumerate(SHAPES):
        dtype = DTYPES[n % len(DTYPES)]
        for step, first in steps:
            arrays = arguments(numbers((rows, step * (columns - 1) + first + 1), dtype, 1),
                               numbers((rows, columns), dtype, 2))
            parameters = ", ".join(f"{name}: asc.{dtype}[{', '.join(map(str, array.shape))}]"
                                   for name, array in arrays.items())
            text = drivers.kernel(
                parameters,
                f"    for i in range({rows}):\n        for j in range({columns}):\n            " +
                body.replace("S", str(step)).replace("F", str(first)))
            got = drivers.run(driver, text, arrays, server)["y"]
            if not np.array_equal(got, right(arrays, step, first)):
                wrong.append((rows, columns, dtype, step, first))
    return wrong


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("name", BODIES)
def test_every_few_elements(name, driver, server):
    assert not differences(BODIES[name], ((2, 0), (2, 1), (3, 1), (4, 0), (4, 3)), driver, server,
                           lambda x, z: {"x": x, "z": z, "y": np.zeros_like(z)},
                           lambda a, step, first: reference(name, a["x"], a["z"], step, first))


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_pooling_of_two_by_two(dtype, driver, server):
    x = np.random.default_rng(3).standard_normal((5, 18, 46)).astype(dtype)
    text = drivers.kernel(
        f"x: asc.{dtype}[5, 18, 46], y: asc.{dtype}[5, 9, 23]",
        "    for c in range(5):\n        for i in range(9):\n            for j in range(23):\n"
        "                m = asc.maximum(x[c, 2 * i, 2 * j], x[c, 2 * i + 1, 2 * j])\n"
        "                m = asc.maximum(m, x[c, 2 * i, 2 * j + 1])\n"
        "                y[c, i, j] = asc.maximum(m, x[c, 2 * i + 1, 2 * j + 1])")
    y = np.zeros((5, 9, 23), dtype)
    got = drivers.run(driver, text, {"x": x, "y": y}, server)["y"]
    assert np.array_equal(got, x.reshape(5, 9, 2, 23, 2).max((2, 4)))


RESULTS = {
    "to": ("y[i, S * j + F] = z[i, j] * 2", lambda y, z, s, f: put(y, z * 2, s, f)),
    "added": ("y[i, S * j + F] += z[i, j]", lambda y, z, s, f: put(y, part(y, z, s, f) + z, s, f)),
    "from_itself": ("y[i, S * j + F] = y[i, S * j + F] * z[i, j]",
                    lambda y, z, s, f: put(y, part(y, z, s, f) * z, s, f)),
    "from_beside": ("y[i, S * j + F] = y[i, S * j] + z[i, j]",
                    lambda y, z, s, f: put(y, part(y, z, s, 0) + z, s, f)),
}


def part(y, z, step, first):
    return y[:, first::step][:, :z.shape[1]]


def put(y, values, step, first):
    y = y.copy()
    part(y, values, step, first)[:] = values
    return y


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("name", RESULTS)
def test_results_between_what_stays(name, driver, server):
    body, right = RESULTS[name]
    assert not differences(body, ((2, 0), (2, 1), (4, 1)), driver, server,
                           lambda y, z: {"z": z, "y": y},
                           lambda a, step, first: right(a["y"], a["z"], step, first))


@pytest.mark.parametrize("driver", drivers.DRIVERS)
def test_pairs_that_are_turned(driver, server):
    """The rotary embedding of neighbours."""
    rng = np.random.default_rng(4)
    x, c, s = (rng.integers(-4, 5, shape).astype(np.float32) for shape in
               ((70, 66), (70, 33), (70, 33)))
    text = drivers.kernel(
        "x: asc.float32[70, 66], c: asc.float32[70, 33], s: asc.float32[70, 33], "
        "y: asc.float32[70, 66]",
        "    for i in range(70):\n        for j in range(33):\n"
        "            a = x[i, 2 * j]\n            b = x[i, 2 * j + 1]\n"
        "            y[i, 2 * j] = a * c[i, j] - b * s[i, j]\n"
        "            y[i, 2 * j + 1] = a * s[i, j] + b * c[i, j]")
    got = drivers.run(driver, text, {"x": x, "c": c, "s": s, "y": np.zeros_like(x)}, server)["y"]
    a, b = x[:, ::2], x[:, 1::2]
    assert np.array_equal(got[:, ::2], a * c - b * s) and np.array_equal(got[:, 1::2], a * s + b * c)
