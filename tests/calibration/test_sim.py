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
PROGRAMS = pathlib.Path(__file__).parent / "programs"
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


def rows_of(heading):
    text = (ROOT / "docs/npu-dialect.md").read_text()
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]


def test_the_index_of_examples_is_the_files():
    listed = {row[0].strip(" `"): int(row[1]) for row in rows_of("Worked examples")}
    assert all(len((ROOT / path).read_text().splitlines()) == lines
               for path, lines in listed.items())
    assert {str(path.relative_to(ROOT)) for path in [SCALE, *PROGRAMS.glob("*.mlir")]} <= set(listed)


def test_the_documented_fields_are_in_the_report():
    whole = report(SCALE)
    for row in rows_of("The report as JSON"):
        names = re.findall(r"`([^`]+)`", row[0])
        parent = names[0].rpartition(".")[0]
        for name in names:
            at = whole
            for key in (parent + name if name.startswith(".") else name).split("."):
                at = at[key.removesuffix("[]")]
                at = at[0] if key.endswith("[]") else at


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


ROUNDS = """
!gm = memref<8xi64, #npu.space<gm>>
module {
  func.func @before(%x: !gm {npu.name = "x"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    return
  }
  func.func @digit(%x: !gm {npu.name = "x", npu.binding = "parameter:0"},
                   %t: i64 {npu.binding = "loop_variable"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 7 : i64, npu.rounds = [ROUNDS]} {
    %0 = arith.constant 0 : index
    %ten = arith.constant 10 : i64
    %old = memref.load %x[%0] : !gm
    %shifted = arith.muli %old, %ten : i64
    %new = arith.addi %shifted, %t : i64
    memref.store %new, %x[%0] : !gm
    npu.dcache_flush
    return
  }
  func.func @count(%x: !gm {npu.name = "x", npu.binding = "parameter:0"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64, npu.loop = 7 : i64, npu.rounds = [ROUNDS]} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %first = memref.load %x[%0] : !gm
    %old = memref.load %x[%1] : !gm
    %new = arith.addi %old, %first : i64
    memref.store %new, %x[%1] : !gm
    npu.dcache_flush
    return
  }
}
"""


@pytest.mark.parametrize("rounds, first, second", [
    ((3, 2, 4), 3579, 3 + 35 + 357 + 3579), ((9, -4, 3), 951, 9 + 95 + 951), ((5, 1, 0), 0, 0)])
def test_a_loop_of_phases_runs_in_rounds_and_its_times_are_their_sum(tmp_path, rounds, first, second):
    program = tmp_path / "rounds.mlir"
    program.write_text(ROUNDS.replace("ROUNDS", "%d, %d, %d" % rounds))
    whole = report(program, "--sanitize", "--out", f"x={tmp_path}/x.npy")
    assert np.load(tmp_path / "x.npy").tolist()[:2] == [first, second]
    phases = {phase["entry"]: phase for phase in whole["phases"]}
    assert set(phases) == ({"before", "digit", "count"} if rounds[2] else {"before"})
    assert all(int(phase["launches"]) == (0 if name == "before" else rounds[2])
               for name, phase in phases.items())
    once = tmp_path / "once.mlir"
    once.write_text(program.read_text().replace("%d, %d, %d" % rounds, "3, 1, 1"))
    alone = {phase["entry"]: phase for phase in report(once)["phases"]}
    for name in set(phases) - {"before"}:
        assert phases[name]["time_us"] == pytest.approx(rounds[2] * alone[name]["time_us"], rel=0.2)
        assert phases[name]["launch_us"] == pytest.approx(rounds[2] * alone[name]["launch_us"])
        pipe, = (p for p in phases[name]["pipes"] if p["pipe"] == "scalar")
        same, = (p for p in alone[name]["pipes"] if p["pipe"] == "scalar")
        assert int(pipe["instructions"]) == rounds[2] * int(same["instructions"])
    assert whole["kernel_us"] == pytest.approx(
        sum(phase["time_us"] + phase["launch_us"] for phase in whole["phases"]))


def test_the_limit_of_instructions_is_of_all_rounds_of_a_loop(tmp_path):
    program = tmp_path / "rounds.mlir"
    program.write_text(ROUNDS.replace("ROUNDS", "0, 1, 1000"))
    assert sim(program, "--max-instructions", "100000").returncode == 0
    done = sim(program, "--max-instructions", "1000")
    assert done.returncode == 1 and "1000" in done.stderr


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


