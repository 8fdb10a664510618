"""The profile report agrees with itself, for every example kernel and some that stay scalar."""

import itertools
import json
import re
import shlex
import subprocess

import numpy as np
import pytest

import cli
import kernels

GLOBAL_PATHS = {"gm_to_ub", "ub_to_gm", "gm_to_l1", "l0c_to_gm", "gm_to_scalar", "scalar_to_gm"}
BOUNDS = {"memory", "compute", "launch", "scalar", "vector", "cube", "transfer", "latency"}
SLACK = 1e-6

SCALAR = {
    "histogram": ("""
def k(x: asc.int32[4096], h: asc.int32[256]):
    for i in asc.parallel_for(0, 4096):
        h[x[i]] += 1
""", {"x": "zeros:i32[4096]", "h": "zeros:i32[256]"}),
    "argmax_rows": ("""
def k(x: asc.float32[256, 1024], o: asc.int32[256]):
    for i in asc.parallel_for(0, 256):
        o[i] = asc.argmax(x[i])
""", {"x": "randn:f32[256,1024],seed=1", "o": "zeros:i32[256]"}),
    "argmin_rows": ("""
def k(x: asc.float32[256, 1024], o: asc.float32[256]):
    for i in asc.parallel_for(0, 256):
        o[i] = float(asc.argmin(x[i]))
""", {"x": "randn:f32[256,1024],seed=1", "o": "zeros:f32[256]"}),
    "scan": ("""
def k(x: asc.float32[512], y: asc.float32[512]):
    s = 0.0
    for i in range(512):
        s = s * 0.5 + x[i]
        y[i] = s
""", {"x": "ones:f32[512]", "y": "zeros:f32[512]"}),
}


def profile(command, folder):
    done = subprocess.run([*command, "--json", f"{folder}/r.json"], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "r.json").read_text()), done.stdout


def scalar_command(name, folder, service, verb="profile"):
    text, arguments = SCALAR[name]
    file = folder / "k.py"
    file.write_text("import pyasc as asc\n\n@asc.kernel" + text)
    return [cli.PYASC, verb, str(file), *service,
            *(word for item in arguments.items() for word in ("--arg", "%s=%s" % item))]


def check(report, text):
    phases = report["phases"]
    # Of phases that run at the same time the longest counts.
    total = sum(max(phase["time_us"] for phase in group)
                for _, group in itertools.groupby(phases, lambda p: p["group"] or id(p)))
    assert report["kernel_us"] == pytest.approx(report["launch_us"] + total, rel=SLACK)
    for phase in phases:
        for pipe in phase["pipes"]:
            spent = pipe["busy_us"] + pipe["wait_us"]
            assert 0 <= pipe["busy_us"] and 0 <= pipe["wait_us"], pipe
            assert spent <= phase["time_us"] * (1 + SLACK), (phase["entry"], pipe)
            assert 0 <= pipe["utilization"] <= 1 + SLACK
        for path in phase["paths"]:
            assert 0 <= path.get("peak_fraction", 0) <= 1 + SLACK, (phase["entry"], path)
        times = phase["core_time_us"]
        if len(times) > 1:
            assert phase["imbalance"] == pytest.approx(max(times) / np.mean(times) - 1, abs=1e-9)
        else:
            assert "imbalance" not in phase
        assert all(time <= phase["time_us"] * (1 + SLACK) for time in times)
    moved = sum(int(path["bytes"]) for phase in phases for path in phase["paths"]
                if path["path"] in GLOBAL_PATHS)
    assert report.get("moved_bytes", 0) == moved
    # Every kernel here reads and writes all of its arguments.
    needs = report["compile"].get("compulsory_bytes", 0)
    assert (moved > 0) == (needs > 0)
    for roof in report["rooflines"]:
        assert 0 < roof["fraction"] <= 1, roof
        assert roof["roof"] in ("memory", "compute")

    verdict = report["verdict"]
    assert verdict["bound_by"] in BOUNDS
    assert verdict["summary"].count(verdict["bound_by"] + " bound") <= 1
    gains = [advice["gain"] for advice in verdict["advice"]]
    assert all(0 < gain <= 1 for gain in gains) and sum(gains) <= 1 + SLACK
    texts = [advice["text"] for advice in verdict["advice"]]
    assert len(set(texts)) == len(texts)

    # As it is displayed.
    lines = text.strip().split("\n")
    assert len(set(lines)) == len(lines), text
    assert not re.search(r"\b1 (phases|blocks|runs|cores)\b", text), text
    assert "median" not in text or len(report["samples"]["kernel_us"]) > 1
    assert "(simulated)" in text and "wall clock" in text
    assert not re.search(r"\b0 FLOP/s", text), text
    shown = re.search(r"kernel ([\d.]+ \w+) = launch ([\d.]+ \w+) \+ phases? ([\d.]+ \w+)", text)
    assert shown, text
    whole, launch, rest = (number(part) for part in shown.groups())
    assert launch + rest == pytest.approx(whole, rel=0.01, abs=0.15)
    if needs > 0:
        shown = re.search(r"needed .*, moved .* \(([\d.]+) times\)", text)
        assert float(shown.group(1)) == pytest.approx(moved / needs, abs=0.051)


