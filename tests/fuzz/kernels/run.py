#!/usr/bin/env python3
"""Random kernels on the interpreter, the simulator and the host; says where they differ.

    run.py --count 500 --seed 1 [--jobs 2] [--shrink] [--report report.json]
    run.py --one SEED [--shrink]     prints one kernel, runs it, and says what is wrong
    run.py --case FILE [--shrink]    the same of a case file

A kernel's seed is printed with what is wrong with it; --one takes it. Exit code 1 when drivers differ.
"""

import argparse
import collections
import json
import os
import pickle
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import aliasing  # noqa: E402
import covered  # noqa: E402
import families  # noqa: E402
from algorithms import Algorithm  # noqa: E402
from execute import examine  # noqa: E402
from extremes import Extremes  # noqa: E402
from kernel import CASES, case_text, dtype_name, read_case  # noqa: E402
from nests import Nest  # noqa: E402
from program import Elementwise, Program, TensorProgram  # noqa: E402
from row_loops import RowLoop  # noqa: E402
from rows import Row  # noqa: E402
from shrink import shrink  # noqa: E402

FAMILIES = ((Program, 26), (TensorProgram, 13), (Elementwise, 4), (Nest, 26), (families.Family, 13), (Algorithm, 9), (RowLoop, 9), (Extremes, 4),
            (Row, 12))
REFUSALS = ("refused",)


def seed_of(seed, number):
    """The 64-bit seed of a run's kernel."""
    return random.Random(f"{seed}/{number}").getrandbits(64)


def generate(seed):
    r = random.Random(seed)
    made = r.choices([f for f, _ in FAMILIES], [w for _, w in FAMILIES])[0]
    return made(r).generate()


def dtypes_of(kernel):
    return [dtype_name(a) for a in kernel.args.values() if hasattr(a, "dtype")]


class Totals:
    def __init__(self):
        self.kernels = self.compared = self.exact = self.unsettled = self.one_buffer = 0
        self.refusals, self.mismatches, self.families = collections.Counter(), [], collections.Counter()
        self.examples = {}  # of refusals: a seed each
        self.interpreter = collections.Counter()
        self.covered = covered.Covered()

    def add(self, seed, kernel, found, expected):
        self.kernels += 1
        self.families[kernel.family] += 1
        if expected is not None and expected.answer.error is not None:
            error = expected.answer.error
            self.interpreter[f"{error.kind}: {plain(error.message)}"] += 1
        elif expected is not None:
            self.exact += expected.exact
            self.unsettled += not expected.settled
        refused = {t for k, _, t in found if k in REFUSALS}
        for text in refused:
            self.refusals[plain(text)] += 1
            self.examples.setdefault(plain(text), seed)
        for kind, driver, text in found:
            if kind not in REFUSALS:
                self.mismatches.append(dict(seed=seed, family=kernel.family, kind=kind, driver=driver,
                                            text=text))
        if not found and expected.answer.error is None:
            self.compared += 1
            self.covered.add(kernel.text, dtypes_of(kernel))

    def merge(self, other):
        for name in ("kernels", "compared", "exact", "unsettled", "one_buffer"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("refusals", "families", "interpreter"):
            getattr(self, name).update(getattr(other, name))
        self.mismatches += other.mismatches
        self.examples = {**other.examples, **self.examples}
        for kind, counts in other.covered.counts.items():
            for what, n in counts.items():
                mine = self.covered.counts[kind]
                mine[what] = mine.get(what, 0) + n

    def report(self):
        return dict(kernels=self.kernels, compared=self.compared, exact=self.exact,
                    unsettled=self.unsettled, one_buffer=self.one_buffer, refused=sum(self.refusals.values()),
                    refusals=self.refusals.most_common(), interpreter=self.interpreter.most_common(),
                    families=dict(self.families), mismatches=self.mismatches,
                    covered=self.covered.counts, missing=self.covered.missing())


def plain(text):
    """A message without the names and numbers that vary."""
    text = text.removeprefix("compile: ").removeprefix("run: ")
    words = []
    for w in text.split(": ", 1)[-1].split():
        words.append("_" if w[0] in "'\"(" or any(c.isdigit() for c in w) and
                     not w.startswith(("int", "uint", "float", "bfloat")) else w)
    return " ".join(words)[:120]


class Stop:
    """Whether a run should end: its seconds are over, or it was told to by SIGINT or SIGTERM. The kernel
    at hand is finished, and what was found until then is summed up; a second signal ends at once."""

    def __init__(self, seconds):
        self.end, self.told = time.monotonic() + seconds, False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._tell)

    def _tell(self, number, frame):
        self.told = True
        signal.signal(number, signal.SIG_DFL)

    def __call__(self):
        return self.told or time.monotonic() > self.end


