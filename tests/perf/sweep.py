#!/usr/bin/env python3
"""Size sweeps: each kernel's time over sizes friendly and odd, beside its roof, as a picture each.

    tests/perf/sweep.py [--kernels TEXT] [--points N] [--out FOLDER] [--json FILE]

Times are of a simulated Ascend 910B1, timing only, cold caches, launches apart. A point is hollow
where the size is no multiple of 16. Prints each kernel's worst cliff, the time at such a size over that
of the next multiple, and its worst step: what a size takes over the size before it, beyond what the
roof grows, or less than it. Ends with 1 where one is over 3. Pictures need matplotlib (Debian:
python3-matplotlib).
"""

import argparse
import json
import pathlib
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import kernels as k  # noqa: E402
from rows import Row, cube, memory, t, vector  # noqa: E402
from targets import Daemon, measure  # noqa: E402

L2_BYTES = 192 << 20  # of the 910B1


@dataclass
class Sweep:
    name: str
    axis: str  # what the size is
    text: str
    types: Callable  # arguments of a size
    roof: Callable  # us of a size
    largest: int = 8192


def hbm(reads, writes):
    """us of what has to go over HBM: what is written stays in L2 as far as that holds it."""
    return memory(reads, max(0, writes - L2_BYTES))


def _row(name, text, extras, passes):
    return Sweep(name, "N of N x N, half", text,
                 lambda n: {"x": t("f16", n, n), **{e: t("f16", n) for e in extras}},
                 lambda n: max(hbm(2 * n * n, 2 * n * n), vector(n * n, passes)))


# Passes as in rows.py.
SWEEPS = [
    Sweep("add", "N of N x N, half", k.ADD_TENSOR, lambda n: {a: t("f16", n, n) for a in "ab"},
          lambda n: hbm(4 * n * n, 2 * n * n)),
    _row("softmax", k.SOFTMAX_TENSOR, (), 9),
    _row("layer_norm", k.LAYER_NORM_TENSOR, ("w", "b"), 9),
    _row("rms_norm", k.RMS_NORM_TENSOR, ("w",), 6),
    _row("gelu", k.GELU_TENSOR, (), 21),
    Sweep("matmul", "N of N x N x N, half", k.MATMUL_TENSOR,
          lambda n: {a: t("f16", n, n) for a in "AB"},
          lambda n: max(cube(n, n, n), hbm(4 * n * n, 2 * n * n)), 4096),
    Sweep("matmul_bias_gelu", "N of N x N x N, half", k.MATMUL_BIAS_GELU,
          lambda n: {"A": t("f16", n, n), "B": t("f16", n, n), "bias": t("f16", n)},
          lambda n: max(cube(n, n, n), vector(n * n, 21), hbm(4 * n * n, 2 * n * n)), 4096),
    Sweep("matmul_f32", "N of N x N x N, float32", k.MATMUL_ADDED,
          lambda n: {a: t("f32", n, n) for a in "ABC"},
          lambda n: max(cube(n, n, n, 4), hbm(12 * n * n, 4 * n * n)), 2048),
    Sweep("conv3x3", "H = W, 4 images, 64 channels in and out, half", k.CONV_TENSOR,
          lambda n: {"x": t("f16", 4, 64, n, n), "weight": t("f16", 64, 64, 3, 3)},
          lambda n: max(cube(4 * n * n, 64, 64 * 9), hbm(2 * 4 * 64 * n * n, 2 * 4 * 64 * n * n)), 256),
    Sweep("attention", "rows of q, k and v, half, head 128", k.ATTENTION,
          lambda n: {a: t("f16", n, 128) for a in "qkv"},
          lambda n: max(2 * cube(n, n, 128), vector(n * n, 9), hbm(3 * 2 * n * 128, 2 * n * 128)), 8192)]


