"""How long a megabyte of Python takes to parse, beside CPython's ast.parse in the same run.

The text is the standard library's own, joined up to the limit on a source. The two parsers take
turns, so that a busy machine slows both; medians and quartiles are printed. With --limit SECONDS,
a median above it is a failure.
"""
import argparse
import ast
import gc
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings

BENCH = os.environ.get("PYASC_SYNTAX_BENCH", "build/release/tests/syntax-bench")
SOURCE_BYTES = 1 << 20


def corpus():
    text = b""
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        data = path.read_bytes()
        # A __future__ import is legal in the first lines of a file only.
        if data.isascii() and b"from __future__" not in data:
            if len(text) + len(data) < SOURCE_BYTES:
                text += data + b"\n"
    return text


def seconds_of_cpython(text):
    gc.collect()
    begin = time.perf_counter()
    ast.parse(text)
    return time.perf_counter() - begin


def row(name, seconds, size):
    low, median, high = statistics.quantiles(seconds, n=4)
    print(f"{name:10} {median * 1e3:8.1f} ms  (quartiles {low * 1e3:.1f} to {high * 1e3:.1f}, "
          f"best {min(seconds) * 1e3:.1f})  {size / median / 1e6:6.1f} MB/s")
    return median


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--limit", type=float, metavar="SECONDS")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    text = corpus()
    ours, theirs = [], []
    with tempfile.NamedTemporaryFile(suffix=".py") as file:
        file.write(text)
        file.flush()
        with subprocess.Popen([BENCH, file.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as bench:
            for _ in range(arguments.rounds):
                bench.stdin.write("\n")
                bench.stdin.flush()
                answer, seconds = bench.stdout.readline().split()
                assert answer == "ok", "the corpus was refused"
                ours.append(float(seconds))
                theirs.append(seconds_of_cpython(text))
            bench.stdin.close()
    print(f"{len(text)} bytes, {text.count(10)} lines, {arguments.rounds} rounds in turns")
    median = row("pyasc", ours, len(text))
    reference = row("ast.parse", theirs, len(text))
    print(f"ratio      {reference / median:8.1f}")
    if arguments.limit is not None and median > arguments.limit:
        sys.exit(f"slower than {arguments.limit} s")


if __name__ == "__main__":
    main()
