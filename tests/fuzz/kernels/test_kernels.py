"""Kernels that once went wrong, and random ones by a fixed seed, on the interpreter, sim and host."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import covered  # noqa: E402
import run  # noqa: E402
from execute import examine  # noqa: E402
from kernel import CASES, case_text, read_case  # noqa: E402
from rows import Row  # noqa: E402

COUNT = int(os.environ.get("PYASC_FUZZ_COUNT", "500"))
SEED = 20240917


@pytest.mark.parametrize("path", sorted(CASES.glob("*.py")), ids=lambda p: p.stem)
def test_a_kernel_that_went_wrong_agrees(path):
    kernel, title = read_case(path)
    found, _ = examine(kernel, "local")
    # A file whose title says so shows an error that all must tell, or what is refused.
    assert not [f for f in found if f[0] != "refused" or not title.startswith("Refused")], found


def test_random_kernels_agree():
    totals = run.in_processes(SEED, COUNT, 1, 3600)
    run.summary(totals)
    assert totals.kernels == COUNT
    assert not totals.mismatches, totals.mismatches
    # A generator whose kernels are refused or wrong tests nothing.
    assert totals.compared > 0.75 * COUNT, totals.report()["refusals"]


def test_a_kernel_is_made_of_its_seed_alone():
    for n in range(40):
        seed = run.seed_of(3, n)
        a, b = run.generate(seed), run.generate(seed)
        assert case_text(a, "") == case_text(b, "")


def test_a_case_file_keeps_a_kernel(tmp_path):
    for n in range(40):
        kernel = run.generate(run.seed_of(4, n))
        (tmp_path / "case.py").write_text(case_text(kernel, "title"))
        back, title = read_case(tmp_path / "case.py")
        assert title == "title" and case_text(back, "title") == case_text(kernel, "title")


def test_generated_kernels_cover_the_language():
    """What the texts of many kernels touch, whoever runs them. Most of the library comes from one class,
    which a run draws from too seldom for so few kernels."""
    touched = covered.Covered()
    for n in range(1200):
        kernel = run.generate(run.seed_of(SEED, n))
        touched.add(kernel.text, run.dtypes_of(kernel))
    for n in range(1500):
        kernel = Row(random.Random(f"{SEED}/{n}")).generate()
        touched.add(kernel.text, run.dtypes_of(kernel))
    assert not touched.missing()


def test_a_wrong_answer_is_found_and_made_small(tmp_path):
    """The shrinker, on an oracle that is wrong about shifts."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import execute, run, shrink
from pyasc.interpret import ops, runtime
wrong = lambda x, y: ops.binary("<<", x, 1)
wrong.op = "<<"
runtime.FUNCTIONS["__<<"] = wrong
ops.BY_SYMBOL["<<"] = wrong
for n in range(200):
    kernel = run.generate(run.seed_of(5, n))
    if "<<" not in kernel.text or kernel.family != "program":
        continue
    found, _ = execute.examine(kernel, "local", ("host",))
    found = [f for f in found if f[0] == "value"]
    if found:
        small, same = shrink.shrink(kernel, found[0], "local", 60)
        assert same
        body = small.text.split("def k")[1]
        print(body)
        assert "<<" in body and len(body.splitlines()) <= 8, body
        break
else:
    raise SystemExit("no kernel showed the fault")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
