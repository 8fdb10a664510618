#!/usr/bin/env python3
"""How fast the simulator itself is: every row's speed and what it is held to.

    tests/perf/sim_speed.py [--quick] [--rows TEXT] [--runs N] [--json FILE] [--check]

Each row checks the answer of a first launch (with NumPy, or cycles with and without data, or on other
threads) and then times N more by the processor's time, which other work on the machine disturbs
less than the clock's. Figures are of the fastest launch: what disturbs makes them slower only; median
and spread stand beside them. --check ends with 1 when a row misses. For optimised builds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build" / "release"))
PROGRAMS = ROOT / "tests" / "calibration" / "programs"

ADD = """import pyasc as asc

@asc.kernel
def add(a: asc.{dtype}[{n}], b: asc.{dtype}[{n}], c: asc.{dtype}[{n}]):
    for i in asc.parallel_for({n}):
        c[i] = a[i] + b[i]
"""

MATMUL = """import pyasc as asc

@asc.kernel
def matmul(A: asc.float32[{n}, {n}], B: asc.float32[{n}, {n}], C: asc.float32[{n}, {n}]):
    for i in asc.parallel_for({n}):
        for j in range({n}):
            for k in range({n}):
                C[i, j] += A[i, k] * B[k, j]
"""

MATMUL_HALF = """import pyasc as asc

@asc.kernel
def matmul(A: asc.float16[{n}, {n}], B: asc.float16[{n}, {n}], C: asc.float16[{n}, {n}]):
    for i in asc.parallel_for({n}):
        for j in range({n}):
            s = 0.0
            for k in range({n}):
                s += asc.float32(A[i, k]) * asc.float32(B[k, j])
            C[i, j] = s
"""

# Six operations a step, each step after the one before; numbers only.
CHAIN = """import pyasc as asc

@asc.kernel
def chain(x: asc.int64[{n}]):
    for i in asc.parallel_for({n}):
        s = x[i]
        for k in range({steps}):
            s = (s * 1103515245 + 12345) ^ (s >> 7)
            s = s & 2147483647
        x[i] = s
"""

# The same with global memory read and written in every step.
SCAN = """import pyasc as asc

@asc.kernel
def scan(x: asc.int32[{rows}, {n}]):
    for r in asc.parallel_for({rows}):
        for i in range(1, {n}):
            x[r, i] = (x[r, i] ^ x[r, i - 1]) + 3
