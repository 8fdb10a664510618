"""Faults of services like this one, by their numbers: keys, flights, compile workers, probes."""

import os
import shutil
import subprocess
import time

import grpc
import pytest
from conftest import (BUILD, TIME_LIMIT, alive, health, in_threads, request, rss_bytes, run_copy,
                      series_count, wait_for)
from pyasc.v1 import compile_pb2, compile_pb2_grpc, service_pb2

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)
MISS, HIT = compile_pb2.CACHE_RESULT_MISS, compile_pb2.CACHE_RESULT_HIT
FAKE = os.path.join(BUILD, "tests", "fake_worker")


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("stage", [
    "@crash-key", "@crash", "@truncate", "@reject", "@hang", "cancel", "deadline", "hit"])
def test_fault_02_no_flight_stays_whatever_stage_it_ends_at(start, stage):
    daemon = start("--compile-timeout-ms", "1500" if stage == "@hang" else "60000")
    if stage in ("cancel", "deadline"):
        call = daemon.compiler.Compile.future(request("one @slow=300 "),
                                              timeout=0.1 if stage == "deadline" else TIME_LIMIT)
        wait_for(lambda: daemon.stats().flights >= 1 or call.done(), "the flight to begin")
        call.cancel()
    elif stage == "hit":
        assert [daemon.compile("one").cache for _ in range(2)] == [MISS, HIT]
    else:
        assert daemon.compile(f"one {stage} ").outcome in (FAILED, REJECTED)
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")
    assert daemon.metric("flights") == 0


def test_fault_03_cancelling_callers_neither_repeats_nor_fails_the_work_of_others(daemon, tmp_path):
    count = tmp_path / "count"
    message = request(f"one @slow=700 @count={count} ")
    calls = [daemon.compiler.Compile.future(message, timeout=TIME_LIMIT)]
    wait_for(lambda: len(lines(count)) == 1, "the compile to begin")
    calls += [daemon.compiler.Compile.future(message, timeout=TIME_LIMIT) for _ in range(20)]
    wait_for(lambda: daemon.stats().joined == 20, "the others to join")
    for call in calls[:8]:
        call.cancel()
    assert {call.result().outcome for call in calls[8:]} == {OK}
    assert len(lines(count)) == 1


def test_fault_04_all_who_wait_get_the_failure_of_the_one_that_led(daemon, start, tmp_path):
    replies = in_threads(12, lambda i: daemon.compile("bad @slow=300 @crash "))
    assert {r.outcome for r in replies} == {FAILED}
    assert len({r.diagnostics[0].message for r in replies}) == 1
    # The service's own failures, too.
    script = tmp_path / "worker"
    script.write_text(f'#!/bin/sh\n[ "$1" = --describe ] && exec {FAKE} --describe\nexit 9\n')
    script.chmod(0o755)
    (tmp_path / "other").mkdir()
    broken = start(worker=str(script), directory=tmp_path / "other")
    errors = in_threads(6, lambda i: broken.compile("one"))
    assert {e.code() for e in errors} == {grpc.StatusCode.UNAVAILABLE}
    assert broken.stats().flights == 0


@pytest.mark.parametrize("word, target, says", [
    ("@truncate", compile_pb2.TARGET_SIM, "cut off or damaged"),
    ("@truncate-elf", compile_pb2.TARGET_HOST, "its object code is cut off"),
])
def test_fault_05_a_compiler_that_cuts_its_output_and_reports_success_is_not_believed(
        start, word, target, says):
    daemon = start()
    reply = daemon.compile(f"one {word} ", target=target)
    assert reply.outcome == FAILED and says in reply.diagnostics[0].message
    assert daemon.stats().cache.entries == 0
    assert daemon.compile("one", target=target).outcome == OK


def test_fault_09_one_failed_start_of_a_worker_is_forgotten_at_once(start, tmp_path):
    broken = tmp_path / "broken"
    script = tmp_path / "worker"
    script.write_text(f'#!/bin/sh\n[ -e {broken} ] && [ "$1" != --describe ] && exit 9\n'
                      f'exec {FAKE} "$@"\n')
    script.chmod(0o755)
    broken.touch()
    daemon = start(worker=str(script))
    with pytest.raises(grpc.RpcError):
        daemon.compile("one")
    broken.unlink()
    begin = time.monotonic()

    def works():
        try:
            return daemon.compile("one").outcome == OK
        except grpc.RpcError:
            return False
    wait_for(works, "the workers to come back")
    assert time.monotonic() - begin < 10


def test_fault_15_a_worker_of_other_bytes_shares_no_key_with_one_of_the_same_version(
        start, tmp_path):
    first = start()
    key = first.compile("one").request_key
    assert first.terminate() == 0
    other = tmp_path / "other_worker"
    shutil.copy(FAKE, other)
    with open(other, "ab") as f:
        f.write(b"\0")
    second = start(worker=str(other))
    reply = second.compile("one")
    assert (reply.cache, reply.outcome) == (MISS, OK)
    assert reply.request_key != key