def number(text):
    value, unit = text.split()
    return float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


@pytest.mark.parametrize("case", kernels.CASES, ids=lambda c: c.name)
def test_an_example_s_report_agrees_with_itself(case, tmp_path, service):
    arrays = case.inputs(np.random.default_rng(7))
    command = cli.command(case, arrays, "sim", tmp_path, service, verb="profile")
    check(*profile(command, tmp_path))


@pytest.mark.parametrize("name", SCALAR)
def test_a_scalar_kernel_s_report_agrees_with_itself(name, tmp_path, service):
    report, text = profile(scalar_command(name, tmp_path, service), tmp_path)
    check(report, text)
    assert report["verdict"]["bound_by"] == "scalar"
    first = report["verdict"]["advice"][0]
    assert "on the scalar unit" in first["text"], first
    assert first["gain"] > 0.3, first
    # The compiler's estimate is of the same order as the simulation.
    ratio = report["compile"]["estimated_time_us"] / report["kernel_us"]
    assert 1 / 3 < ratio < 3, ratio


def test_a_parallel_loop_on_one_core_is_told_why(tmp_path, service):
    report, _ = profile(scalar_command("histogram", tmp_path, service), tmp_path)
    text = report["verdict"]["advice"][0]["text"]
    assert "cache line of 'h'" in text and "asc.parallel_for" not in text


def small(folder, service, text, arguments, verb="profile"):
    file = folder / "k.py"
    file.write_text("import pyasc as asc\n\n@asc.kernel" + text)
    return [cli.PYASC, verb, str(file), *service,
            *(word for item in arguments.items() for word in ("--arg", "%s=%s" % item))]


