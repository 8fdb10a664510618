"""Every statement and library function on the interpreter, the simulator and the host: integers and
bools exactly, floats within a bound from their dtype, against NumPy."""

import numpy as np
import pytest

import drivers
from conformance_cases import CASES
import conformance_library  # noqa: F401  adds to CASES
import conformance_rows  # noqa: F401

EPS = {"float16": 2.0 ** -11, "float32": 2.0 ** -24, "float64": 2.0 ** -24}


def check(name, got, expected, bound):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"{name}: shape {got.shape}, expected {expected.shape}"
    if got.dtype.kind != "f":
        assert expected.dtype.kind in "iub", f"{name}: {got.dtype}, expected floats"
        if expected.dtype.itemsize < 8 and expected.dtype.kind in "iu":
            assert got.dtype == expected.dtype, f"{name}: {got.dtype}, expected {expected.dtype}"
        np.testing.assert_array_equal(got, expected, err_msg=name)
        return
    assert expected.dtype.kind == "f", f"{name}: {got.dtype}, expected {expected.dtype}"
    wide, right = got.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(wide), np.isnan(right), err_msg=name)
    same = (wide == right) | np.isnan(right)
    if bound == 0:
        np.testing.assert_array_equal(wide, np.where(np.isnan(right), np.nan,
                                                     right.astype(got.dtype)), err_msg=name)
        return
    scale = np.maximum(np.abs(right), 1.0)
    error = np.where(same, 0, np.abs(wide - right) / scale)
    limit = bound * EPS[got.dtype.name]
    assert np.all(error <= limit), f"{name}: error {error.max():.3g} is above {limit:.3g}"


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_kernel_means_what_numpy_says(case, driver, server):
    got = drivers.run(driver, case.source, case.args, server, debug=case.debug)
    reference = got if driver == "interpreter" else \
        drivers.run("interpreter", case.source, case.args, debug=case.debug)
    for name, expected in case.expected.items():
        check(name, got[name], expected, case.bound)
        assert np.asarray(got[name]).dtype == np.asarray(reference[name]).dtype, name


def test_every_library_function_has_a_case():
    from pyasc.interpret import library
    text = "\n".join(c.source for c in CASES)
    elsewhere = {"dims", "print"}  # module level; test_interpreter.py
    missing = []
    for reach, name in library.TABLE:
        spelt = {"asc": f"asc.{name}", "method": f".{name}", "math": f"math.{name}"}.get(reach)
        if reach == "asc" and name not in elsewhere and name not in ROWS_ONLY and spelt not in text:
            missing.append(name)
    assert not missing, missing


# test_library.py has them.
ROWS_ONLY = {"conv2d", "max_pool2d", "avg_pool2d", "sort", "topk", "scatter", "atomic_add", "atomic_max",
         "atomic_min", "block_idx", "num_blocks", "rand", "randn"}
