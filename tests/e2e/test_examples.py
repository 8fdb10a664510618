"""Every example kernel through the CLI, on every driver, against NumPy in float64."""

import subprocess

import numpy as np
import pytest

import cli
import kernels


@pytest.mark.parametrize("target", ["sim", "host"])
@pytest.mark.parametrize("case", kernels.CASES, ids=lambda c: c.name)
def test_example_agrees_with_numpy(case, target, tmp_path, service):
    arrays = case.inputs(np.random.default_rng(7))
    outputs = cli.run(case, arrays, target, tmp_path, service)
    ratio, absolute = kernels.worst_error(case, outputs, arrays)
    assert ratio <= 1, f"largest error {absolute:.3g} is {ratio:.2f} times the bound"


def test_article_type_error_is_a_compile_error(tmp_path, service):
    done = subprocess.run(
        [cli.PYASC, "run", str(kernels.EXAMPLES / "add_tensors.py"), *service, "--arg", "a=1",
         "--arg", "b=2.0", "--out", f"return={tmp_path}/r.npy"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "add_tensors.py:5:" in done.stderr and "error:" in done.stderr
    assert not (tmp_path / "r.npy").exists()