def sizes(largest, points):
    """Powers of two, and beside each what is one less or one more, and a size in between that is odd."""
    found, n = {1, 7}, 16
    while n <= largest:
        found |= {n, n - 1, n * 5 // 4 + 1}
        if n < largest:
            found.add(n + 1)
        n *= 2
    found = sorted(s for s in found if s <= largest)
    return found if not points else found[:: max(1, len(found) // points)]


def friendly(n):
    return (n + 15) // 16 * 16


def run(sweep, points, server, folder):
    """[(size, us)] of the sizes and of their friendly neighbours."""
    wanted = sizes(sweep.largest, points)
    wanted = sorted({*wanted, *map(friendly, wanted)})
    measured = []
    for done, n in enumerate(wanted):
        print(f"\r{sweep.name}: {done} of {len(wanted)}", end="", file=sys.stderr, flush=True)
        figures = measure(Row(sweep.name, sweep.text, sweep.types(n)), server, folder)
        if "error" in figures:
            sys.exit(f"\n{sweep.name} at {n}: {figures['error']}")
        measured.append((n, figures["us"]))
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
    return measured


def cliffs(measured):
    times = dict(measured)
    return sorted(((us / times[friendly(n)], n) for n, us in measured if n % 16), reverse=True)


def steps(sweep, measured):
    """Between neighbours that differ by less than a third."""
    found = [(1.0, 0)]
    for (a, before), (b, after) in zip(measured, measured[1:]):
        if b < a * 4 / 3:
            found += [(before / after, a), (after / before / (sweep.roof(b) / sweep.roof(a)), b)]
    return sorted(found, reverse=True)


def draw(sweep, measured, path):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    # The same figures give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pyasc", "font.size": 9,
                                "font.family": "sans-serif"})
    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    even = [(n, us) for n, us in measured if n % 16 == 0]
    odd = [(n, us) for n, us in measured if n % 16]
    line = [n for n, _ in measured]
    axes.plot(line, [sweep.roof(n) for n in line], color="#888888", linewidth=1, label="roof")
    axes.plot(*zip(*even), "o-", color="#1f6feb", markersize=4, linewidth=1,
              label="multiples of 16")
    axes.plot(*zip(*odd), "o", color="#d1242f", markersize=4, markerfacecolor="white",
              label="other sizes")
    axes.set(xscale="log", yscale="log", xlabel=sweep.axis, ylabel="us", title=sweep.name)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=min(us for _, us in measured) / 3)
    axes.xaxis.set_major_formatter(lambda n, _: f"{n:g}")
    axes.yaxis.set_major_formatter(lambda us, _: f"{us:g}")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.5)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default="", help="only kernels with this text in their name")
    parser.add_argument("--points", type=int, default=0, help="about so many sizes; 0: all")
    parser.add_argument("--out", default=HERE.parents[1] / "docs" / "images" / "sweeps",
                        type=pathlib.Path, help="the folder of the pictures")
    parser.add_argument("--json", help="write the figures to a file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    everything, steep = {}, False
    with tempfile.TemporaryDirectory() as name, Daemon(name) as server:
        print(f"{'kernel':20}{'sizes':>6}  {'worst cliff (size)':20}{'worst step (size)':20}"
              "share of the roof at the largest")
        for sweep in SWEEPS:
            if options.kernels not in sweep.name:
                continue
            measured = run(sweep, options.points, server, pathlib.Path(name))
            cliff, step = cliffs(measured)[0], steps(sweep, measured)[0]
            steep = steep or cliff[0] > 3 or step[0] > 3
            n, us = measured[-1]
            said = [f"{ratio:.2f} ({size})" for ratio, size in (cliff, step)]
            print(f"{sweep.name:20}{len(measured):6}  {said[0]:20}{said[1]:20}"
                  f"{sweep.roof(n) / us:.0%}", flush=True)
            everything[sweep.name] = measured
            draw(sweep, measured, options.out / f"{sweep.name}.svg")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(everything, indent=1) + "\n")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
