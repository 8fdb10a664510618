"""Every seeded fault is found, with its kind and its line; the programs that they are made from, the
calibration's programs and the documentation's examples give no finding."""

import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

import faults

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PYASC = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build/release")) / "bin/pyasc"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One service for all: a process each would cost more than the runs."""
    home = tmp_path_factory.mktemp("home")
    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home),
                   "XDG_CACHE_HOME": str(home), "XDG_STATE_HOME": str(home)}
    environment.pop("PYASC_SERVER", None)
    yield environment
    subprocess.run([str(PYASC), "server", "stop"], env=environment, capture_output=True)


def sim(server, path, *flags):
    return subprocess.run([str(PYASC), "sim", str(path), "--sanitize", "--quiet", *flags],
                          capture_output=True, text=True, timeout=120, env=server)


def located(text):
    """(line, kind) of every error of a printed answer."""
    return [(int(line), kind) for line, kind in
            re.findall(r"\.mlir:(\d+)(?::\d+)?: error: .* \[([a-z-]+)\]$", text, re.M)]


def lines_with(text, old):
    return [n for n, line in enumerate(text.split("\n")) if old in line.split("//")[0]]


def change(text, edits):
    lines = text.split("\n")
    for old, new, *which in edits:
        found = lines_with("\n".join(lines), old)
        assert found, f"no line has {old!r}"
        n = which[0] if which else None
        assert n is not None or len(found) == 1, f"{len(found)} lines have {old!r}"
        lines[found[n or 0]] = new
    return "\n".join(lines)


def expected_lines(text, line):
    """Line numbers that a fault may be reported at; None: any."""
    if line is None:
        return None
    if isinstance(line, tuple) and len(line) == 2 and isinstance(line[1], int):
        return {lines_with(text, line[0])[line[1]] + 1}
    wanted = line if isinstance(line, tuple) else (line,)
    return {n + 1 for one in wanted for n in lines_with(text, one)}


@pytest.mark.parametrize("name", faults.PROGRAMS)
def test_a_clean_program_gives_no_finding(server, name):
    done = sim(server, HERE / f"programs/{name}.mlir")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)
def test_a_seeded_fault_is_found(server, tmp_path, fault):
    text = change((HERE / f"programs/{fault.program}.mlir").read_text(), fault.edits)
    path = tmp_path / f"{fault.name}.mlir"
    path.write_text(text)
    done = sim(server, path, *fault.flags)
    assert done.returncode == 1, done.stdout + done.stderr
    wanted = expected_lines(text, fault.line)
    found = located(done.stderr)
    assert any(kind == fault.kind and (wanted is None or line in wanted) for line, kind in found), \
        f"wanted {fault.kind} in {wanted}:\n{done.stderr}"


def test_a_missing_wait_is_told_once_with_its_set(server, tmp_path):
    """Its flag is set again, the two sides race, and the reader meets what nobody has written yet: one
    finding."""
    for flag, reader in (("MTE2 -> V", "vbinary add"), ("V -> MTE3", "npu.store")):
        text = change((HERE / "programs/add.mlir").read_text(), [(f"wait_flag {flag}", "")])
        path = tmp_path / "wait.mlir"
        path.write_text(text)
        findings = json.loads(sim(server, path, "--json").stdout)["findings"]
        assert [f["kind"] for f in findings] == ["race-read-after-write"], findings
        set_line, = lines_with(text, f"set_flag {flag}")
        assert findings[0]["range"]["line"] == lines_with(text, reader)[0] + 1
        assert f"line {set_line + 1} sets" in findings[0]["advice"]
        assert f"npu.wait_flag {flag}" in findings[0]["advice"]


def test_there_are_faults_of_every_kind():
    documented = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs/sanitizer.md").read_text(), re.M)
    assert len(faults.FAULTS) >= 60 and len({f.name for f in faults.FAULTS}) == len(faults.FAULTS)
    assert {fault.kind for fault in faults.FAULTS} == set(documented)


def test_findings_are_json_too(server, tmp_path):
    fault = next(f for f in faults.FAULTS if f.name == "ub_load_to_vector")
    path = tmp_path / "race.mlir"
    path.write_text(change((HERE / "programs/add.mlir").read_text(), fault.edits))
    done = sim(server, path, "--json")
    findings = json.loads(done.stdout)["findings"]
    race = next(f for f in findings if f["kind"] == "race-read-after-write")
    assert int(race["count"]) > 1, "each tile meets it again"
    assert race["access"]["pipe"] == "V" and race["other"]["pipe"] == "MTE2"
    assert race["access"]["memory"] == "UB" and race["access"]["buffer"] == "xu"
    assert int(race["other"]["end"]) > int(race["other"]["begin"])
    assert race["other"]["write"] and not race["access"]["write"]
    assert race["advice"] and race["message"]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_cube_and_vector_cores_hand_data_on(server, tmp_path, threads):
    """What flags between cores order is right on any number of host threads."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (8, 16, 16)).astype(np.float16) for _ in range(2))
    np.save(tmp_path / "a.npy", a.reshape(-1))
    np.save(tmp_path / "b.npy", b.reshape(-1))
    done = sim(server, HERE / "programs/epilogue.mlir", "--arg", f"a=@{tmp_path / 'a.npy'}",
               "--arg", f"b=@{tmp_path / 'b.npy'}", "--out", f"y={tmp_path / 'y.npy'}",
               "--threads", threads)
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy").reshape(8, 16, 16)
    np.testing.assert_array_equal(y, 2 * np.einsum("tik,tjk->tij", a.astype(np.float32), b))


def test_vector_cores_meet(server, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(256, dtype=np.float32))
    done = sim(server, HERE / "programs/turn.mlir", "--arg", f"x=@{tmp_path / 'x.npy'}", "--out",
               f"y={tmp_path / 'y.npy'}")
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "y.npy")[::64] / 64).tolist() == [2, 1, 0, 3]


@pytest.mark.parametrize("path", sorted((ROOT / "docs/examples/npu").glob("*.mlir")),
                         ids=lambda path: path.stem)
def test_the_documented_examples_give_no_finding(server, path):
    done = sim(server, path)
    assert done.returncode == 0, done.stderr
