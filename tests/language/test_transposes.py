"""Arrays whose dimensions change places, against NumPy.

Extents below, at and above the pieces that are transposed, of every width of element; with other
operands, of which some are not transposed, and where a dimension is added up.
"""

import numpy as np
import pytest

import drivers

SHAPES = [(17, 2), (3, 40), (16, 16), (33, 129), (257, 31), (500, 300), (1, 70), (5000, 3)]
DTYPES = ["float16", "float32", "int32", "int16", "int8", "bool", "int64"]
# (axes of the result in the operand, shape of the operand)
PERMUTATIONS = [((0, 2, 1), (3, 20, 37)), ((2, 1, 0), (19, 4, 33)), ((1, 2, 0), (40, 3, 18)),
                ((2, 0, 1), (6, 7, 50)), ((0, 3, 1, 2), (2, 5, 16, 33)), ((3, 2, 1, 0), (5, 4, 3, 40))]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0 if dtype == "bool" else -100, 2 if dtype == "bool" else 100,
                        shape).astype(dtype)


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix(dtype, driver, server):
    text = drivers.kernel(
        f"x: asc.{dtype}[M, N], y: asc.{dtype}[N, M]",
        "    for i in range(M):\n        for j in range(N):\n            y[j, i] = x[i, j]")
    text = text.replace("@asc.kernel", "M, N = asc.dims('M N')\n\n\n@asc.kernel", 1)
    wrong = []
    for m, n in SHAPES:
        x = numbers((m, n), dtype)
        y = np.zeros((n, m), x.dtype)
        if not np.array_equal(drivers.run(driver, text, {"x": x, "y": y}, server)["y"], x.T):
            wrong.append((m, n))
    assert not wrong


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("axes, shape", PERMUTATIONS, ids=str)
def test_permuted_dimensions(axes, shape, driver, server):
    wrong = []
    for dtype in ("float16", "int32", "int8"):
        x = numbers(shape, dtype)
        want = x.transpose(axes)
        text = drivers.kernel(f"x: asc.{dtype}[{', '.join(map(str, shape))}], "
                              f"y: asc.{dtype}[{', '.join(map(str, want.shape))}]",
                              f"    y[:] = x.transpose({axes})")
        y = np.zeros(want.shape, x.dtype)
        if not np.array_equal(drivers.run(driver, text, {"x": x, "y": y}, server)["y"], want):
            wrong.append(dtype)
    assert not wrong


BODIES = {
    "with_rows": ("y[:] = x.T + z", lambda x, z: x.T + z),
    "twice": ("y[:] = x.T * x.T - z", lambda x, z: x.T * x.T - z),
    "a_row": ("for i in range(N):\n        for j in range(M):\n"
              "            y[i, j] = x[j, i] * z[0, j] + z[i, 0]",
              lambda x, z: x.T * z[0] + z[:, :1]),
    "mask": ("y[:] = asc.where(x.T > 0, x.T, z)", lambda x, z: np.where(x.T > 0, x.T, z)),
    "part": ("y[1:, 2:] = x[2:, 1:].T", lambda x, z: np.pad(x[2:, 1:].T, ((1, 0), (2, 0)))),
    "rows_added": ("for i in range(N):\n        for j in range(M):\n"
                   "            y[i, 0] += x[j, i] * z[i, j]",
                   lambda x, z: np.pad((x.T * z).sum(1, keepdims=True), ((0, 0), (0, x.shape[0] - 1)))),
    "columns_added": ("for i in range(N):\n        for j in range(M):\n"
                      "            y[0, j] += x[j, i] * z[i, j]",
                      lambda x, z: np.pad((x.T * z).sum(0, keepdims=True), ((0, x.shape[1] - 1), (0, 0)))),
    "largest": ("for i in range(N):\n        for j in range(M):\n"
                "            y[i, 0] = asc.maximum(y[i, 0], x[j, i] + z[i, j])",
                lambda x, z: np.pad(np.maximum(0, (x.T + z).max(1, keepdims=True)),
                                    ((0, 0), (0, x.shape[0] - 1)))),
}


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("name", BODIES)
def test_beside_other_operands(name, driver, server):
    body, reference = BODIES[name]
    wrong = []
    for dtype in ("float16", "float32", "int32"):
        for m, n in ((40, 33), (129, 257), (3, 500), (300, 5)):
            rng = np.random.default_rng(m)
            # Sums are exact in every type.
            x, z = rng.integers(-2, 3, (m, n)).astype(dtype), rng.integers(-2, 3, (n, m)).astype(dtype)
            text = drivers.kernel(f"x: asc.{dtype}[{m}, {n}], z: asc.{dtype}[{n}, {m}], "
                                  f"y: asc.{dtype}[{n}, {m}]",
                                  f"    M, N = {m}, {n}\n    {body}")
            y = np.zeros((n, m), dtype)
            got = drivers.run(driver, text, {"x": x, "z": z, "y": y}, server)["y"]
            if not np.array_equal(got, reference(x, z)):
                wrong.append((dtype, m, n))
    assert not wrong
