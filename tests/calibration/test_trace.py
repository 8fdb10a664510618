"""`--trace`: a file that Perfetto takes, whose times are the report's, and whose size nobody keeps."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYASC = pathlib.Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build/release")) / "bin/pyasc"
SCALE = ROOT / "docs/examples/npu/scale.mlir"
PROGRAMS = pathlib.Path(__file__).parent / "programs"
EPILOGUE = ROOT / "tests/sanitizer/programs/epilogue.mlir"
PIPES = {"S": "scalar", "V": "vector", "M": "cube", "MTE1": "mte1", "MTE2": "mte2",
         "MTE3": "mte3", "FIX": "fixpipe"}


def pyasc(*arguments):
    command = [str(PYASC), *map(str, arguments), "--local", "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def matmul(n_tiles):
    arguments = dict(cores=2, rowCores=2, coreM=128, coreN=8192, m=128, n=256, nTiles=n_tiles,
                     scalar=10)
    return [PROGRAMS / "matmul_one_buffer.mlir", "--timing-only",
            *(flag for pair in arguments.items() for flag in ("--arg", "=".join(map(str, pair))))]


class Trace:
    def __init__(self, path):
        self.file = json.loads(path.read_text())
        events = self.file["traceEvents"]
        named = {(e["name"], e["pid"], e["tid"]): e["args"]["name"]
                 for e in events if e["name"] in ("process_name", "thread_name")}
        self.slices = [e for e in events if e["ph"] == "X"]
        self.tracks = collections.defaultdict(list)  # by core and pipe
        for e in self.slices:
            core = named["process_name", e["pid"], 0]
            self.tracks[core, PIPES[named["thread_name", e["pid"], e["tid"]]]].append(e)

    def busy_us(self, category):
        sums = collections.Counter()
        for track, events in self.tracks.items():
            sums[track] = sum(e["dur"] for e in events if e["cat"] in category)
        return sums


@pytest.mark.parametrize("flags", [
    [SCALE], [SCALE, "--timing-only"], [SCALE, "--threads", "2"], [SCALE, "--sanitize"], [EPILOGUE],
    matmul(1)], ids=["data", "timing", "threads", "sanitized", "cube-and-vector", "unit-flag"])
def test_a_trace_has_the_times_of_the_report(tmp_path, flags):
    done = pyasc("sim", *flags, "--json", "--trace", tmp_path / "t.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    trace = Trace(tmp_path / "t.json")
    assert trace.file["events_left_out"] == 0
    assert trace.file["events"] == len(trace.slices)
    busy, waiting = trace.busy_us(("instruction", "scalar")), trace.busy_us(("wait",))
    seen = set()
    for phase in report["phases"]:
        kind = {"aic": "cube core", "aiv": "vector core"}[phase["core"]]
        for core in phase["cores"]:
            for pipe in core["pipes"]:
                track = f"{kind} {core['core']:02}", pipe["pipe"]
                seen.add(track)
                assert busy[track] == pytest.approx(pipe["busy_us"], abs=1e-3), track
                assert waiting[track] == pytest.approx(pipe["wait_us"], abs=1e-3), track
                if pipe["pipe"] != "scalar":
                    assert sum(e["cat"] == "instruction" for e in trace.tracks[track]) == \
                        int(pipe["instructions"])
    assert {track for track in trace.tracks if busy[track] > 0} <= seen
    # A flag that is waited for at the very end is seen a few cycles after the last result.
    end = max(e["ts"] + e["dur"] for e in trace.slices if e["cat"] != "wait")
    assert end == pytest.approx(report["kernel_us"], abs=1e-3)


@pytest.mark.parametrize("flags", [[SCALE], matmul(1)], ids=["vector", "cube"])
def test_what_one_pipe_does_does_not_overlap(tmp_path, flags):
    assert pyasc("sim", *flags, "--trace", tmp_path / "t.json").returncode == 0
    tracks = Trace(tmp_path / "t.json").tracks
    assert len(tracks) > 2
    for track, events in tracks.items():
        for before, after in zip(events, events[1:]):
            assert round((before["ts"] + before["dur"]) * 1e6) <= round(after["ts"] * 1e6), track


def test_a_slice_says_what_it_is(tmp_path):
    pyasc("sim", SCALE, "--trace", tmp_path / "t.json")
    tracks = Trace(tmp_path / "t.json").tracks
    load = next(e for e in tracks["vector core 03", "mte2"] if e["cat"] == "instruction")
    line = 1 + next(n for n, text in enumerate(SCALE.read_text().splitlines()) if "npu.load" in text)
    assert load["name"] == "load"
    assert load["args"] == {"block": 3, "line": line, "read_bytes": 16384, "written_bytes": 16384}
    waits = {e["name"] for e in tracks["vector core 03", "vector"] if e["cat"] == "wait"}
    assert "wait MTE2->V id 0" in waits


def test_the_limit_cuts_the_trace_and_says_so(tmp_path):
    whole, cut = tmp_path / "whole.json", tmp_path / "cut.json"
    pyasc("sim", SCALE, "--trace", whole)
    done = pyasc("sim", SCALE, "--trace", cut, "--trace-limit", "100")
    assert done.returncode == 0
    left_out = len(Trace(whole).slices) - 100
    assert f"has the first 100 events; {left_out} more were left out" in done.stderr
    assert len(Trace(cut).slices) == 100
    assert Trace(cut).file["events_left_out"] == left_out
    assert Trace(cut).slices == Trace(whole).slices[:100]


def test_what_a_deadlock_came_to_is_in_the_trace(tmp_path):
    path = tmp_path / "wrong.mlir"
    path.write_text(SCALE.read_text().replace("      npu.set_flag MTE2 -> V, %e\n", ""))
    done = pyasc("sim", path, "--trace", tmp_path / "t.json")
    assert done.returncode == 1 and "deadlock" in done.stderr
    assert any(e["name"] == "load" for e in Trace(tmp_path / "t.json").slices)


def test_a_kernel_has_a_trace_too(tmp_path):
    done = pyasc("run", ROOT / "docs/examples/saxpy.py", "--arg", "alpha=0.5", "--arg",
                 "x=randn:f32[4096]", "--arg", "y=randn:f32[4096]", "--trace", tmp_path / "t.json")
    assert done.returncode == 0, done.stderr
    assert any(pipe == "mte2" for _, pipe in Trace(tmp_path / "t.json").tracks)


@pytest.mark.parametrize("flags, message", [
    (["--trace", "/nowhere/t.json"], "cannot write /nowhere/t.json"),
    (["--trace-limit", "5"], "needs --trace"),
    (["--trace", "/dev/null", "--trace-limit", "0"], "--trace-limit takes"),
    (["--trace", "/dev/full"], "cannot write all of /dev/full"),
])
def test_wrong_uses_are_named(flags, message):
    done = pyasc("sim", SCALE, *flags)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_daemon_sends_the_same_trace(tmp_path):
    home = {"HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"}
    environment = {**os.environ, **{name: str(tmp_path) for name in home}}
    environment.pop("PYASC_SERVER", None)
    try:
        done = subprocess.run([str(PYASC), "sim", str(SCALE), "--quiet", "--trace",
                               str(tmp_path / "daemon.json")], env=environment,
                              capture_output=True, text=True, timeout=120)
    finally:
        subprocess.run([str(PYASC), "server", "stop"], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    pyasc("sim", SCALE, "--trace", tmp_path / "local.json")
    assert (tmp_path / "daemon.json").read_text() == (tmp_path / "local.json").read_text()


MEMORY = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_trace(tmp_path):
    """Of the largest of all processes, KiB: 50 MB more text must not be seen."""
    def memory(n_tiles):
        path = tmp_path / f"{n_tiles}.json"
        command = [str(PYASC), "sim", *map(str, matmul(n_tiles)), "--local", "--quiet", "--trace",
                   str(path)]
        done = subprocess.run([sys.executable, "-c", MEMORY, *command], capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return int(done.stdout), path.stat().st_size

    few, small = memory(2)
    many, large = memory(32)
    assert large - small > 5e6
    assert (many - few) * 1024 < (large - small) / 4
