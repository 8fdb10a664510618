#!/usr/bin/env python3
"""Runs every calibration row on the simulator and prints what it is off by.

    tests/calibration/run.py [--pyasc build/release/bin/pyasc] [--rows A1,B5] [--json FILE] [--check]

A row's total must be within 8 % of what was measured, the times of its pipes M, V, MTE1 and MTE2
within 15 %. --check ends with 1 when one is not.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

from rows import ROWS

HERE = pathlib.Path(__file__).resolve().parent
TOTAL_LIMIT, PIPE_LIMIT = 0.08, 0.15
PIPES = [("cube", "M"), ("vector", "V"), ("mte1", "MTE1"), ("mte2", "MTE2")]


def simulate(pyasc, row, arguments):
    command = [pyasc, "sim", str(HERE / "programs" / (row.program + ".mlir")), "--local", "--quiet",
               "--timing-only", "--json", "--soc", row.soc]
    for name, value in arguments.items():
        command += ["--arg", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{row.name}: {' '.join(command)}\n{done.stderr}")
    report = json.loads(done.stdout)
    phase = report["phases"][0]
    figures = {p["pipe"]: p["busy_us"] for p in phase["pipes"]}
    figures["total"] = report["kernel_us"]
    figures["instructions"] = sum(int(p["instructions"]) for p in phase["pipes"])
    return figures


def figures_of(pyasc, row):
    if not row.extrapolate:
        return simulate(pyasc, row, row.arguments)
    name, low, high, whole = row.extrapolate
    a = simulate(pyasc, row, {**row.arguments, name: low})
    b = simulate(pyasc, row, {**row.arguments, name: high})
    return {key: a[key] + (b[key] - a[key]) * (whole - low) / (high - low) for key in a}


def broken_promises(totals, pipes):
    """What the SoC description, and with it every report, says of the model and is not so."""
    text = (HERE.parents[1] / "compiler/machine/socs/dav_c220.yaml").read_text()

    def promised(name):
        return float(re.search(rf"^  {name}: {{value: ([0-9.]+)", text, re.M).group(1))

    broken = []
    if promised("rows") != len(totals):
        broken.append(f"the description speaks of {promised('rows'):.0f} rows, not {len(totals)}")
    for prefix, what, errors in (("", "total", totals), ("pipe_", "pipe", pipes)):
        for name, error in (("worst", max(errors)), ("median", statistics.median(errors))):
            if promised(f"{prefix}{name}_error") < error:
                broken.append(f"{name} {what} {error:.1%}, promised "
                              f"{promised(f'{prefix}{name}_error'):.1%}")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyasc", default=str(HERE.parents[1] / "build/release/bin/pyasc"))
    parser.add_argument("--rows", default="", help="names, separated by commas; default all")
    parser.add_argument("--json", help="write the table to a file")
    parser.add_argument("--check", action="store_true", help="fail when a row leaves its limits")
    options = parser.parse_args()
    wanted = set(filter(None, options.rows.split(",")))
    print(f"{'row':9}{'what':42}{'measured':>12}{'simulated':>12}{'error':>8}   pipes"
          f" M V MTE1 MTE2 (loosely: others)")
    table, bad, pipe_errors = [], [], []
    for row in ROWS:
        if wanted and row.name not in wanted:
            continue
        began = time.monotonic()
        figures = figures_of(options.pyasc, row)
        simulated = figures[row.total_is or "total"]
        error = simulated / row.total - 1
        cells = []
        if abs(error) > TOTAL_LIMIT:
            bad.append(f"{row.name} total {error:+.1%}")
        entry = {"row": row.name, "measured_us": row.total, "simulated_us": simulated,
                 "error": error, "pipes": {}}
        for pipe, label in PIPES:
            if pipe not in row.pipes:
                continue
            pipe_error = figures.get(pipe, 0) * row.mean_factor / row.pipes[pipe] - 1
            pipe_errors.append(abs(pipe_error))
            entry["pipes"][pipe] = pipe_error
            cells.append(f"{label} {pipe_error:+.1%}")
            if abs(pipe_error) > PIPE_LIMIT:
                bad.append(f"{row.name} {label} {pipe_error:+.1%}")
        loose = [f"{pipe} {figures.get(pipe, 0) * row.mean_factor / value - 1:+.0%}"
                 for pipe, value in row.loose.items()]
        print(f"{row.name:9}{row.what:42}{row.total:12.2f}{simulated:12.2f}{error:+8.1%}   "
              + "  ".join(cells) + (f"  ({', '.join(loose)})" if loose else "")
              + f"  [{time.monotonic() - began:.1f} s]", flush=True)
        table.append(entry)
    totals = [abs(entry["error"]) for entry in table]
    if totals:
        print(f"totals: median {statistics.median(totals):.1%}, worst {max(totals):.1%}; pipes: "
              f"median {statistics.median(pipe_errors):.1%}, worst {max(pipe_errors):.1%}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    if options.check and not wanted:
        bad += broken_promises(totals, pipe_errors)
    for what in bad:
        print("outside its limit:", what)
    return 1 if bad and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
