"""What the README and the examples show does work as it stands there."""

import os
import re
import subprocess

import cli
import pytest

EXAMPLES = sorted((cli.ROOT / "docs" / "examples").glob("*.py"))


def python(service, text):
    env = {**os.environ, "PYTHONPATH": str(cli.BIN.parent / "python"), "PYASC_SERVER": service[1],
           "PYTHONDONTWRITEBYTECODE": "1"}
    folder = cli.ROOT / "docs" / "examples"
    return subprocess.run(["/usr/bin/python3", "-"], input=text, text=True, capture_output=True,
                          env=env, cwd=folder, timeout=120)


def test_the_readmes_python_example_runs(service):
    readme = (cli.ROOT / "README.md").read_text()
    [example] = [block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
                 if "asc.Profiler" in block]
    # A kernel's text is read from its file.
    done = python(service, "import pathlib, runpy, tempfile\n"
                           "with tempfile.TemporaryDirectory() as folder:\n"
                           "    path = pathlib.Path(folder, 'example.py')\n"
                           f"    path.write_text({example!r})\n"
                           "    runpy.run_path(str(path))\n")
    assert done.returncode == 0, done.stderr
    assert "add_tensors" in done.stdout


def test_one_file_serves_the_command_line_and_python(service):
    done = python(service, """
import runpy
import numpy as np
saxpy = runpy.run_path("saxpy.py")["saxpy"]
x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
saxpy(2, x, y)
assert y.tolist() == [1, 3, 5, 7], y
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_can_be_imported(service, path):
    done = python(service, f"import runpy; runpy.run_path({str(path)!r})")
    assert done.returncode == 0, done.stderr
