"""Debian packages and wheel: made, installed, upgraded, purged."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("PYASC_BUILD") or ROOT / "build" / "release"
PACKAGES = ["pyasc-server", "pyasc", "python3-pyasc"]


def make(out, *flags):
    subprocess.run([ROOT / "deploy" / "package.sh", "--build", BUILD, "--out", out, *flags],
                   check=True, stdout=subprocess.DEVNULL)
    return out


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return make(tmp_path_factory.mktemp("packages"))


@pytest.fixture
def clean_root(tmp_path):
    """An empty root with a package database of its own."""
    for directory in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
        (tmp_path / directory).mkdir(parents=True)
    for file in ("status", "available"):
        (tmp_path / "var/lib/dpkg" / file).touch()
    return tmp_path


def dpkg(root, *arguments):
    # What the programs are linked with lies outside; the list of it is looked at below.
    return subprocess.run(["dpkg", f"--root={root}", "--force-depends", "--force-not-root",
                           "--force-script-chrootless", "--force-bad-path", "--log=/dev/null",
                           *map(str, arguments)], check=True, capture_output=True, text=True)


def debs(directory):
    return sorted(directory.glob("*.deb"))


def files(root):
    return sorted(str(p.relative_to(root)) for p in root.rglob("*")
                  if p.is_file() and not str(p.relative_to(root)).startswith("var/lib/dpkg"))


def test_install_upgrade_and_purge_leave_nothing(packages, clean_root, tmp_path_factory):
    dpkg(clean_root, "-i", *debs(packages))
    assert {"usr/bin/pyascd", "usr/bin/pyasc-worker", "usr/bin/pyasc", "etc/pyasc/pyascd.yaml",
            "lib/systemd/system/pyascd.service", "usr/lib/sysusers.d/pyasc.conf"} <= \
        set(files(clean_root))
    # The administrator's change survives an upgrade.
    config = clean_root / "etc/pyasc/pyascd.yaml"
    config.write_text(config.read_text() + "max_calls: 77\n")
    newer = make(tmp_path_factory.mktemp("newer"), "--version", "99.1")
    dpkg(clean_root, "--force-confold", "-i", *debs(newer))
    assert "max_calls: 77" in config.read_text()
    status = (clean_root / "var/lib/dpkg/status").read_text()
    assert status.count("Version: 99.1") == len(PACKAGES)
    dpkg(clean_root, "--purge", *PACKAGES)
    assert files(clean_root) == []


def test_what_is_installed_runs_and_likes_its_configuration(packages, clean_root):
    dpkg(clean_root, "-i", *debs(packages))
    pyascd = clean_root / "usr/bin/pyascd"
    done = subprocess.run([pyascd, "--config", clean_root / "etc/pyasc/pyascd.yaml",
                           "--check-config"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cache_dir: /var/cache/pyasc" in done.stdout
    version = subprocess.run([clean_root / "usr/bin/pyasc", "--version"], capture_output=True,
                             text=True, check=True).stdout
    assert version.startswith("pyasc ")


def test_every_library_has_its_package_named(packages):
    for name in ("pyasc-server", "pyasc"):
        (deb,) = packages.glob(f"{name}_*.deb")
        depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True,
                                 check=True).stdout
        for library in ("libc6", "libstdc++6", "libgrpc++1.51", "libprotobuf32"):
            assert library in depends
    assert "librocksdb" in subprocess.run(
        ["dpkg-deb", "-f", next(packages.glob("pyasc-server_*.deb")), "Depends"],
        capture_output=True, text=True, check=True).stdout


def test_the_wheel_is_typed_and_can_be_imported(packages, tmp_path):
    (wheel,) = packages.glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, tmp_path], check=True)
    assert (tmp_path / "pyasc" / "py.typed").exists()
    metadata = next(tmp_path.glob("pyasc-*.dist-info/METADATA")).read_text()
    assert "Requires-Python: >=3.9" in metadata
    subprocess.run(["/usr/bin/python3", "-c",
                    "import pyasc as asc; from pyasc.v1 import compile_pb2; print(asc.__version__)"],
                   check=True, env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin"}, cwd="/")