def test_fault_22_nothing_that_a_worker_started_outlives_it(daemon, tmp_path):
    pids = tmp_path / "pids"
    assert daemon.compile(f"bad @fork={pids} @crash ").outcome == FAILED
    children = [int(p) for p in lines(pids)]
    if children:  # a sandboxed worker cannot start any
        wait_for(lambda: not any(alive(p) for p in children), "the orphans to end")


def test_fault_22_killing_the_client_ends_its_run_and_frees_the_device(daemon):
    client = run_copy(daemon, "x @run-hang ")
    wait_for(lambda: daemon.worker_stats("device").busy == 1, "the run to begin")
    before = set(daemon.descendants())
    client.kill()
    client.wait()
    wait_for(lambda: daemon.worker_stats("device").busy == 0, "the device to be free")
    wait_for(lambda: len(daemon.descendants()) == len(before), "the worker to be replaced")


def test_fault_26_a_job_that_never_ends_shows_and_stops_nothing_else(start):
    daemon = start("--compile-workers", "2")
    hanging = daemon.compiler.Compile.future(request("one @hang "), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the compile to begin")

    def under_way():
        return (daemon.metric("jobs_started_total", role="compile")
                - daemon.metric("jobs_finished_total", role="compile"))
    assert under_way() == 1
    for i in range(5):
        assert daemon.compile(f"other {i}").outcome == OK
    wait_for(lambda: under_way() == 1, "the others, and only they, to have ended")
    stats = daemon.worker_stats("compile")
    assert stats.jobs_started - stats.jobs_finished == 1
    hanging.cancel()


def test_fault_27_a_full_queue_is_alive_but_not_ready(start):
    daemon = start("--compile-workers", "1", "--compile-queue", "2")
    assert daemon.http("/readyz")[0] == 200
    calls = [daemon.compiler.Compile.future(request("0 @slow=1500"), timeout=TIME_LIMIT)]
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the first to run")
    calls += [daemon.compiler.Compile.future(request(f"{i} @slow=1500"), timeout=TIME_LIMIT)
              for i in (1, 2)]
    wait_for(lambda: daemon.worker_stats("compile").queue_depth == 2, "the queue to fill")
    assert daemon.http("/livez")[0] == 200
    assert daemon.http("/readyz")[0] == 503
    wait_for(lambda: health(daemon, "readiness") == b"\x08\x02", "health to say so", limit=1)
    assert health(daemon, "liveness") == b"\x08\x01"
    assert health(daemon, "") == b"\x08\x01"
    assert [c.result().outcome for c in calls] == [OK] * 3
    assert daemon.http("/readyz")[0] == 200
    wait_for(lambda: health(daemon, "readiness") == b"\x08\x01", "health to say so", limit=5)


@pytest.mark.parametrize("calls", [
    1500, pytest.param(10_000, marks=pytest.mark.full)])
def test_fault_28_a_flood_of_calls_does_not_fill_the_memory(daemon, calls):
    message = request("one " + "x" * 32_000).SerializeToString()
    daemon.compile("one " + "x" * 32_000)
    before = rss_bytes(daemon.process.pid)
    method = daemon.channel().unary_unary("/pyasc.v1.CompilerService/Compile")
    flying = [method.future(message, timeout=TIME_LIMIT) for _ in range(calls)]
    results = [call.exception() for call in flying]
    grown = rss_bytes(daemon.process.pid) - before
    refused = [e for e in results if e]
    assert all(e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED for e in refused)
    assert grown < 150 << 20, f"{grown >> 20} MiB more than before"


def test_fault_31_the_number_of_series_does_not_depend_on_the_keys(daemon):
    batch = compile_pb2.CompileBatchRequest()
    batch.requests.extend(request(f"warm {i}") for i in range(3))
    assert len(list(daemon.compiler.CompileBatch(batch, timeout=TIME_LIMIT))) == 3
    # A call is counted when it has ended, which its caller may see first.
    wait_for(lambda: daemon.metric("rpc_duration_seconds_count", method="CompileBatch",
                                   code="OK") == 1, "the call to be counted")
    before = series_count(daemon)
    del batch.requests[:]
    batch.requests.extend(request(f"kernel {i}", kernel=f"k{i}", request_id=f"id{i}")
                          for i in range(500))
    assert len(list(daemon.compiler.CompileBatch(batch, timeout=TIME_LIMIT))) == 500
    assert series_count(daemon) == before


@pytest.mark.full
def test_fault_31_ten_thousand_keys(daemon):
    before = None
    for part in range(10):
        batch = compile_pb2.CompileBatchRequest()
        batch.requests.extend(request(f"kernel {part}/{i}", kernel=f"k{part}x{i}")
                              for i in range(1000))
        assert len(list(daemon.compiler.CompileBatch(batch, timeout=300))) == 1000
        count = series_count(daemon)
        assert before in (None, count)
        before = count
