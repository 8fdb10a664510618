"""The kernels of docs/examples: the interpreter against NumPy in float64, at sizes that Python can do.
tests/e2e runs them on the other drivers."""

import dataclasses
import sys

import numpy as np
import pytest

import drivers

sys.path.insert(0, str(drivers.ROOT / "tests" / "e2e"))

import kernels  # noqa: E402

EXTENTS = {"matmul_block48_odd": 40, "matmul": 40}
CASES = [c for c in kernels.CASES if c.size == "small" or c.name == "matmul"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_example_agrees_with_numpy(case):
    text = (kernels.EXAMPLES / case.file).read_text()
    arrays = case.inputs(np.random.default_rng(7))
    if case.name in EXTENTS:
        n = EXTENTS[case.name]
        text = text.replace("1024", str(n))
        arrays = {name: a[:n, :n].copy() for name, a in arrays.items()}
        case = dataclasses.replace(case, sum_length=n)
    got = drivers.run("interpreter", text, {**arrays, **case.scalars})
    ratio, absolute = kernels.worst_error(case, got, arrays)
    assert ratio <= 1, f"largest error {absolute:.3g} is {ratio:.2f} times the bound"


def test_every_example_is_run():
    assert {c.file for c in CASES} == {p.name for p in kernels.EXAMPLES.glob("*.py")}