"""


class Bench:
    def __init__(self, folder, runs):
        self.folder, self.runs = folder, runs

    def __call__(self, file, *arguments, text=None, tensors=None, outputs=(), runs=None):
        """One process: (figures, what the outputs hold)."""
        path = file
        if text:
            path = self.folder / file
            path.write_text(text)
        command = [str(BUILD / "bin" / "pyasc-sim-bench"), str(path), "--runs",
                   str(runs or self.runs), *map(str, arguments)]
        kinds = {"float16": "f16", "float32": "f32", "int64": "i64", "int32": "i32"}
        for name, tensor in (tensors or {}).items():
            raw = self.folder / f"{name}.in"
            tensor.tofile(raw)
            command.append(f"{name}={kinds[str(tensor.dtype)]}:"
                           f"{','.join(map(str, tensor.shape))}@{raw}")
        for name in outputs:
            command += ["--out", f"{name}={self.folder / name}.out"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        figures = json.loads(done.stdout)
        times = sorted(run["cpu_s"] for run in figures["runs"])
        figures.update(median=statistics.median(times), best=times[0], most=times[-1],
                       instructions=figures["scalar"] + figures["pipes"],
                       cycles={run["cycles"] for run in figures["runs"]})
        return figures, {name: np.fromfile(self.folder / f"{name}.out",
                                           (tensors or {})[name].dtype)
                         for name in outputs}


def require(right, what):
    if not right:
        sys.exit(f"wrong answer: {what}")


def timing(bench, program, *arguments):
    """A program of the npu dialect, timing only; its cycles are the same with data."""
    figures, _ = bench(PROGRAMS / f"{program}.mlir", "--mode", "timing", "--profile", *arguments)
    require(len(figures["cycles"]) == 1, f"{program} takes {figures['cycles']} cycles")
    return figures


def cycles_without_data(bench):
    program = ROOT / "docs" / "examples" / "npu" / "scale.mlir"
    cycles = [bench(program, "--mode", mode, runs=1)[0]["cycles"] for mode in ("timing", "full")]
    require(cycles[0] == cycles[1], f"cycles without and with data: {cycles}")


def row_instructions(bench):
    cycles_without_data(bench)
    figures = timing(bench, "add_one_buffer", "cores=1")
    return figures, figures["instructions"] / figures["best"] / 1e6, "M instructions/s", 5


def row_deep_matmul(bench):
    figures = timing(bench, "matmul_deep_l1", "scalar=200")
    return figures, figures["instructions"] / figures["best"] / 1e6, "M instructions/s", 5


def row_matmul_timed(bench):
    n = 8192
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (256, 256)).astype(np.float16) for _ in range(2))
    _, out = bench("small.py", text=MATMUL_HALF.format(n=256), outputs=["C"], runs=1,
                   tensors={"A": a, "B": b, "C": np.zeros_like(a)})
    require(np.array_equal(out["C"], (a.astype(np.float32) @ b).astype(np.float16).reshape(-1)),
            "matmul half 256")
    figures, _ = bench("large.py", "--mode", "timing", "--profile",
                       *(f"{t}=f16:{n},{n}" for t in "ABC"), text=MATMUL_HALF.format(n=n))
    require(len(figures["cycles"]) == 1, "matmul half 8192 takes different cycles")
    return figures, figures["best"], "s", -10


def row_matmul(bench, *flags, limit=-1.0):
    n = 1024
    rng = np.random.default_rng(2)
    a, b, c = (rng.integers(-8, 9, (n, n)).astype(np.float32) for _ in range(3))
    figures, out = bench("matmul.py", *flags, text=MATMUL.format(n=n),
                         tensors={"A": a, "B": b, "C": c}, outputs=["C"])
    require(np.array_equal(out["C"], (c + a @ b).reshape(-1)), "matmul f32 1024")
    return figures, figures["best"], "s", limit


def row_add(bench, dtype, *flags, limit=1.0):
    n = 1 << 24
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(n, np.float32).astype(dtype) for _ in range(2))
    figures, out = bench("add.py", *flags, text=ADD.format(n=n, dtype=dtype),
                         tensors={"a": a, "b": b, "c": np.zeros_like(a)}, outputs=["c"])
    require(np.array_equal(out["c"], a + b), f"add {dtype}")
    return figures, figures["tensor_bytes"] / figures["best"] / 1e9, "GB/s", limit


def row_chain(bench):
    n, steps = 1024, 20000
    x = np.random.default_rng(4).integers(0, 1 << 31, n)
    expected = x.copy()
    for _ in range(steps):
        expected = ((expected * 1103515245 + 12345) ^ (expected >> 7)) & 2147483647
    figures, out = bench("chain.py", "--mode", "functional", text=CHAIN.format(n=n, steps=steps),
                         tensors={"x": x}, outputs=["x"])
    require(np.array_equal(out["x"], expected), "chain of integers")
    return figures, 6 * n * steps / figures["best"] / 1e6, "M operations/s", 100


def row_scan(bench):
    rows, n = 64, 50000
    x = np.random.default_rng(5).integers(0, 1000, (rows, n)).astype(np.int32)
    expected = x.copy()
    for i in range(1, n):
        expected[:, i] = (expected[:, i] ^ expected[:, i - 1]) + 3
    figures, out = bench("scan.py", text=SCAN.format(rows=rows, n=n),
                         tensors={"x": x}, outputs=["x"])
    require(np.array_equal(out["x"], expected.reshape(-1)), "scan in global memory")
    # Two loads, two operations, a store, and what finds the addresses.
    return figures, figures["instructions"] / figures["best"] / 1e6, "M instructions/s", 100


def row_memory(bench):
    """What a run four times as long takes more: only what its tensors need."""
    used = []
    for count in (1, 8):
        figures, _ = bench(PROGRAMS / "add_queues.mlir", "--mode", "timing", "--soc", "ascend910b4",
                           "cores=1", "tile=2048", f"tiles={5120 * count}",
                           f"part={2048 * 5120}", "depth=1", "adds=1", "scalar=0", runs=1)
        used.append((figures["rss_kib"] - figures["rss_before_kib"]) / 1024)
    return figures, used[1] - used[0], "MiB more", -8


def row_threads(bench):
    cycles, hashes = [], []
    rng = np.random.default_rng(6)
    a, b, c = (rng.standard_normal((256, 256)).astype(np.float32) for _ in range(3))
    for threads in (1, 2):
        figures, out = bench("matmul.py", "--threads", threads, text=MATMUL.format(n=256), runs=1,
                             tensors={"A": a, "B": b, "C": c}, outputs=["C"])
        cycles.append(min(figures["cycles"]))
        hashes.append(out["C"].tobytes())
    require(hashes[0] == hashes[1], "1 and 2 threads differ")
    return figures, abs(cycles[0] - cycles[1]), f"cycles apart on 1 and 2 threads ({cycles[0]})", -0.5


# What it is, the quick set, how it is measured. A negative limit is one from above.
ROWS = [
    ("timing: add on 1 core", True, row_instructions),
    ("timing: matmul deep in L1, 24 cores", False, row_deep_matmul),
    ("timing: matmul half 8192^3, 24 cores", False, row_matmul_timed),
    ("data: matmul f32 1024^3", True, lambda b: row_matmul(b, "--mode", "functional")),
    ("data and timing: matmul f32 1024^3", True, row_matmul),
    ("sanitized: matmul f32 1024^3", False, lambda b: row_matmul(b, "--sanitize", limit=-2.0)),
    ("data: add f32", True, lambda b: row_add(b, "float32", "--mode", "functional")),
    ("data: add half", True, lambda b: row_add(b, "float16", "--mode", "functional")),
    ("data and timing: add f32", False, lambda b: row_add(b, "float32")),
    ("scalar loop of numbers", True, row_chain),
    ("scalar loop over memory", True, row_scan),
    ("memory of 8 times the instructions", True, row_memory),
    ("threads", True, row_threads),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the longest rows")
    parser.add_argument("--rows", default="", help="only rows whose name has this text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", help="write the figures to a file")
    parser.add_argument("--check", action="store_true", help="fail when a row misses")
    options = parser.parse_args()
    table, missed = [], 0
    print(f"{'row':38}{'figure':>10}  {'':26}{'target':>9}   median s (least..most)     peak MiB")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(pathlib.Path(name), options.runs)
        for what, quick, measure in ROWS:
            if options.rows not in what or (options.quick and not quick):
                continue
            figures, value, unit, limit = measure(bench)
            met = value <= -limit if limit < 0 else value >= limit
            missed += not met
            target = f"{'<=' if limit < 0 else '>='} {abs(limit):g}"
            print(f"{what:38}{value:10.2f}  {unit:26}{target:>9}   "
                  f"{figures['median']:.3f} ({figures['best']:.3f}..{figures['most']:.3f})"
                  f"{figures['rss_kib'] / 1024:14.0f}{'' if met else '   MISSED'}", flush=True)
            table.append({"row": what, "value": value, "unit": unit, "limit": limit, "met": met,
                          "median_s": figures["median"], "least_s": figures["best"],
                          "most_s": figures["most"], "rss_kib": figures["rss_kib"]})
    print(f"{len(table) - missed} of {len(table)} targets met")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