def work(seed, numbers, server, tell, stop):
    """Examines the kernels of `numbers`."""
    totals = Totals()
    for n in numbers:
        if stop():
            break
        s = seed_of(seed, n)
        kernel = generate(s)
        found, expected = examine(kernel, server)
        if not found and expected.answer.error is None and (s % 8 == 0 or " map" in kernel.family):
            found, tried = aliasing.examine(kernel, server)
            totals.one_buffer += tried
        totals.add(s, kernel, found, expected)
        tell(totals, s, found)
    return totals


def in_processes(seed, count, jobs, seconds):
    """The kernels of a run over `jobs` processes, each with a worker of its own."""
    pipes, children = [], []
    for j in range(jobs):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)  # a signal to the whole group comes once, from the parent
            os.close(read)
            totals = work(seed, range(j, count, jobs), "local", progress(count // jobs, j),
                          Stop(seconds))
            with os.fdopen(write, "wb") as out:
                pickle.dump(totals, out)
            from pyasc import _service
            _service.close_all()
            os._exit(0)
        os.close(write)
        pipes.append(read)
        children.append(child)

    running = set(children)

    def pass_on(number, frame):
        for child in running:
            os.kill(child, number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    totals = Totals()
    for read, child in zip(pipes, children):
        with os.fdopen(read, "rb") as source:
            totals.merge(pickle.load(source))
        running.remove(child)  # before its number can be another's
        os.waitpid(child, 0)
    return totals


def progress(count, job=0):
    begin = last = time.monotonic()

    def tell(totals, seed, found):
        nonlocal last
        for kind, driver, text in found:
            if kind not in REFUSALS:
                print(f"{kind} on {driver}, seed {seed}: {text}", flush=True)
        now = time.monotonic()
        if now - last > 10:
            last = now
            rate = totals.kernels / (now - begin)
            print(f"[{job}] {totals.kernels} of {count}, {rate:.1f} a second, "
                  f"{len(totals.mismatches)} mismatches, {sum(totals.refusals.values())} refused",
                  file=sys.stderr, flush=True)
    return tell


def one(kernel, title, shrinking, seconds):
    print(kernel.text)
    found, _ = examine(kernel, "local")
    for kind, driver, text in found:
        print(f"{kind} on {driver}: {text}")
    if shrinking and found:
        worst = next((f for f in found if f[0] not in REFUSALS), found[0])
        small, same = shrink(kernel, worst, "local", seconds)
        if not same:
            print("it did not happen again")
        print("\n" + case_text(small, title or worst[2]))
    return any(k not in REFUSALS for k, *_ in found)


def summary(totals):
    n = max(totals.kernels, 1)
    print(f"{totals.kernels} kernels: {totals.compared} agree, {totals.exact} of them demanded to the "
          f"bit, {totals.unsettled} hang on rounding; {sum(totals.interpreter.values())} are errors of "
          f"the kernel; {sum(totals.refusals.values())} ({100 * sum(totals.refusals.values()) / n:.1f} "
          f"%) refused by the compiler alone; {totals.one_buffer} pairs of parameters as one buffer; "
          f"{len(totals.mismatches)} mismatches")
    for text, k in totals.refusals.most_common(12):
        print(f"  refused {k}: {text} (seed {totals.examples[text]})")
    for kind, names in totals.covered.missing().items():
        print(f"  not covered, {kind}: {', '.join(names)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--shrink", action="store_true", help="make what is wrong small")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="for each kernel")
    parser.add_argument("--report", type=Path, help="everything as JSON")
    parser.add_argument("--one", type=int, metavar="SEED")
    parser.add_argument("--case", type=Path)
    options = parser.parse_args()
    if options.one is not None:
        return one(generate(options.one), "", options.shrink, options.shrink_seconds)
    if options.case:
        return one(*read_case(options.case), options.shrink, options.shrink_seconds)
    if options.jobs > 1:
        totals = in_processes(options.seed, options.count, options.jobs, options.seconds)
    else:
        totals = work(options.seed, range(options.count), "local", progress(options.count),
                      Stop(options.seconds))
    summary(totals)
    if options.report:
        options.report.write_text(json.dumps(totals.report(), indent=1))
    if options.shrink:
        seen = set()
        for m in totals.mismatches:
            kernel = generate(m["seed"])
            small, _ = shrink(kernel, (m["kind"], m["driver"], m["text"]), "local",
                              options.shrink_seconds)
            text = case_text(small, m["text"])
            body = text.split("\n", 1)[1]
            if body not in seen:
                print(f"\nseed {m['seed']}, {m['kind']} on {m['driver']}; a file for {CASES.name}/:\n"
                      f"{text}", flush=True)
            seen.add(body)
    return bool(totals.mismatches)


if __name__ == "__main__":
    sys.exit(main())
