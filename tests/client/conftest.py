import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build" / "release"))
sys.path.insert(0, str(BUILD / "python"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import fake_service  # noqa: E402


@pytest.fixture
def service():
    with fake_service.FakeService() as running:
        yield running


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without daemons, caches or settings of the person who runs the tests."""
    for name in [n for n in os.environ if n.startswith(("PYASC_", "XDG_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path / "home"


class Cli:
    def __init__(self, program, directory):
        self.program, self.directory = program, directory

    def __call__(self, *words, server=None, timeout=60, **kwargs):
        command = [str(self.program), *map(str, words)]
        if server:
            command += ["--server", server.address]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.directory,
                              timeout=timeout, **kwargs)


@pytest.fixture
def cli(tmp_path, home):
    return Cli(BUILD / "bin" / "pyasc", tmp_path)


@pytest.fixture
def private_cli(tmp_path, home):
    """A copy of pyasc in a directory of its own, where a test puts the service's programs."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    shutil.copy(BUILD / "bin" / "pyasc", bin_dir / "pyasc")
    return Cli(bin_dir / "pyasc", tmp_path)


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def fake_worker(path):
    """The fake service as `pyasc-worker --role=local`."""
    write_program(path, f"""#!/usr/bin/python3
import sys
sys.path[:0] = [{str(BUILD / "python")!r}, {str(pathlib.Path(__file__).parent)!r}]
import fake_service
fake_service.main()
""")
