"""Workers: their sandbox, their replacement, requests that kill them."""

import json
import os
import re
import stat

import pytest
from conftest import BUILD, alive, cmdline, request, wait_for
from google.protobuf import json_format
from pyasc.v1 import compile_pb2
from test_run import floats, run, start_message

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory):
    from conftest import Daemon
    daemon = Daemon(tmp_path_factory.mktemp("sandboxed"), environment={"FAKE_SANDBOX": "1"})
    yield daemon
    daemon.close()


@pytest.mark.parametrize("what, expected", [
    ("thread", "done"), ("memory", "done"),
    ("open", "Permission denied"), ("create", "Permission denied"), ("stat", "Permission denied"),
    ("socket", None), ("fork", None), ("exec", None), ("kill", None), ("ptrace", None),
    ("memfd", None)])
def test_a_sandboxed_worker_can_compute_and_nothing_else(sandboxed, what, expected):
    reply = sandboxed.compile(f"x @attempt={what} ")
    if expected:
        assert (reply.outcome, reply.diagnostics[0].message) == (REJECTED, expected)
    else:
        assert reply.outcome == FAILED
        assert "did what its sandbox forbids" in reply.diagnostics[0].message
    assert sandboxed.compile("good").outcome == OK


def test_what_the_sandbox_forbids_works_without_it(daemon):
    for what in ("open", "socket", "fork", "memfd"):
        assert daemon.compile(f"x @attempt={what} ").diagnostics[0].message == "done"


def test_a_sandboxed_device_runs(sandboxed):
    data = floats(1, 2, 3, 4)
    result = run(sandboxed, start_message("copy", data=data))
    assert result.done.outcome == OK and result.outputs["return"] == data


def test_a_worker_is_sandboxed_as_the_kernel_sees_it(sandboxed):
    sandboxed.compile("one")
    workers = [p for p in sandboxed.descendants() if b"--role=" in cmdline(p)]
    assert len(workers) == 4
    for pid in workers:
        with open(f"/proc/{pid}/status") as f:
            status = f.read()
        assert re.search(r"^Seccomp:\t2$", status, re.M), "filtered"
        assert re.search(r"^NoNewPrivs:\t1$", status, re.M)


def test_workers_are_replaced_after_so_many_jobs(start):
    daemon = start("--compile-workers", "1", "--worker-max-jobs", "3")
    seen = set()
    for i in range(9):
        assert daemon.compile(f"kernel {i}").outcome == OK
        wait_for(lambda: daemon.worker_stats("compile").alive == 1, "the worker to be replaced")
        seen |= {p for p in daemon.descendants() if b"--role=compile" in cmdline(p)}
    assert len(seen) >= 3
    assert daemon.metric("worker_restarts_total", role="compile", reason="recycled_jobs") >= 2
    assert daemon.metric("worker_restarts_total", role="compile", reason="crash") == 0


def test_a_worker_that_keeps_too_much_memory_is_replaced(start):
    daemon = start("--worker-max-rss-bytes", "1")
    assert daemon.compile("one").outcome == OK
    wait_for(lambda: daemon.metric("worker_restarts_total", role="compile",
                                   reason="recycled_memory") >= 1, "the worker to be replaced")
    assert daemon.compile("two").outcome == OK


def test_a_kernel_that_crashed_the_compiler_twice_is_refused(start, tmp_path):
    daemon = start("--poison-seconds", "2")
    count = tmp_path / "count"
    text = f"bad @count={count} @crash "

    def tries():
        return len(count.read_text().splitlines())
    for _ in range(4):
        reply = daemon.compile(text, request_id="who-did-it")
        assert reply.outcome == FAILED
    assert tries() == 2
    assert "not tried again" in reply.diagnostics[0].message
    assert "crashed (signal 11)" in reply.diagnostics[0].message
    assert daemon.metric("admission_rejected_total", reason="poisonous") == 2
    assert daemon.compile("good").outcome == OK
    wait_for(lambda: "who-did-it" in daemon.read_log(), "the log to name the request")

    def tried_again():
        daemon.compile(text)
        return tries() > 2
    wait_for(tried_again, "it to be tried again", limit=20)


