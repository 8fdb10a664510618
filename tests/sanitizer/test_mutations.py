"""Compiled kernels with one instruction of their order left out: each set, wait, barrier and cache flush
in turn. Every one is found, told once, and by the right name; or it is a barrier that orders nothing.

The planner puts barriers between vector instructions of which the second overwrites what the first reads,
too; the vector unit keeps that order by itself, so such a barrier is no fault to miss. What shows it: the
sanitizer follows every byte and has nothing to say, and results are the same, bit for bit."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYASC = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build/release")) / "bin/pyasc"

ADD = """
@asc.kernel
def f(a: asc.float32[300000], b: asc.float32[300000], c: asc.float32[300000]):
    for i in asc.parallel_for(300000):
        c[i] = asc.exp(a[i]) * b[i] + a[i]
"""

SOFTMAX = """
@asc.kernel
def f(x: asc.float16[96, 300], y: asc.float16[96, 300]):
    for i in asc.parallel_for(96):
        m = asc.float32(x[i, 0])
        for j in range(1, 300):
            m = max(m, asc.float32(x[i, j]))
        s = 0.0
        for j in range(300):
            s += asc.exp(asc.float32(x[i, j]) - m)
        for j in range(300):
            y[i, j] = asc.exp(asc.float32(x[i, j]) - m) / s
"""

MATMUL = """
@asc.kernel
def f(A: asc.float16[96, 1000], B: asc.float16[1000, 64], C: asc.float16[96, 64]):
    for i in asc.parallel_for(96):
        for j in range(64):
            s = 0.0
            for k in range(1000):
                s += asc.float32(A[i, k]) * asc.float32(B[k, j])
            C[i, j] = s
"""

# Cube and vector cores hand blocks to each other.
FUSED = """
@asc.kernel
def f(A: asc.float16[128, 64], B: asc.float16[64, 128], bias: asc.float16[128], C: asc.float16[128, 128]):
    C[:, :] = asc.float16(asc.relu(asc.matmul(A, B) + bias))
"""

SCAN = """
@asc.kernel
def f(x: asc.int32[8, 64]):
    for r in asc.parallel_for(8):
        for i in range(1, 64):
            x[r, i] = (x[r, i] ^ x[r, i - 1]) + 3
"""

KERNELS = {"add": ADD, "softmax": SOFTMAX, "matmul": MATMUL, "fused": FUSED, "scan": SCAN}

ORDER = re.compile(
    r"npu\.(set_flag|wait_flag|pipe_barrier|cross_set|cross_wait|dcache_flush)\b\s*(.*)")
RACES = {"race-read-after-write", "race-write-after-read", "race-write-after-write"}
UNTAKEN = {"double-set", "flag-not-waited"}
# What may be said of an instruction that is not there. A wait that others make up for leaves its flag
# set, and nothing more.
KINDS = {
    "set_flag": {"flag-not-set", "flag-deadlock"},
    "wait_flag": RACES | UNTAKEN,
    "pipe_barrier": {"missing-barrier"},
    "cross_set": {"flag-not-set", "cross-flag-without-partner"},
    "cross_wait": {"core-race", "flag-not-waited", "cross-flag-overflow"},
    "dcache_flush": {"missing-cache-flush"},
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home),
                   "XDG_CACHE_HOME": str(home), "XDG_STATE_HOME": str(home)}
    environment.pop("PYASC_SERVER", None)
    yield environment
    subprocess.run([str(PYASC), "server", "stop"], env=environment, capture_output=True)


def pyasc(service, *arguments):
    return subprocess.run([str(PYASC), *map(str, arguments), "--quiet"], capture_output=True,
                          text=True, timeout=120, env=service)


def findings(service, path, text):
    path.write_text(text)
    done = pyasc(service, "sim", path, "--sanitize", "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout).get("findings", []) if done.returncode else []


def outputs(service, path, text):
    """Of a run with random arguments: every tensor that is a parameter."""
    path.write_text(text)
    kinds = {name: kind for kind, name in re.findall(
        r'memref<(\w+), #npu.space<gm>> {[^}]*npu.name = "(p\d+)"', text)}
    arguments = []
    for name, kind in kinds.items():
        extents, _, dtype = kind.rpartition("x")
        shape = f"{dtype}[{extents.replace('x', ',')}]"
        made = f"randn:{shape},seed=7" if dtype.startswith("f") else f"ones:{shape}"
        arguments += ["--arg", f"{name}={made}"]
        arguments += ["--out", f"{name}={path.parent / name}.npy"]
    done = pyasc(service, "sim", path, *arguments)
    # What the module only reads is no output.
    while refused := re.search(r"does not write '(p\d+)'", done.stderr):
        at = next(n for n, a in enumerate(arguments) if a.startswith(refused.group(1) + "=/"))
        arguments = arguments[:at - 1] + arguments[at + 1:]
        done = pyasc(service, "sim", path, *arguments)
    assert done.returncode == 0, done.stderr
    return {name: (path.parent / f"{name}.npy").read_bytes() for name in kinds
            if any(a.startswith(name + "=/") for a in arguments)}


def told(found):
    return [(f["kind"], f["range"]["line"], f["message"], f["advice"]) for f in found]


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_left_out_is_told_once_and_by_its_name(service, tmp_path, name):
    source = tmp_path / f"{name}.py"
    source.write_text("import pyasc as asc\n" + KERNELS[name])
    done = pyasc(service, "compile", source, "--target", "sim", "--emit", "npu-ir", "-o", "-")
    assert done.returncode == 0, done.stderr
    # By name: the functions of a module count their arguments apart.
    text = re.sub(r'npu.binding = "parameter:(\d+)"', r'\g<0>, npu.name = "p\1"', done.stdout)
    lines = text.split("\n")
    module = tmp_path / "module.mlir"
    assert findings(service, module, text) == []
    expected = outputs(service, module, text)
    assert expected, "the kernel writes nothing"
    wrong, seen, idle = [], set(), 0
    for n, line in enumerate(lines):
        left_out = ORDER.search(line)
        if not left_out:
            continue
        what = left_out.group(1)
        seen.add(what)
        without = "\n".join(lines[:n] + [""] + lines[n + 1:])
        found = findings(service, module, without)
        if what == "pipe_barrier" and not found and outputs(service, module, without) == expected:
            idle += 1
            continue
        kinds = [f["kind"] for f in found]
        right = len(found) == 1 and kinds[0] in KINDS[what]
        if right and what == "wait_flag" and kinds[0] in RACES:
            # The set is there: the way out is the wait.
            pipes = re.match(r"(\w+) *-> *(\w+)", left_out.group(2))
            right = f"npu.wait_flag {pipes.group(1)} -> {pipes.group(2)}" in found[0]["advice"]
        if not right:
            wrong.append(f"line {n + 1}, {line.strip()}: {told(found)}")
    barriers = sum("npu.pipe_barrier" in line for line in lines)
    assert seen, "the kernel orders nothing"
    assert idle < max(barriers, 1), "no barrier of the kernel orders anything"
    assert not wrong, "\n".join(wrong)


def test_every_kind_of_order_is_among_the_kernels(service, tmp_path):
    texts = []
    for name, kernel in KERNELS.items():
        source = tmp_path / f"{name}.py"
        source.write_text("import pyasc as asc\n" + kernel)
        texts.append(pyasc(service, "compile", source, "--target", "sim", "--emit", "npu-ir", "-o",
                           "-").stdout)
    assert {left_out.group(1) for left_out in ORDER.finditer("\n".join(texts))} == set(KINDS)
