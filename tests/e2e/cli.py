"""Runs a case through the `pyasc` command line and reads its outputs back."""

import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("PYASC_BIN", ROOT / "build" / "release" / "bin"))
PYASC = str(BIN / "pyasc")


def command(case, arrays, target, folder, service, verb="run"):
    folder = Path(folder)
    args = [PYASC, verb, str(case_file(case)), "--target", target, *service]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        args += ["--arg", f"{name}=@{folder}/{name}.npy"]
    for name, value in case.scalars.items():
        args += ["--arg", f"{name}={value}"]
    return args


def case_file(case):
    import kernels
    return kernels.EXAMPLES / case.file


def run(case, arrays, target, folder, service, timeout=300):
    """The outputs by name. Fails with the CLI's own words when it does."""
    folder = Path(folder)
    names = list(case.reference({k: v.copy() for k, v in arrays.items()}))
    args = command(case, arrays, target, folder, service)
    for name in names:
        args += ["--out", f"{name}={folder}/out_{name}.npy"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr or done.stdout}"
    return {name: np.load(folder / f"out_{name}.npy") for name in names}