def reports(daemon):
    """Paths of the daemon's crash reports, oldest first."""
    directory = os.path.join(daemon.cache, "crashes")
    if not os.path.isdir(directory):
        return []
    return sorted(os.path.join(directory, n) for n in os.listdir(directory) if n.endswith(".json"))


def test_what_a_dead_worker_was_asked_is_kept_for_the_operator(daemon):
    daemon.compile("fine")
    daemon.compile("wrong @reject ")
    assert reports(daemon) == []
    text = "bad # caf\u00e9 @crash "
    daemon.compile(text, request_id="who-did-it")
    path, = wait_for(lambda: reports(daemon), "a report")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert os.path.basename(path).endswith("-who-did-it.json")
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    assert report["role"] == "compile worker" and report["how"] == "crashed (signal 11)"
    assert report["build_id"] and report["time"].endswith("+00:00")
    with open(path.removesuffix(".json") + ".py", encoding="utf-8") as f:
        assert f.read() == text
    wait_for(lambda: path in daemon.read_log(), "the log to name it")
    # It is the whole request: sent again, it does the same.
    again = json_format.ParseDict(report["request"], compile_pb2.CompileRequest())
    assert again.request_id == "who-did-it"
    assert daemon.compiler.Compile(again).outcome == FAILED


def test_a_run_that_kills_its_device_worker_is_kept_too(daemon):
    result = run(daemon, start_message("copy @run-crash ", data=floats(1, 2, 3, 4)))
    assert result.done.outcome == FAILED
    path, = wait_for(lambda: reports(daemon), "a report")
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    assert report["role"] == "device worker" and "crashed" in report["how"]


def test_crash_reports_are_bounded_and_the_newest_stay(daemon):
    for i in range(67):
        daemon.compile(f"bad {i} @crash ", request_id=f"r{i}")
    names = [p.rpartition("-")[2] for p in reports(daemon)]
    assert names == [f"r{i}.json" for i in range(3, 67)]
    assert len(os.listdir(os.path.join(daemon.cache, "crashes"))) == 128


def test_a_disk_that_takes_no_report_changes_nothing_else(start, tmp_path):
    daemon = start()
    with open(os.path.join(daemon.cache, "crashes"), "w"):
        pass  # a file where the directory would be
    assert daemon.compile("bad @crash ").outcome == FAILED
    wait_for(lambda: "no crash report" in daemon.read_log(), "the log")
    assert daemon.compile("good").outcome == OK


def test_a_compile_that_takes_too_much_cpu_time_is_ended_and_blamed(start):
    daemon = start("--compile-cpu-seconds", "1", "--compile-workers", "1")
    replies = [daemon.compile("bad @spin ") for _ in range(3)]
    assert "exceeded its limit of 1 s of CPU time" in replies[0].diagnostics[0].message
    assert "it is not tried again" in replies[2].diagnostics[0].message
    assert daemon.metric("worker_restarts_total", role="compile", reason="cpu") == 2
    # Each compile has the time anew, however much those before it took.
    assert all(daemon.compile(f"good {i}").outcome == OK for i in range(3))


def test_a_run_that_takes_too_much_cpu_time_is_ended(start):
    daemon = start("--run-cpu-seconds", "1", "--devices", "sim:1")
    result = run(daemon, start_message("bad @run-spin ", data=floats(1, 2, 3, 4)))
    assert "exceeded its limit of 1 s of CPU time" in result.done.failure
    assert run(daemon, start_message("good", data=floats(1, 2, 3, 4))).done.outcome == OK


def test_a_thread_that_a_run_leaves_behind_does_not_work_for_ever(start):
    daemon = start("--devices", "sim:1")
    assert run(daemon, start_message("bad @run-stay ", data=floats(1, 2, 3, 4))).done.outcome == OK
    workers = [p for p in daemon.descendants() if b"--role=device" in cmdline(p)]
    wait_for(lambda: not all(map(alive, workers)), "the worker with the thread to be ended")
    assert run(daemon, start_message("good", data=floats(1, 2, 3, 4))).done.outcome == OK
