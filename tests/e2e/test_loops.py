"""Serial loops around tensor operations: launched round after round, they mean what they say.

Each kernel is run as it is on the drivers and in plain Python; the plan is looked at, so that a kernel
tests a loop of phases and no scalar loop. Inputs are small multiples of 1/4: every answer is exact.
"""

import json
import subprocess

import numpy as np
import pytest

import cli

N = 4096

# name -> (phases of a round, parameters, body). The body changes x, y in place; both are float32.
KERNELS = {
    "stencil_in_time": (2, "x: asc.float32[48, 96], y: asc.float32[48, 96]", """
for t in range(3):
    for i in range(1, 47):
        for j in range(1, 95):
            y[i, j] = (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) * 0.25
    for i in range(1, 47):
        for j in range(1, 95):
            x[i, j] = y[i, j]
"""),
    "rows_upwards": (1, f"x: asc.float32[5, {N}], y: asc.float32[5, {N}]", f"""
for i in range(3, -1, -1):
    for j in range({N}):
        y[i, j] = y[i + 1, j] * 0.5 + x[i, j]
"""),
    "negative_and_as_a_value": (1, f"x: asc.float32[8, {N}], y: asc.float32[8, {N}]", f"""
for i in range(-3, 4):
    for j in range({N}):
        y[i + 4, j] = y[i + 3, j] * 0.5 + x[i + 4, j] * i
"""),
    "scalar_from_round_to_round": (None, f"x: asc.float32[{N}], y: asc.float32[{N}]", f"""
s = 1.0
for t in range(4):
    old = s
    s = s * 0.5 + 0.25
    for j in range({N}):
        x[j] = x[j] * 0.5 + old
    for j in range({N}):
        y[j] = y[j] + s * old
y[0] = s
"""),
    "cell_that_a_branch_sets": (None, f"x: asc.float32[{N}], y: asc.float32[{N}]", f"""
s = 0.0
for t in range(5):
    for j in range({N}):
        x[j] = x[j] * 0.5 + y[j]
    if t % 2 == 0:
        s = 2.0
    else:
        s = s + 1.0
    x[t] = s
"""),
}


def run(name, target, tmp_path, service, *more):
    _, parameters, body = KERNELS[name]
    shapes = [tuple(map(int, p.split("[")[1].split("]")[0].split(",")))
              for p in parameters.split(", x: ")[0].split(", y: ")]
    rng = np.random.default_rng(len(name))
    arrays = {n: (rng.integers(-8, 9, s) / 4).astype(np.float32) for n, s in zip("xy", shapes)}
    file = tmp_path / "k.py"
    text = f"def k({parameters}):\n" + "".join(f"    {line}\n" for line in body.strip().split("\n"))
    file.write_text("import pyasc as asc\n\n@asc.kernel\n" + text)
    command = [cli.PYASC, "run", str(file), "--target", target, *service, *more]
    for n, a in arrays.items():
        np.save(tmp_path / f"{n}.npy", a)
        command += ["--arg", f"{n}=@{tmp_path}/{n}.npy"]
    written = [n for n in arrays if f"{n}[" in {line.split("=")[0].strip()[:2] for line in body.split("\n")}]
    for n in written:
        command += ["--out", f"{n}={tmp_path}/out_{n}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr or done.stdout
    scope = {}
    exec("from __future__ import annotations\n" + text, scope)
    scope["k"](**arrays)
    for n in written:
        assert np.array_equal(np.load(tmp_path / f"out_{n}.npy"), arrays[n]), n


@pytest.mark.parametrize("name", KERNELS)
def test_a_loop_of_phases_gives_what_python_gives(name, tmp_path, service):
    run(name, "sim", tmp_path, service, "--sanitize", "--report", "--json", str(tmp_path / "r.json"))
    report = json.loads((tmp_path / "r.json").read_text())
    looped = [p for p in report["phases"] if int(p.get("launches", 0)) > 1]
    phases = KERNELS[name][0]
    assert looped and (phases is None or len(looped) == phases), report["phases"]


@pytest.mark.parametrize("name", ["rows_upwards", "scalar_from_round_to_round"])
def test_the_host_gives_the_same(name, tmp_path, service):
    run(name, "host", tmp_path, service)
