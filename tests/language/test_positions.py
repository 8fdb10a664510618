"""Elements computed from their positions, against NumPy: sums and products of them as numbers."""

import numpy as np
import pytest

import drivers

SHAPES = [(64, 80), (129, 257), (5, 1000), (1025, 4)]
BODIES = {
    "number": ("i * N + j", lambda i, j, n: i * n + j),
    "difference": ("abs(asc.float32(i - j)) * 0.5", lambda i, j, n: abs(i - j) * 0.5),
    "product": ("asc.float32(i * (j - 7))", lambda i, j, n: i * (j - 7)),
    "beyond": ("asc.float32(i * 100003 + j)", lambda i, j, n: (i * 100003 + j)),
    "negative": ("asc.float32(-i - j)", lambda i, j, n: -i - j),
    "compared": ("asc.float32(i + 2 * j - 5) if i + j > 9 else asc.float32(j * i)",
                 lambda i, j, n: np.where(i + j > 9, i + 2 * j - 5, j * i)),
}


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", BODIES)
def test_numbers_of_positions_are_numpys(name, dtype, driver, server):
    wrong = []
    for m, n in SHAPES:
        body, reference = BODIES[name]
        text = drivers.kernel(
            f"y: asc.{dtype}[{m}, {n}]",
            f"    N = {n}\n    for i in range({m}):\n        for j in range({n}):\n"
            f"            y[i, j] = asc.{dtype}({body})")
        got = drivers.run(driver, text, {"y": np.zeros((m, n), dtype)}, server)["y"]
        i, j = np.mgrid[:m, :n].astype(np.int64)
        with np.errstate(over="ignore"):
            want = np.asarray(reference(i, j, n)).astype(np.float32).astype(dtype)
        # An integer has one zero.
        if not np.array_equal(got, want) or np.signbit(got[want == 0]).any():
            wrong.append((m, n))
    assert not wrong
