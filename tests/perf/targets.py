#!/usr/bin/env python3
"""The performance targets on the calibrated simulator: every row's figure, target, met or missed.

    tests/perf/targets.py [--quick] [--rows TEXT] [--json FILE] [--check-results] [--expect FILE]

Times are of a simulated Ascend 910B1, timing only, cold caches: every phase's slowest core, launches
apart. --check-results first runs each kernel's text at smaller sizes on the interpreter, the
simulator and the host and compares with NumPy. --expect ends with 1 when a row that the file lists
as met is missed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", HERE.parents[1] / "build" / "release"))
sys.path[:0] = [str(HERE), str(HERE.parent / "language")]

from rows import all_rows  # noqa: E402

ELEMENT = {"f16": 2, "f32": 4}


def shape_of(kind):
    return [int(n) for n in kind[4:-1].split(",")]


def measure(row, server, folder):
    path = folder / "kernel.py"
    path.write_text(row.text)
    command = [str(BUILD / "bin" / "pyasc"), "profile", str(path), "--server", server, "--quiet",
               "--soc", "ascend910b1", "--timing-only", "--json", "-"]
    for name, kind in row.types.items():
        command += ["--arg", f"{name}=zeros:{kind}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": next((line for line in lines if "error:" in line), lines[-1])}
    report = json.loads(done.stdout)
    paths = {}
    for phase in report["phases"]:
        for path in phase["paths"]:
            paths[path["path"]] = paths.get(path["path"], 0) + int(path["bytes"])
    pipes = {}
    for phase in report["phases"]:
        for pipe in phase["pipes"]:
            pipes[pipe["pipe"]] = pipes.get(pipe["pipe"], 0) + pipe["busy_us"]
    # Phases of a group run at the same time.
    return {"us": report["kernel_us"] - report["launch_us"],
            "phases": len(report["phases"]), "paths": paths, "pipes": pipes}


def judge(row, figures, times):
    """What to print, and whether the target is met; None where there is none."""
    if "error" in figures:
        return figures["error"], False
    us = figures["us"]
    said, met = [], []
    if row.at_most_us:
        said.append(f"at most {row.at_most_us} us")
        met.append(us <= row.at_most_us)
    if row.roof_us:
        share = row.roof_us / us
        figures["share"] = share
        said.append(f"{share:.0%} of {row.roof_us:.0f} us" +
                    (f", target {row.share:.0%}" if row.share else ""))
        if row.share:
            met.append(share >= row.share)
    if row.beside and row.beside in times:
        ratio = us / times[row.beside]
        said.append(f"{ratio:.2f} x {row.beside}, target {row.times}")
        met.append(ratio <= row.times)
    if row.reads:
        least = sum(ELEMENT[k[:3]] * product(shape_of(k)) for n, k in row.types.items()
                    if n != row.output)
        ratio = figures["paths"].get("gm_to_ub", 0) / least
        said.append(f"reads {ratio:.2f} x")
        met.append(ratio <= row.reads)
    if row.name.startswith("attention"):
        n, d = shape_of(row.types["q"])
        moved = sum(figures["paths"].get(p, 0) for p in ("hbm_read", "hbm_write"))
        least = sum(ELEMENT[k[:3]] * n * d for k in row.types.values()) * 4 / 3
        said.append(f"HBM {moved / least:.1f} x")
        met.append(moved <= 8 * least)
    return ", ".join(said), all(met) if met else None


def product(extents):
    result = 1
    for extent in extents:
        result *= extent
    return result


def check_results(rows, server):
    """Each kernel's text at smaller sizes on three drivers, against NumPy."""
    import numpy as np
    import drivers
    failed = 0
    numpy_types = {"f16": np.float16, "f32": np.float32}
    seen = set()
    for row in rows:
        for types in row.small:
            key = (row.text, str(types))
            if key in seen:
                continue
            seen.add(key)
            rng = np.random.default_rng(5)
            arrays = {n: rng.standard_normal(shape_of(kind)).astype(numpy_types[kind[:3]])
                      for n, kind in types.items()}
            if "q" in arrays:  # scores of the size that a scaled product has
                arrays["q"] /= np.sqrt(shape_of(types["q"])[1]).astype(arrays["q"].dtype)
            right = row.reference(**{n: a.astype(np.float64) for n, a in arrays.items()})
            # Python takes too long for large loops.
            slow = "range(" in row.text and sum(a.size for a in arrays.values()) > 20000
            for driver in drivers.DRIVERS[1 if slow else 0:]:
                try:
                    text = "import pyasc as asc\n" + row.text
                    got = drivers.run(driver, text, arrays, server)[row.output]
                    error = np.abs(got.astype(np.float64) - right) / \
                        np.maximum(1, np.abs(right)) if right.size else np.zeros(1)
                    said = "" if error.max() <= row.tolerance else \
                        f"error {error.max():.3g}, allowed {row.tolerance:.3g}"
                except Exception as wrong:  # every row is to be tried
                    said = f"{type(wrong).__name__}: {wrong}"
                if said:
                    failed += 1
                    print(f"WRONG  {row.name} {types} on {driver}: {said}", flush=True)
    print(f"results of {len(seen)} launches checked on {len(drivers.DRIVERS)} drivers, "
          f"{failed} wrong", flush=True)
    return failed


