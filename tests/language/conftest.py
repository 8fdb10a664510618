import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import drivers  # noqa: E402


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a daemon of this test run's own."""
    folder = tmp_path_factory.mktemp("service")
    address = f"unix:{folder}/d.sock"
    with open(folder / "stderr", "w") as log:
        daemon = subprocess.Popen(
            [str(drivers.BUILD / "bin" / "pyascd"), f"--listen={address}",
             f"--cache-dir={folder}/cache", "--http-port=0"], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log)
    deadline = time.monotonic() + 300  # a busy machine starts a daemon late
    while not os.path.exists(folder / "d.sock"):
        assert daemon.poll() is None, (folder / "stderr").read_text()
        assert time.monotonic() < deadline, "pyascd does not listen"
        time.sleep(0.02)
    yield address
    daemon.terminate()
    assert daemon.wait(300) == 0, (folder / "stderr").read_text()
