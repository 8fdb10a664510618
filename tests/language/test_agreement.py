"""Kernels on which interpreter, simulator and host must agree: results, or the error and its line."""

from pathlib import Path

import numpy as np
import pytest

import agreement_parameters
import drivers
from drivers import Wrong, kernel

PARAMETERS = "A: asc.float32[N], I: asc.int32[N], B: asc.float32[N], C: asc.int64[N]"
DTYPES = ("h: asc.float16[N], b: asc.bfloat16[N], c: asc.int8[N], u: asc.uint8[N], w: asc.uint32[N], "
          "q: asc.int64[N], o: asc.bool[N], s: asc.int16[N], H: asc.float16[N], Q: asc.int64[N]")
ROUNDING = {"float16": 2.0 ** -9, "float32": 2.0 ** -18, "float64": 2.0 ** -18}


def cases(name, parameters=PARAMETERS):
    text = (Path(__file__).parent / name).read_text()
    for part in text.split("\n---\n")[1:]:
        before, _, body = part.rpartition("===\n")
        indented = "\n".join("    " + line for line in body.rstrip().split("\n"))
        yield pytest.param(kernel(parameters, indented, before=before + "\n\n" if before else ""),
                           id=body.strip().split("\n")[0][:60])


def arguments():
    return dict(A=np.random.default_rng(1).standard_normal(16).astype(np.float32),
                I=np.random.default_rng(2).integers(-50, 50, 16).astype(np.int32),
                B=np.zeros(16, np.float32), C=np.zeros(16, np.int64))


def typed_arguments():
    r = np.random.default_rng(5)
    b = (r.standard_normal(12).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    whole = {name: r.integers(low, high, 12).astype(t) for name, low, high, t in (
        ("c", -128, 128, np.int8), ("u", 0, 256, np.uint8), ("w", 0, 2**32, np.uint32),
        ("q", -2**62, 2**62, np.int64), ("o", 0, 2, np.bool_), ("s", -2**15, 2**15, np.int16))}
    return dict(h=r.standard_normal(12).astype(np.float16), b=b.view("V2"), **whole,
                H=np.zeros(12, np.float16), Q=np.zeros(12, np.int64))


def answer(driver, source, server, args):
    """Outputs, or the error's kind, code and line."""
    try:
        return drivers.run(driver, source, args, server), None
    except Wrong as wrong:
        return None, (wrong.kind, wrong.code, wrong.line)


def check(source, driver, server, make=arguments):
    expected, error = answer("interpreter", source, None, make())
    got, met = answer(driver, source, server, make())
    if met and error and met[:2] == ("compile", "out-of-bounds") and error[0] == "run":
        met = ("run", *met[1:])  # proven, where the interpreter has to run into it
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


@pytest.mark.parametrize("driver", ["sim", "host"])
@pytest.mark.parametrize("source", cases("agreement_dtypes.txt", DTYPES))
def test_drivers_agree_on_every_element_type(source, driver, server):
    check(source, driver, server, typed_arguments)


@pytest.mark.parametrize("source", cases("agreement_errors.txt"))
def test_the_compiler_agrees_on_errors(source, server):
    check(source, "host", server)


def modules():
    text = (Path(__file__).parent / "agreement_modules.txt").read_text()
    return text.split("\n---\n")[1:]


@pytest.mark.parametrize("text", modules())
def test_the_compiler_agrees_on_files(text, server):
    a = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    check(text, "host", server, lambda: dict(a=a))


@pytest.mark.parametrize("case", agreement_parameters.CASES, ids=lambda c: f"{c[0]} {c[1]}"[:60])
def test_the_compiler_agrees_on_launches(case, server):
    parameters, body, args, before, result = case
    source = kernel(parameters, "    " + body.replace("\n", "\n    "), before=before, result=result)
    check(source, "host", server, lambda: args)