def compile_times():
    """p50 of a compile in the compiler's own process, warm: to the simulator's program, to text."""
    bench = BUILD / "bin" / "pyasc-compile-bench"
    rows = []
    for name, path, limit, types in (
            ("matmul", "matmul.py", 25, [f"{a}=f32:1024,1024" for a in "ABC"]),
            ("conv3x3", "conv3x3.py", 25, 
             ["input=f32:4,1,64,64", "weight=f32:16,1,3,3", "output=f32:4,16,62,62"]),
            ("add_tensors", "add_tensors.py", 25, ["a=f32:1024", "b=f32:1024"]),
            ("attention", "attention.py", 60, [f"{a}=f16:8192,128" for a in "qkv"])):
        file = HERE.parents[1] / "docs" / "examples" / path
        done = subprocess.run([str(bench), str(file), *types], capture_output=True, text=True)
        if done.returncode:
            rows.append((f"compile {name}", {"error": done.stderr.strip()}, done.stderr.strip(),
                         False))
            continue
        figures = json.loads(done.stdout)
        said = f"program {figures['sim_ms']:.1f} ms, text {figures['ascend_ms']:.1f} ms, " \
               f"target {limit}"
        rows.append((f"compile {name}", figures, said,
                     max(figures["sim_ms"], figures["ascend_ms"]) < limit))
    return rows


class Daemon:
    def __init__(self, folder):
        self.address = f"unix:{folder}/d.sock"
        self.process = subprocess.Popen(
            [str(BUILD / "bin" / "pyascd"), f"--listen={self.address}",
             f"--cache-dir={folder}/cache", "--http-port=0"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not os.path.exists(f"{folder}/d.sock"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("pyascd does not listen")
            time.sleep(0.02)

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few small rows")
    parser.add_argument("--rows", default="", help="only rows whose name has this text")
    parser.add_argument("--json", help="write the figures to a file")
    parser.add_argument("--check-results", action="store_true")
    parser.add_argument("--expect", help="a file with the names of the rows that are met")
    options = parser.parse_args()
    rows = [r for r in all_rows() if options.rows in r.name and (r.quick or not options.quick)]
    # A row beside which another is judged has to be there.
    named = {r.name for r in rows}
    needed = {r.beside for r in rows if r.beside} - named
    rows = [r for r in all_rows() if r.name in named | needed]
    times, table, failed = {}, [], 0
    with tempfile.TemporaryDirectory() as name, Daemon(name) as server:
        folder = pathlib.Path(name)
        if options.check_results:
            failed = check_results(rows, server)
        print(f"{'row':34}{'us':>10}{'phases':>7}  {'':7} figure")
        for row in rows:
            figures = measure(row, server, folder)
            if "us" in figures:
                times[row.name] = figures["us"]
            said, met = judge(row, figures, times)
            table.append((row.name, figures, said, met))
            print_row(*table[-1])
        fused = [times.get(f"attention {d} 8192") for d in ("f32", "half")]
        if all(fused):
            ratio = fused[0] / fused[1]
            table.append(("attention half beside f32", {"ratio": ratio},
                          f"{ratio:.2f} times as fast, target 1.4", ratio >= 1.4))
            print_row(*table[-1])
        if not options.quick and options.rows in "compile":
            for entry in compile_times():
                table.append(entry)
                print_row(*entry)
    judged = [entry for entry in table if entry[3] is not None]
    print(f"{sum(e[3] for e in judged)} of {len(judged)} targets met")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            [{"row": n, "met": m, "said": s, **f} for n, f, s, m in table], indent=1) + "\n")
    if options.expect:
        promised = set(pathlib.Path(options.expect).read_text().splitlines())
        for name, _, said, met in table:
            if name in promised and not met:
                failed += 1
                print(f"MISSED AGAIN  {name}: {said}")
    return 1 if failed else 0


def print_row(name, figures, said, met):
    us = f"{figures['us']:10.1f}{figures['phases']:7}" if "us" in figures else " " * 17
    word = {True: "met", False: "MISSED", None: ""}[met]
    print(f"{name:34}{us}  {word:7} {said}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
