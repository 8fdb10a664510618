"""Branches in loops: what the compiler makes of them is what they say, on every driver.

The sides of an `if` become selections, guards or stay branches; NaNs, signed zeros, borders and
elements that no side assigns must come out as in plain Python.
"""

import re
import subprocess

import numpy as np
import pytest

import cli

N, M = 37, 29
X = "x: asc.float32[37, 29], y: asc.float32[37, 29]"
LOOPS = "for i in asc.parallel_for(0, 37):\n    for j in range(29):\n"

# name -> (parameters, body). x is read, y and z written.
KERNELS = {
    "both_sides": (X, LOOPS + """
        if x[i, j] > 0.0:
            y[i, j] = x[i, j]
        else:
            y[i, j] = 0.5 * x[i, j]
"""),
    "one_side_keeps_the_rest": (X, LOOPS + """
        if x[i, j] > 0.0:
            y[i, j] = x[i, j]
"""),
    "variable_in_an_elif_chain": (X, LOOPS + """
        v = x[i, j]
        if v < -1.0:
            v = -1.0
        elif v > 1.0:
            v = v * 2.0
        else:
            v = v + 1.0
        y[i, j] = v
"""),
    "two_buffers": (X + ", z: asc.float32[37, 29]", LOOPS + """
        if x[i, j] > 0.25:
            y[i, j] = x[i, j]
            z[i, j] = y[i, j] + 1.0
        else:
            z[i, j] = 2.0
"""),
    "both_buffers_swap": (X + ", z: asc.float32[37, 29]", LOOPS + """
        if x[i, j] > 0.25:
            y[i, j] = z[i, j]
        else:
            z[i, j] = y[i, j]
"""),
    "border_by_or": ("x: asc.float32[37], y: asc.float32[37]", """
for i in asc.parallel_for(0, 37):
    if i == 0 or i == 36:
        y[i] = x[i]
    else:
        y[i] = x[i - 1] + x[i] + x[i + 1]
"""),
    "border_by_and": (X, LOOPS + """
        if i > 0 and j > 0 and i < 36:
            y[i, j] = x[i - 1, j] - x[i + 1, j - 1]
        else:
            y[i, j] = 0.0
"""),
    "border_by_clamp": (X, LOOPS + """
        y[i, j] = x[max(i - 1, 0), j] + x[min(i + 1, 36), max(j - 2, 0)]
"""),
    "causal": ("x: asc.float32[37, 37], y: asc.float32[37, 37]", """
for i in asc.parallel_for(0, 37):
    for j in range(37):
        if j > i:
            y[i, j] = 0.0
        else:
            y[i, j] = x[i, j]
"""),
    "first_maximum_passes_over_nan": ("x: asc.float32[37, 29], y: asc.float32[37]", """
for i in asc.parallel_for(0, 37):
    m = x[i, 0]
    for j in range(29):
        if x[i, j] > m:
            m = x[i, j]
    y[i] = m
"""),
    "integer_maximum": ("x: asc.int32[37, 29], y: asc.int32[37]", """
for i in asc.parallel_for(0, 37):
    m = x[i, 0]
    for j in range(29):
        if x[i, j] > m:
            m = x[i, j]
    y[i] = m
"""),
    "carried_through_branches": ("x: asc.float32[37], y: asc.float32[37]", """
s = 0.0
for i in range(37):
    if x[i] > 0.0:
        s = s + x[i]
    else:
        s = s * 0.5
    y[i] = s
"""),
    "later_assignment_wins": (X, LOOPS + """
        if x[i, j] > 0.0:
            y[i, j] = 1.0
        if x[i, j] > 0.5:
            y[i, j] = x[i, j] * y[i, j]
"""),
    "index_from_memory": ("x: asc.float32[37], k: asc.int32[37], y: asc.float32[37]", """
for i in asc.parallel_for(0, 37):
    if k[i] >= 0 and k[i] < 37:
        y[i] = x[k[i]]
"""),
}


def inputs(parameters):
    rng = np.random.default_rng(11)
    arrays = {}
    for text in parameters.split("], "):
        name, annotation = text.rstrip("]").split(": asc.")
        dtype, shape = annotation.split("[")
        shape = tuple(int(extent) for extent in shape.split(","))
        if dtype == "int32":
            arrays[name] = rng.integers(-40, 40, shape).astype(np.int32)
            continue
        values = rng.standard_normal(shape).astype(np.float32)
        flat = values.reshape(-1)
        flat[::7], flat[3::11], flat[5::13] = np.nan, -0.0, 0.0
        arrays[name] = values
    return arrays


class Asc:
    """What a kernel's text needs to run as plain Python."""

    parallel_for = staticmethod(range)


def in_python(parameters, body, arrays):
    """The arrays after the body ran as Python, each operation rounded to float32 as the kernel's."""
    scope = {name: array.copy() for name, array in arrays.items()}
    scope["asc"] = Asc
    scope["f32"] = np.float32
    body = re.sub(r"(\d+\.\d+)", r"f32(\1)", body)
    with np.errstate(all="ignore"):
        exec(body, scope)  # noqa: S102: the texts above
    return {name: scope[name] for name in arrays}


@pytest.mark.parametrize("target", ["sim", "host"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_branch_does_what_it_says(name, target, tmp_path, service):
    parameters, body = KERNELS[name]
    indented = "".join("    " + line + "\n" for line in body.strip("\n").split("\n"))
    file = tmp_path / "k.py"
    file.write_text(f"import pyasc as asc\n\n@asc.kernel\ndef k({parameters}):\n{indented}")
    arrays = inputs(parameters)
    expected = in_python(parameters, body, arrays)
    written = [n for n in arrays if not np.array_equal(arrays[n], expected[n], equal_nan=True)]
    assert written
    command = [cli.PYASC, "run", str(file), "--target", target, *service]
    for key, array in arrays.items():
        np.save(tmp_path / f"{key}.npy", array)
        command += ["--arg", f"{key}=@{tmp_path}/{key}.npy"]
    for key in written:
        command += ["--out", f"{key}={tmp_path}/out_{key}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for key in written:
        got = np.load(tmp_path / f"out_{key}.npy")
        np.testing.assert_array_equal(got, expected[key], err_msg=key)
        if got.dtype == np.float32:
            real = ~np.isnan(got)
            np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(expected[key][real]),
                                          err_msg=f"signs of {key}")
