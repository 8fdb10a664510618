"""One daemon of this folder's own, and the command line against it."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("PYASC_BIN", ROOT / "build" / "release" / "bin"))
collect_ignore = ["cases"]  # kernels, whatever their names look like


@pytest.fixture(scope="session")
def service():
    # A socket's path has at most 107 bytes: not below pytest's own long directories.
    with tempfile.TemporaryDirectory(prefix="pyasc-diag-", dir="/tmp") as folder:
        socket = f"{folder}/d.sock"
        with open(f"{folder}/log", "wb") as log:
            daemon = subprocess.Popen(
                [BIN / "pyascd", "--listen", f"unix:{socket}", "--cache-dir", f"{folder}/cache",
                 "--http-port", "0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            end = time.monotonic() + 60
            while not os.path.exists(socket):
                assert daemon.poll() is None, Path(folder, "log").read_text()
                assert time.monotonic() < end, "the daemon does not listen"
                time.sleep(0.02)
            yield f"unix:{socket}"
        finally:
            daemon.terminate()
            daemon.wait(60)


@pytest.fixture(scope="session")
def pyasc(service):
    """pyasc(*words, folder=...) -> CompletedProcess."""
    def call(*words, folder=ROOT):
        env = {**os.environ, "PYASC_SERVER": service, "NO_COLOR": "1"}
        return subprocess.run([BIN / "pyasc", *words], cwd=folder, env=env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    return call
