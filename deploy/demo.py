"""The demonstration behind demo.sh: every example kernel on both drivers, checked and profiled."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
os.environ["PYASC_BIN"] = str(Path(sys.argv[1]).resolve())

import cli  # noqa: E402
import kernels  # noqa: E402

FULL = [case for case in kernels.CASES if case.size == "full"]
TARGETS = ["sim", "host"]
TTY = sys.stderr.isatty()


def progress(done, total, text):
    """One updating line on a terminal, nothing elsewhere."""
    if TTY:
        bar = "#" * (24 * done // total)
        print(f"\r\x1b[K  [{bar:<24}] {done}/{total} {text}", end="", file=sys.stderr, flush=True)


def clear():
    if TTY:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def profile(case, arrays, target, folder, service):
    """One checked, measured run: outputs, the report, and the wall time of the whole command."""
    names = list(case.reference({k: v.copy() for k, v in arrays.items()}))
    args = cli.command(case, arrays, target, folder, service, verb="run")
    args += ["--json", str(folder / "report.json")]
    for name in names:
        args += ["--out", f"{name}={folder}/out_{name}.npy"]
    start = time.monotonic()
    done = subprocess.run(args, capture_output=True, text=True, timeout=300)
    wall = time.monotonic() - start
    if done.returncode:
        clear()
        sys.exit(f"demo: {case.name} on {target}: exit {done.returncode}\n{done.stderr}")
    outputs = {name: np.load(folder / f"out_{name}.npy") for name in names}
    return outputs, json.loads((folder / "report.json").read_text()), wall


def units(report):
    """Which units the plan uses, "cube+vector"."""
    found = {s.get("unit", "") for s in report.get("compile", {}).get("statements", [])}
    order = ["cube", "vector", "transfer", "scalar", "cpu"]
    return "+".join(u for u in order if u in found)


def main():
    folder = Path(tempfile.mkdtemp(prefix="pyasc-demo-"))
    daemon = None
    try:
        cache = folder / "cache"
        daemon, service = start_daemon(folder, cache)
        print(f"  pyascd runs (pid {daemon.pid}), artifact cache in RocksDB\n")
        show_kernels(folder, service)
        show_report(folder, service)
        daemon = restart(daemon, folder, cache)
        show_cached(folder, service)
        print("\nAll answers agree with NumPy. Next: README.md, docs/, pyasc --help")
    finally:
        if daemon:
            daemon.terminate()
            daemon.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def start_daemon(folder, cache):
    address = folder / "d.sock"
    with open(folder / "pyascd.log", "a") as log:
        daemon = subprocess.Popen(
            [str(cli.BIN / "pyascd"), f"--listen=unix:{address}", f"--cache-dir={cache}",
             "--http-port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + 30
    while not address.exists():
        if daemon.poll() is not None or time.monotonic() > deadline:
            sys.exit("demo: pyascd did not start:\n" + (folder / "pyascd.log").read_text())
        time.sleep(0.02)
    return daemon, ["--server", f"unix:{address}"]


def restart(daemon, folder, cache):
    daemon.terminate()
    if daemon.wait(30) != 0:
        sys.exit("demo: pyascd did not stop cleanly:\n" + (folder / "pyascd.log").read_text())
    return start_daemon(folder, cache)[0]


def show_kernels(folder, service):
    head = (f"  {'kernel':18} {'driver':6} {'cache':5} {'compile':>9} {'kernel time':>13} "
            f"{'error/bound':>11}  units")
    print(head + "\n  " + "-" * (len(head) + 8))
    total = len(FULL) * len(TARGETS)
    for i, case in enumerate(FULL):
        arrays = case.inputs(np.random.default_rng(7))
        for j, target in enumerate(TARGETS):
            progress(i * len(TARGETS) + j, total, f"{case.name} on {target}")
            outputs, report, wall = profile(case, arrays, target, folder, service)
            ratio, absolute = kernels.worst_error(case, outputs, arrays)
            clear()
            print(f"  {case.name:18} {target:6} {report.get('cache', '?'):5} "
                  f"{report.get('compile_us', 0) / 1e3:6.0f} ms "
                  f"{report.get('kernel_us', 0):10.1f} us {ratio:11.3f}  {units(report)}", flush=True)
            if ratio > 1:
                sys.exit(f"demo: {case.name} on {target} is wrong: largest error {absolute:.3g}")
    print("  (kernel time on sim is simulated device time; error/bound: at most 1 is right)\n")


def show_report(folder, service):
    print("The report of one of them, as `pyasc profile` prints it:\n")
    args = [cli.PYASC, "profile", str(kernels.EXAMPLES / "matmul.py"), *service]
    for seed, name in enumerate("ABC"):
        args += ["--arg", f"{name}=randn:f32[1024,1024],seed={seed}"]
    subprocess.run(args, check=True)


def show_cached(folder, service):
    case = FULL[-1]
    arrays = case.inputs(np.random.default_rng(7))
    _, report, _ = profile(case, arrays, "sim", folder, service)
    print(f"\nAfter a restart of the daemon, {case.name} again: cache {report.get('cache')}, "
          f"{report.get('compile_us', 0) / 1e3:.1f} ms instead of a compile.")
    if report.get("cache") != "hit":
        sys.exit("demo: the artifact was not found in RocksDB after the restart")


main()
