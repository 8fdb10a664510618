"""`pyasc sim` as users meet it: reports, data, host threads, and programs that are wrong."""

import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYASC = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build/release")) / "bin/pyasc"
SCALE = ROOT / "docs/examples/npu/scale.mlir"


def sim(*arguments):
    command = [str(PYASC), "sim", *map(str, arguments), "--local", "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def report(*arguments):
    done = sim(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_worked_example_of_the_documentation_is_the_file():
    text = re.search(r"```mlir\n(.*?)```", (ROOT / "docs/npu-dialect.md").read_text(), re.S).group(1)
    assert SCALE.read_text().split("\n", 1)[1] == text


def test_data_is_computed(tmp_path):
    x = np.arange(1048576, dtype=np.float16)
    np.save(tmp_path / "x.npy", x)
    done = sim(SCALE, "--arg", f"x=@{tmp_path / 'x.npy'}", "--out", f"y={tmp_path / 'y.npy'}")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x / np.float16(2))
    assert "16 aiv blocks" in done.stdout and "gm_to_ub" in done.stdout


def test_the_report_has_pipes_paths_and_cores():
    phase = report(SCALE)["phases"][0]
    pipes = {p["pipe"]: p for p in phase["pipes"]}
    assert pipes["vector"]["busy_us"] > 0 and pipes["vector"]["wait_us"] > 0
    assert pipes["mte2"]["instructions"] == "128"
    assert {p["path"]: p["bytes"] for p in phase["paths"]}["gm_to_ub"] == "2097152"
    assert len(phase["cores"]) == 16
    assert int(phase["l2_misses"]) == 2 * 2097152 // 512


def test_neither_threads_nor_missing_data_change_the_cycles():
    cycles = {report(SCALE, *flags)["phases"][0]["cycles"]
              for flags in ([], ["--threads", "2"], ["--timing-only"])}
    assert len(cycles) == 1


def test_each_soc_has_its_own_time():
    times = {soc: report(SCALE, "--timing-only", "--soc", soc)["kernel_us"]
             for soc in ("ascend910b1", "ascend910b3", "ascend910b4")}
    assert len(set(times.values())) == 3


def test_the_calibration_is_in_the_report():
    trust = report(SCALE, "--timing-only")["trust"]
    assert "27 published measurements" in trust["calibration"]
    assert 0 < trust["model_error"] < 0.08


PRELUDE = """!gm = memref<4096xf16, #npu.space<gm>>
!ub = memref<4096xf16, #npu.space<ub>>
module {
  func.func @f(%x: !gm {npu.name = "x"}) attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %n = arith.constant 4096 : index
    %ub = npu.buffer addr 0 : !ub
"""  # 8 lines


@pytest.mark.parametrize("body, line, message", [
    ("npu.wait_flag MTE2 -> V, %0\n", 9, "deadlock"),
    ("npu.load %ub[%0], %x[%1] count %1 len %n src_stride %n dst_stride %n : !ub, !gm\n", 9,
     "reads GM out of bounds"),
    ("%big = arith.constant 4096 : i64\n"
     "scf.while (%a = %big) : (i64) -> i64 {\n"
     "%t = arith.constant true\n"
     "scf.condition(%t) %a : i64\n"
     "} do {\n^bb0(%a: i64):\nscf.yield %a : i64\n}\n", 15, "has not ended after 1000 instructions"),
    ("npu.load %ub[%0], %x[%0] count %1 len %n src_stride %n dst_stride %n : !ub, !ub\n", 9, ""),
    ("npu.frobnicate %ub\n", 9, ""),
])
def test_wrong_programs_end_with_their_line(tmp_path, body, line, message):
    path = tmp_path / "wrong.mlir"
    path.write_text(PRELUDE + body + "return\n}\n}\n")
    done = sim(path, "--max-instructions", "1000")
    assert done.returncode == 1, done.stderr
    assert re.search(rf"wrong\.mlir:{line}\b", done.stderr), done.stderr
    assert message in done.stderr


BOUNDLESS = [
    # A nest of 10^18 empty iterations.
    ("", "", "%big = arith.constant 1000000000 : index\n"
     "scf.for %i = %0 to %big step %1 {\nscf.for %j = %0 to %big step %1 {\n}\n}\n",
     "has not ended after"),
    ("", "", "scf.for %i = %0 to %n step %0 {\n}\n", "has not ended after"),
    # Flags take no room in a queue.
    ("", "", "%big = arith.constant 1000000000 : index\nscf.for %i = %0 to %big step %1 {\n"
     "npu.set_flag V -> MTE2, %0\n}\n", "is raised"),
    ("", "", "%big = arith.constant 1000000000 : index\nscf.for %i = %0 to %big step %1 {\n"
     "npu.wait_flag MTE2 -> V, %0\n}\n", "flags wait in the queue of pipe V"),
    # Sizes that overflow.
    ("npu.buffer addr 0", "npu.buffer depth 4611686018427387904 addr 0", "",
     "larger than any memory"),
    ("memref<4096xf16, #npu.space<ub>>", "memref<9223372036854775807xf16, #npu.space<ub>>", "",
     "larger than any memory"),
    ("npu.blocks = 1 :", "npu.blocks = 9000000000 :", "", "at most 65535"),
    ("memref<4096xf16, #npu.space<gm>>", "memref<1000000000000xf16, #npu.space<gm>>", "", "'x'"),
    ("", "", "%m = arith.constant -3 : index\n%s = npu.slot %ub[%m] : !ub\n",
     "no negative iteration"),
]


@pytest.mark.parametrize("flags", [[], ["--timing-only"]], ids=["data", "timing"])
@pytest.mark.parametrize("old, new, body, message", BOUNDLESS)
def test_programs_without_bounds_end_with_an_error(tmp_path, old, new, body, message, flags):
    path = tmp_path / "wrong.mlir"
    path.write_text(PRELUDE.replace(old, new) + body + "return\n}\n}\n")
    done = sim(path, "--max-instructions", "5000000", *flags)
    assert done.returncode != 0
    assert message in done.stderr, done.stderr
    assert "'x'" in message or re.search(r"wrong\.mlir:\d+", done.stderr), done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["--arg", "z=zeros:f16[4]"], "no parameter 'z'"),
    (["--soc", "ascend310"], "there is no SoC"),
    (["--max-instructions", "few"], "--max-instructions"),
])
def test_wrong_arguments_are_named(arguments, message):
    done = sim(SCALE, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
