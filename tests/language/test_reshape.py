"""Reshapes of parts of tensors are views where NumPy makes views, whatever is written afterwards.

Each part is reshaped, and then written through, or read after the tensor has changed. The oracle is
NumPy, on the same text. What the compiler cannot express as a view it has to refuse, and only where
something is written that would show the difference.
"""

import textwrap

import numpy as np
import pytest

import drivers

# Shape, part, new shape; False where no view can be made of it.
PARTS = [
    ((4, 6), "x[1]", (2, 3), True), ((4, 6), "x[1]", (3, 2), True), ((4, 6), "x[1:3]", (12,), True),
    ((4, 6), "x[1:3]", (2, 2, 3), True), ((4, 6), "x[1:3]", (3, 4), False),
    ((4, 6), "x[2:4]", (3, 4), True), ((4, 6), "x[:, :2]", (2, 2, 2), True),
    ((4, 6), "x[:, :2]", (8,), True), ((4, 6), "x[:, 2:6]", (4, 2, 2), True),
    ((4, 6), "x[:, 1:5]", (4, 2, 2), False), ((4, 6), "x.T[1]", (2, 2), True),
    ((4, 6), "x.T", (3, 2, 4), True), ((4, 6), "x.T", (24,), True), ((4, 6), "x[::2]", (12,), True),
    ((4, 6), "x[::2]", (2, 2, 3), True), ((4, 6), "x[1, ::2]", (3, 1), True),
    ((4, 6), "x[1:3][1]", (2, 3), True), ((4, 6), "x[None, 1]", (6,), True),
    ((8,), "x[:4]", (2, 2), True), ((8,), "x[4:]", (2, 2), True), ((8,), "x[2:6]", (2, 2), True),
    ((8,), "x[1:5]", (2, 2), False), ((8,), "x[::2]", (2, 2), False),
    ((8,), "x[::-1]", (2, 4), False), ((2, 3, 4), "x[1]", (12,), True),
    ((2, 3, 4), "x[1]", (6, 2), True), ((2, 3, 4), "x[:, 1]", (8,), True),
    ((2, 3, 4), "x[:, 1]", (2, 2, 2), True), ((2, 3, 4), "x[:, 1:3]", (2, 8), True),
    ((2, 3, 4), "x[:, 1:3]", (2, 2, 2, 2), True), ((2, 3, 4), "x[:, 1:3]", (4, 4), True),
    ((2, 3, 4), "x[1:, 1:]", (8,), True), ((2, 1, 4), "x[:, :, 2:]", (2, 2), True),
    ((3, 1, 4), "x[1:]", (8,), True), ((3, 1, 4), "x[1:]", (2, 2, 2), True),
    ((6, 4), "x[v]", (2, 2), True), ((6, 4), "x[v:v + 2]", (8,), True),
    ((6, 4), "x[v:v + 2]", (4, 2), True), ((6, 4), "x[v:v + 2]", (2, 2, 2), True),
    ((8,), "x[v:v + 4]", (2, 2), False), ((2, 12), "x.reshape(4, 6)[1]", (2, 3), True)]

USES = {
    "written": "r = {part}.reshape{shape}\nr[:] = 50.0\nreturn x + 0",
    "late": "r = {part}.reshape{shape}\nx[:] = x * 2 + 1\nreturn r + 1",
    "read": "r = {part}.reshape{shape}\nreturn r * 2",
    "updated": "for i in range(2):\n    r = {part}.reshape{shape}\n    r += i + 1\nreturn x + 0"}


def kernel(shape, body):
    return (f"import pyasc as asc\n\n\n@asc.kernel\ndef k(x: asc.float32{list(shape)}, v: int):\n"
            + textwrap.indent(body, "    ") + "\n")


def values(shape):
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


def of_numpy(shape, body):
    names, x = {}, values(shape)
    exec("def k(x, v):\n" + textwrap.indent(body, "    "), names)
    return np.array(names["k"](x, 2)), x


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("use", USES)
def test_a_reshape_of_a_part_is_numpys(use, driver, server):
    wrong = []
    for shape, part, to, expressible in PARTS:
        body = USES[use].format(part=part, shape=to)
        refuses = driver != "interpreter" and use != "read" and not expressible
        want, x = of_numpy(shape, body)
        try:
            got = drivers.run(driver, kernel(shape, body), {"x": values(shape), "v": 2}, server)
            right = not refuses and np.array_equal(got["return"], want) and \
                np.array_equal(got.get("x", x), x)
        except drivers.Wrong as error:
            right = refuses and error.code == "unsupported-view"
        if not right:
            wrong.append((part, to))
    assert not wrong


@pytest.mark.parametrize("driver", drivers.DRIVERS)
def test_ravel_of_a_part_is_a_view_and_flatten_a_copy(driver, server):
    body = "a = asc.ravel(x[1:3])\na += 100.0\nb = x[0].flatten()\nb[:] = 7.0\nreturn x + b[0]"
    want = values((4, 6))
    want[1:3] += 100
    got = drivers.run(driver, kernel((4, 6), body), {"x": values((4, 6)), "v": 2}, server)
    assert np.array_equal(got["return"], want + 7)