@pytest.mark.parametrize("arguments, code, message", [
    ([], 2, "the number 'cores' needs a value: --arg cores=..."),
    (["--arg", "cores=zeros:f32[3]"], 2, "the argument 'cores' must be a number"),
    (["--arg", "cores=1.5"], 1, "the argument for parameter 'cores' is a float"),
    (["--arg", "cores=1", "--arg", "x=zeros:f32[3]"], 2, "the argument 'x' is float32[3]"),
])
def test_wrong_arguments_are_named_where_the_module_declares_them(arguments, code, message):
    path = PROGRAMS / "add_one_buffer.mlir"
    done = sim(path, *arguments)
    assert done.returncode == code, done.stderr
    name = re.search(r"'(\w+)'", message).group(1)
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1)
                if f'npu.name = "{name}"' in text)
    assert re.search(rf"add_one_buffer\.mlir:{line}\b.*{re.escape(message)}", done.stderr), done.stderr


def test_a_parameter_that_is_not_there_is_named_with_those_that_are():
    done = sim(PROGRAMS / "add_one_buffer.mlir", "--arg", "corse=1")
    assert done.returncode == 2
    assert "no parameter 'corse': its parameters are 'x'" in done.stderr and "'cores'" in done.stderr


def test_a_run_that_is_too_large_names_the_argument_and_its_line(tmp_path):
    path = tmp_path / "large.mlir"
    path.write_text(SCALE.read_text().replace("1048576xf16", "100000000000xf16"))
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "npu.name" in text)
    done = sim(path)
    assert done.returncode == 3, done.stderr
    assert re.search(rf"large\.mlir:{line}: the run needs .* for the argument 'x'", done.stderr)


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


