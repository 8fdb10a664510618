"""Kernels on which interpreter, simulator and host must agree: results, or the error and its line."""

from pathlib import Path

import numpy as np
import pytest

import drivers
from drivers import Wrong, kernel

PARAMETERS = "A: asc.float32[N], I: asc.int32[N], B: asc.float32[N], C: asc.int64[N]"
ROUNDING = {"float16": 2.0 ** -9, "float32": 2.0 ** -18, "float64": 2.0 ** -18}


def cases(name):
    text = (Path(__file__).parent / name).read_text()
    for part in text.split("\n---\n")[1:]:
        before, _, body = part.rpartition("===\n")
        indented = "\n".join("    " + line for line in body.rstrip().split("\n"))
        yield pytest.param(kernel(PARAMETERS, indented, before=before + "\n\n" if before else ""),
                           id=body.strip().split("\n")[0][:60])


def arguments():
    return dict(A=np.random.default_rng(1).standard_normal(16).astype(np.float32),
                I=np.random.default_rng(2).integers(-50, 50, 16).astype(np.int32),
                B=np.zeros(16, np.float32), C=np.zeros(16, np.int64))


def answer(driver, source, server):
    """Outputs, or the error's kind, code and line."""
    try:
        return drivers.run(driver, source, arguments(), server), None
    except Wrong as wrong:
        # A compiler need not know an error's name when it happens in the run.
        return None, (wrong.kind, wrong.code if wrong.kind == "compile" else "", wrong.line)


def check(source, driver, server):
    expected, error = answer("interpreter", source, None)
    got, met = answer(driver, source, server)
    if met and error and met[:2] == ("compile", "out-of-bounds") and error[0] == "run":
        met = ("run", "", met[2])  # proven, where the interpreter has to run into it
    assert met == error
    if error is not None:
        return
    assert got.keys() == expected.keys()
    for name in expected:
        a, b = np.asarray(expected[name]), np.asarray(got[name])
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        if a.dtype.kind == "f":
            np.testing.assert_allclose(b.astype(float), a.astype(float), err_msg=name,
                                       rtol=ROUNDING[a.dtype.name], atol=1e-6)
        else:
            np.testing.assert_array_equal(b, a, err_msg=name)


@pytest.mark.parametrize("driver", ["sim", "host"])
@pytest.mark.parametrize("source", cases("agreement_kernels.txt"))
def test_drivers_agree(source, driver, server):
    check(source, driver, server)


@pytest.mark.parametrize("source", cases("agreement_errors.txt"))
def test_the_compiler_agrees_on_errors(source, server):
    check(source, "host", server)