def statements(folder, service, text, arguments=()):
    """What `pyasc compile` foretells of each statement, by its line in the kernel."""
    command = small(folder, service, text, dict(arguments), verb="compile")
    done = subprocess.run([*command, "-o", str(folder / "k.pyasc"), "--json", "-"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {statement["range"]["line"] - 3: statement
            for statement in json.loads(done.stdout)["statements"]}


def test_more_tensor_operations_than_are_tried_as_one_are_told(tmp_path, service):
    lines = statements(tmp_path, service, """
def k(x: asc.float32[8, 64], y: asc.float32[8, 64]):
    for i in range(8):
        t = x[i] * 2.0
        for s in asc.static_range(170):
            t[:] = t * x[i]
        y[i] = t
""")
    assert "is one of 171 in the loop" in lines[2]["reason"], lines


def test_rows_that_go_by_dma_are_told_as_transfers(tmp_path, service):
    lines = statements(tmp_path, service, """
def k(t: asc.float32[100, 128], ids: asc.int32[512], y: asc.float32[512, 128]):
    for i in asc.parallel_for(512):
        for j in range(128):
            y[i, j] = t[ids[i], j]
""")
    assert lines[2]["unit"] == "transfer" and lines[2]["what"] == "copies of rows", lines
    assert not lines[2].get("reason") and int(lines[2]["cores"]) == 40, lines


def test_a_loop_that_adds_up_beside_its_copies_is_on_the_scalar_unit(tmp_path, service):
    lines = statements(tmp_path, service, """
def k(t: asc.float32[100, 128], y: asc.float32[512, 128], n: asc.int32[512]):
    j = 1
    for i in range(512):
        j = (j * 7 + n[i]) % 100
        y[i] = t[j]
        n[i] = j
""")
    assert lines[3]["unit"] == "scalar", lines


def test_indices_that_join_loops_are_told_so(tmp_path, service):
    lines = statements(tmp_path, service, """
def k(x: asc.float32[4, 32, 256], y: asc.float32[4, 32, 256]):
    for n in range(4):
        for g in range(8):
            s = 0.0
            for c in range(4):
                for i in range(256):
                    s += x[n, g * 4 + c, i]
            for c in range(4):
                for i in range(256):
                    y[n, g * 4 + c, i] = x[n, g * 4 + c, i] / s
""")
    reasons = " ".join(one.get("reason", "") for one in lines.values())
    assert "combines loop variables" in reasons and "rectangle" not in reasons, lines


def test_each_step_that_shares_a_phase_has_reasons_of_its_own(tmp_path, service):
    lines = statements(tmp_path, service, """
def k(x: asc.float32[1024], y: asc.float32[1024], n: asc.int32):
    y[0] = 1.0
    i = 1
    while i < n:
        y[i] = x[i] * 2.0
        i += 1
""")
    assert lines[4]["unit"] == "scalar" and "ends when a value" in lines[4]["reason"], lines
    assert "while loop" in lines[4]["cores_reason"], lines


def test_a_loop_of_unknown_rounds_says_so(tmp_path, service):
    lines = statements(tmp_path, service, """
def k(x: asc.float32[64, 1024], y: asc.float32[64, 1024], n: asc.int32[1]):
    for r in range(n[0]):
        y[:] = y * 2.0 + x
""")
    assert lines[2]["reason"] == "how often the loop runs is known at run time only", lines
    assert lines[2]["cores_reason"] == "the loop is not parallel", lines


def test_tails_of_nested_blocks_are_counted_as_they_are(tmp_path, service):
    report, _ = profile(small(tmp_path, service, """
def k(A: asc.float32[8], s: asc.float32[8]):
    for i0 in range(0, 8, 5):
        for k0 in range(0, 8, 5):
            for i in range(i0, min(i0 + 5, 8)):
                t = 0.0
                for k in range(k0, min(k0 + 5, 8)):
                    t += A[k]
                s[i] += t
""", {"A": "ones:f32[8]", "s": "zeros:f32[8]"}), tmp_path)
    assert report["compile"]["exact"] and report["compile"]["flops"] == 8 * 8 + 2 * 8
    assert 0 < report["rooflines"][0]["fraction"] <= 1


def test_each_unit_has_the_roof_of_its_own_work(tmp_path, service):
    report, text = profile(small(tmp_path, service, """
def k(x: asc.float16[512, 2048], w: asc.float16[2048, 512], b: asc.float32[512], y: asc.float16[512, 512]):
    y[:, :] = asc.maximum(x @ w + b, 0.0)
""", {"x": "randn:f16[512,2048]", "w": "randn:f16[2048,512]", "b": "randn:f32[512]",
      "y": "zeros:f16[512,512]"}), tmp_path)
    check(report, text)
    units = {unit["unit"]: unit for unit in report["compile"]["units"]}
    assert units["cube"]["flops"] == 2 * 512 * 512 * 2048
    assert 0 < units["vector"]["flops"] <= 3 * 512 * 512
    least = max(unit["least_us"] for unit in units.values())
    assert report["compile"]["peak_gflops"] == pytest.approx(
        report["compile"]["flops"] / least / 1e3)
    # Phases name their lines.
    assert re.search(r"k_\d+ \(lines? [\d, ]+\) on", text), text


def test_phases_that_run_at_the_same_time_are_said_to(tmp_path, service):
    report, text = profile(small(tmp_path, service, """
def k(x: asc.float16[512, 512], w: asc.float16[512, 512], y: asc.float16[512, 512]):
    y[:, :] = asc.exp(x @ w)
""", {"x": "zeros:f16[512,512]", "w": "zeros:f16[512,512]", "y": "zeros:f16[512,512]"}), tmp_path)
    check(report, text)
    together = [phase for phase in report["phases"] if phase["group"]]
    assert len(together) == 2, report["phases"]
    assert "(two at the same time)" in text


def test_of_two_statements_on_one_line_the_slow_one_is_blamed(tmp_path, service):
    report, text = profile(small(tmp_path, service, """
def k(x: asc.float32[512, 512]):
    return x.sum()
""", {"x": "randn:f32[512,512]"}), tmp_path)
    check(report, text)
    compile = report["compile"]
    scalar = {i for i, s in enumerate(compile["statements"]) if s["unit"] == "scalar"}
    plan = {phase["entry"]: set(phase["statements"]) for phase in compile["phases"]}
    assert all(plan.values()), plan
    spent = sum(phase["time_us"] for phase in report["phases"] if plan[phase["entry"]] <= scalar)
    for advice in report["verdict"]["advice"]:
        if "on the scalar unit" in advice["text"]:
            assert advice["gain"] <= spent / report["kernel_us"] + SLACK, (advice, spent)


def test_the_pages_name_the_soc_data_s_error_of_the_timing_model(tmp_path, service):
    report, text = profile(scalar_command("scan", tmp_path, service), tmp_path)
    shown = re.search(r"timing model within [\d.]+ %", text).group()
    assert shown in (cli.ROOT / "README.md").read_text()
    worst = round(100 * report["trust"]["model_error"])
    assert f"calibration rows lie within {worst} %" in (cli.ROOT / "docs/limits.md").read_text()
    page = (cli.ROOT / "docs/simulator.md").read_text()
    assert f"(worst {worst} %" in page
    measured = float(re.search(r"totals: median [\d.]+%, worst ([\d.]+)%", page).group(1))
    assert worst - 1 < measured <= worst


def test_the_readme_shows_what_its_command_prints():
    readme = (cli.ROOT / "README.md").read_text()
    shown = readme[readme.index("$ pyasc run docs/examples/matmul.py"):]
    command, _, shown = shown.partition("\nC = ")
    words = shlex.split(command.removeprefix("$ pyasc ").replace("\\\n", " "))
    printed = subprocess.run([cli.PYASC, *words], capture_output=True, text=True, cwd=cli.ROOT)
    assert printed.returncode == 0, printed.stderr
    lines = [line for line in ("C = " + shown.partition("\n...\n")[0]).splitlines()
             if "wall clock" not in line]  # differs from run to run
    assert len(lines) > 8 and all(line in printed.stdout.splitlines() for line in lines)


def test_the_first_run_of_a_kernel_is_a_miss_and_one_look_up(tmp_path, service):
    def counts():
        text = subprocess.run([cli.PYASC, "stats", *service], capture_output=True, text=True).stdout
        return {word: int(count) for count, word in re.findall(r"(\d+) (hits?|misses|miss)\b", text)}

    command = scalar_command("scan", tmp_path, service, verb="run")
    # On other lines: a text that no other test has sent in any spelling.
    (tmp_path / "k.py").write_text("\n" * 17 + (tmp_path / "k.py").read_text())
    before = counts()
    report, text = profile([*command, "--report"], tmp_path)
    assert report["cache"] == "miss" and "compile cache: miss" in text
    assert report["compile_us"] > 500
    after = counts()
    assert sum(after.values()) == sum(before.values()) + 1, (before, after)
    assert profile([*command, "--report"], tmp_path)[0]["cache"] == "hit"


def test_reading_what_another_iteration_writes_is_warned_about(tmp_path, service):
    file = tmp_path / "k.py"
    file.write_text("""import pyasc as asc

@asc.kernel
def k(x: asc.float32[64], y: asc.float32[64]):
    for i in asc.parallel_for(1, 64):
        y[i] = y[i - 1] + x[i]
""")
    done = subprocess.run([cli.PYASC, "compile", str(file), *service], capture_output=True,
                          text=True)
    assert done.returncode == 0
    assert "k.py:6:" in done.stderr and "warning:" in done.stderr, done.stderr
    assert "parallel-race" in done.stderr
    file.write_text(file.read_text().replace("y[i - 1]", "y[i]"))
    done = subprocess.run([cli.PYASC, "compile", str(file), *service], capture_output=True,
                          text=True)
    assert "warning" not in done.stderr, done.stderr