# What is changed in the prelude, the rest of the body, flags, the line (None: any), the message.
REFUSED = {
    "flag of a cube pipe": ("", "", "npu.set_flag M -> MTE2, %0\n", [], 9, "pipe M"),
    "barrier of a cube pipe": ("", "", "npu.pipe_barrier FIX\n", [], 9, "pipe FIX"),
    "buffer of a cube core": ("", "", "%b = npu.buffer addr 0 : memref<256xf32, #npu.space<l0b>>\n",
                              [], 9, "l0b"),
    "more blocks than cores with flags": ("npu.blocks = 1 :", "npu.blocks = 4000 :",
                                          "npu.cross_set V mode 0, %0\nnpu.cross_wait V, %0\n", [], 4,
                                          "4000 blocks have to run at the same time"),
    "control flow by data": ("", "", "%v = memref.load %x[%0] : !gm\n%z = arith.constant 0.0 : f16\n"
                             "%c = arith.cmpf ogt, %v, %z : f16\nscf.if %c {\n"
                             "npu.scalar_work %n\n}\n", ["--timing-only"], 12,
                             "decides here by its data"),
    "work by data": ("", "", "%v = memref.load %x[%0] : !gm\n%w = arith.fptosi %v : f16 to i64\n"
                     "%k = arith.index_cast %w : i64 to index\nnpu.scalar_work %k\n",
                     ["--timing-only"], 12, "decides here by its data"),
    "negative workspace": ("module {", "module attributes {npu.workspaces = [-8]} {", "", [], 3,
                           "no numbers of bytes"),
    "blocks by no parameter": ("npu.blocks = 1 : i64", 'npu.blocks = "nope"', "", [], 4, "'nope'"),
    "no blocks": ("npu.blocks = 1 : i64", 'npu.blocks = "c"', "", ["--arg", "c=0"], 4, "0 blocks"),
    "two parameters of a name": ('%x: !gm {npu.name = "x"}',
                                 '%x: !gm {npu.name = "x"},\n %y: !gm {npu.name = "x"}', "", [], 5,
                                 "two parameters are called 'x'"),
    "argument of another type": ('%x: !gm {npu.name = "x"}', "%x: !gm, %y: tuple<>", "", [], 4,
                                 "no parameter has the type 'tuple<>'"),
    "argument of 4 bits": ('%x: !gm {npu.name = "x"}',
                           "%x: !gm, %y: memref<8xi4, #npu.space<gm>>", "", [], 4, "no parameter"),
    "no name of a SoC": ("module {", "module attributes {npu.soc = 5} {", "", [], 3, "npu.soc"),
    "unknown SoC": ("module {", 'module attributes {npu.soc = "abc"} {', "", [], 3, "'abc'"),
    "division by 0": ("", "", "%q = arith.divui %n, %0 : index\n", [], 9, "divides by zero"),
    "remainder by 0 at run time": ("", "", "%b = npu.block_idx\n%q = arith.remui %n, %b : index\n",
                                   [], 10, "divides by zero"),
    "shift by 70": ("", "", "%s = arith.constant 70 : index\n%q = arith.shli %n, %s : index\n", [],
                    10, "shifts by the width"),
    "shift at run time": ("", "", "%b = npu.block_idx\n%s = arith.addi %b, %n : index\n"
                          "%q = arith.shrui %n, %s : index\n", [], 11, "shifts by the width"),
    "negative work": ("", "", "%m = arith.constant -1 : index\nnpu.scalar_work %m\n", [], 10,
                      "negative number of cycles"),
    "negative work at run time": ("", "", "%b = npu.block_idx\n%m = arith.subi %b, %1 : index\n"
                                  "npu.scalar_work %m\n", [], 11, "0 to 10^15 cycles"),
    "work for a century": ("", "", "%m = arith.constant 1000000000000000 : index\n"
                           "scf.for %i = %0 to %n step %1 {\nnpu.scalar_work %m\n"
                           "npu.pipe_barrier V\n}\n", ["--timing-only"], 12, "cycles"),
    "buffer of f64": ("memref<4096xf16, #npu.space<ub>>", "memref<4096xf64, #npu.space<ub>>", "", [],
                      8, "not 'f64'"),
    "buffer of i4": ("memref<4096xf16, #npu.space<ub>>", "memref<4096xi4, #npu.space<ub>>", "", [],
                     8, "not 'i4'"),
    "stride beyond 64 bits": ("", "", "%b = npu.block_idx\n%h = arith.constant 4611686018427387904 : "
                              "index\n%s = arith.addi %b, %h : index\n%c = arith.addi %b, %1 : "
                              "index\nnpu.load %ub[%0], %x[%0] count %c len %1 src_stride %s "
                              "dst_stride %n : !ub, !gm\n", [], 13,
                              "beyond 64 bits"),
    "stride beyond all memory": ("", "", "%h = arith.constant 4611686018427387904 : index\n"
                                 "npu.load %ub[%0], %x[%0] count %1 len %1 src_stride %h dst_stride "
                                 "%n : !ub, !gm\n", [], 10, "is 4611686018427387904, must be in"),
    "offset that wraps": ("", "", "%b = npu.block_idx\n%h = arith.constant 9223372036854775807 : "
                          "index\n%s = arith.addi %b, %h : index\nnpu.load %ub[%0], %x[%s] count %1 "
                          "len %1 src_stride %n dst_stride %n : !ub, !gm\n", [], 12,
                          "beyond 64 bits"),
    "index that wraps": ("", "", "%b = npu.block_idx\n%h = arith.constant -9223372036854775808 : "
                         "index\n%s = arith.addi %b, %h : index\n%v = memref.load %x[%s] : !gm\n",
                         [], 12, "out of bounds"),
    "use before definition": ("", "", "npu.set_flag V -> MTE2, %e\nscf.for %i = %0 to %n step %1 {\n"
                              "%e = arith.remui %i, %n : index\nnpu.broken }\n", [], 9,
                              "'%e' is used before it is defined"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_rule_allows_is_refused_at_its_line(tmp_path, name):
    old, new, body, flags, line, message = REFUSED[name]
    prelude = PRELUDE.replace(old, new) if old else PRELUDE
    if 'npu.blocks = "c"' in new:
        prelude = prelude.replace('{npu.name = "x"}', '{npu.name = "x"}, %c: index {npu.name = "c"}')
    path = tmp_path / "wrong.mlir"
    path.write_text(prelude + body + "return\n}\n}\n")
    done = sim(path, *flags)
    assert done.returncode in (1, 2), done.stderr
    assert re.search(rf"wrong\.mlir:{line}\b", done.stderr), done.stderr
    assert message in done.stderr


def test_a_limit_may_be_written_with_an_exponent():
    assert sim(SCALE, "--timing-only", "--max-instructions", "2.5e9").returncode == 0
    assert "has not ended after 100 instr" in sim(SCALE, "--max-instructions", "1e2").stderr
    assert sim(SCALE, "--max-instructions", "1.5").returncode == 2


def test_the_report_names_the_chip_that_was_simulated():
    launch = report(SCALE, "--timing-only", "--soc", "ascend910b1")["launch"]
    assert (launch["device"], launch["soc"]) == ("simulated Ascend910B1", "ascend910b1")
    assert "roof_fraction" not in report(SCALE, "--timing-only")["verdict"]


DECLARED = ('module { func.func private @f() '
            'attributes {npu.core = "aiv", npu.blocks = 1 : i64} }')
DEEP = "module {\n" * 20000 + "}\n" * 20000


@pytest.mark.parametrize("text, place, message", [
    (DECLARED, "m.mlir:1", "the function 'f' has no body"),
    (DEEP, "m.mlir:501", "nested more than 500 deep"),
    ("ML\xefR" + "x" * 100, "m.mlir", "bytecode"),
], ids=["declared", "deep", "bytecode"])
def test_texts_that_crashed_the_reader_are_refused(tmp_path, text, place, message):
    (tmp_path / "m.mlir").write_bytes(text.encode("latin-1"))
    done = sim(tmp_path / "m.mlir")
    assert done.returncode == 1, done.stderr
    assert place in done.stderr and message in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["--arg", "z=zeros:f16[4]"], "no parameter 'z'"),
    (["--soc", "ascend310"], "there is no SoC"),
    (["--max-instructions", "few"], "--max-instructions"),
])
def test_wrong_arguments_are_named(arguments, message):
    done = sim(SCALE, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr


# The calibration's programs at small sizes: what is changed in the text, the arguments, and the
# kinds of findings. The copies load a buffer again and again, as what was measured did, with no
# barrier among it: what the buffer holds in the end is open, but nobody reads it.
ROWS_64 = {"67108864": "524288", "%rows = arith.constant 8192": "%rows = arith.constant 64"}
COPY = {"150994944": "6291456", "12288": "512"}
MATMUL = {"67108864": "262144", "%size = arith.constant 8192": "%size = arith.constant 512"}
WATCHED = {
    "add_one_buffer": (ROWS_64, dict(cores=3), []),
    "add_queues": ({"83886080": "5120"}, dict(cores=2, tile=512, tiles=5, part=2560, depth=2,
                                              adds=2, scalar=10), []),
    "add_scalar": ({"67108864": "524288"}, dict(tiles=2), []),
    "add_two_buffers": (ROWS_64, dict(cores=3), []),
    "bank_conflict": ({}, dict(src0=0, src1=16448, dst=32768), []),
    "copy_to_l1": (COPY, dict(cols=64), []),
    "copy_to_l1_shared": ({"24 : i64": "2 : i64"}, {}, []),
    "copy_to_ub": (COPY, dict(rows=64, cols=64), []),
    "copy_to_ub_shared": ({"48 : i64": "2 : i64"}, {}, []),
    "matmul_deep_l1": (MATMUL | {"24 : i64": "2 : i64",
                                 "%32 = arith.constant 32": "%32 = arith.constant 2",
                                 "%coreM = arith.constant 2048": "%coreM = arith.constant 256",
                                 "%coreN = arith.constant 1536": "%coreN = arith.constant 512"},
                       dict(scalar=10), []),
    "matmul_one_buffer": (MATMUL | {"%steps = arith.constant 128": "%steps = arith.constant 8",
                                    "%last = arith.constant 127": "%last = arith.constant 7"},
                          dict(cores=4, rowCores=2, coreM=256, coreN=256, m=128, n=64, nTiles=4,
                               scalar=10), []),
    "nd_to_nz": ({"48 : i64": "2 : i64"}, {}, []),
}


def test_every_calibration_program_is_watched():
    assert {path.stem for path in PROGRAMS.glob("*.mlir")} == set(WATCHED)


@pytest.mark.parametrize("name", sorted(WATCHED))
def test_what_the_sanitizer_says_of_a_calibration_program(tmp_path, name):
    changes, arguments, kinds = WATCHED[name]
    text = (PROGRAMS / f"{name}.mlir").read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    path = tmp_path / f"{name}.mlir"
    path.write_text(text)
    flags = [flag for pair in arguments.items() for flag in ("--arg", "=".join(map(str, pair)))]
    done = sim(path, "--sanitize", *flags)
    assert re.findall(r"error: .* \[([a-z-]+)\]$", done.stderr, re.M) == kinds, done.stderr
    assert done.returncode == (1 if kinds else 0), done.stderr
