"""Faults of services like this one, by their numbers: devices and runs."""

import os
import time

import grpc
import pytest
from conftest import (BUILD, TIME_LIMIT, cmdline, cpu_seconds, details, in_threads, request,
                      rss_bytes, wait_for)
from pyasc.v1 import compile_pb2, execution_pb2, service_pb2
from test_run import CHUNK, Result, floats, messages, profile, run, start_message, wait_operation

OK, FAILED = compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_FAILED
FAKE = os.path.join(BUILD, "tests", "fake_worker")
DATA = floats(1, 2, 3, 4)


def test_fault_10_without_a_device_a_run_fails_at_once(start):
    daemon = start("--devices", "host:1")
    begin = time.monotonic()
    with pytest.raises(grpc.RpcError) as error:
        run(daemon, start_message("copy", data=DATA))
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    assert details(error.value)["ErrorInfo"].reason == "NO_SUCH_DEVICE"
    assert "no device of driver 'sim'" in error.value.details()
    assert time.monotonic() - begin < 2


def test_fault_11_an_upload_that_is_cut_off_leaves_nothing_behind(start):
    daemon = start("--max-run-bytes", str(4 * CHUNK), "--max-total-run-bytes", str(4 * CHUNK))
    data = b"\1" * CHUNK

    def half():
        yield execution_pb2.RunRequest(start=start_message("copy", shape=(len(data) // 4,)))
        yield execution_pb2.RunRequest(
            chunk=execution_pb2.TensorChunk(name="A", data=data[:CHUNK // 2]))
        time.sleep(0.2)  # the stream stays open until the channel is cut
        yield execution_pb2.RunRequest()
    for _ in range(8):
        channel = daemon.channel()
        from pyasc.v1 import execution_pb2_grpc
        execution_pb2_grpc.ExecutionServiceStub(channel).Run(half())
        time.sleep(0.02)
        channel.close()

    def whole():
        try:
            return run(daemon, start_message("copy", shape=(len(data) // 4,)), data)
        except grpc.RpcError as refused:
            assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            return None
    result = wait_for(whole, "the memory of the cut uploads to come back")
    assert result.done.outcome == OK and result.outputs["return"] == data
    assert daemon.metric("run_duration_seconds_count", driver="sim") == 1


def test_fault_19_capacity_comes_back_however_a_call_ends(start):
    daemon = start("--max-calls", "4")
    for text in ("x @run-crash ", "x @run-error ", "x @reject ", "x @crash "):
        try:
            run(daemon, start_message(text, data=DATA))
        except grpc.RpcError:
            pass
    for _ in range(6):
        call = daemon.execution.Run(messages(start_message("x @run-hang ", data=DATA)))
        next(call)
        call.cancel()
    wait_for(lambda: daemon.worker_stats("device").busy == 0, "the devices to be free")
    wait_for(lambda: daemon.metric("rpc_in_flight") == 0, "the calls to be over")
    replies = in_threads(4, lambda i: daemon.compile(f"kernel {i} @slow=300 "))
    assert [r.outcome for r in replies] == [OK] * 4


def test_fault_20_a_killed_runner_gives_its_device_back(daemon):
    call = daemon.execution.Run(messages(start_message("x @run-slow=30000 ", data=DATA)),
                                timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("device").busy == 1, "the run to begin")
    assert any(event.progress.stage == "running" for event in call)
    begin = time.monotonic()
    for pid in daemon.descendants():
        if b"--driver=sim" in cmdline(pid):
            os.kill(pid, 9)
    result = Result(call)
    assert result.done.outcome == FAILED and "killed (signal 9)" in result.done.failure
    assert run(daemon, start_message("good", data=DATA)).done.outcome == OK
    assert time.monotonic() - begin < 10


def test_fault_21_an_idle_daemon_does_next_to_nothing(start):
    daemon = start()
    daemon.compile("one")
    assert run(daemon, start_message("copy", data=DATA)).done.outcome == OK
    time.sleep(0.5)
    tree = [daemon.process.pid] + daemon.descendants()
    before = sum(map(cpu_seconds, tree))
    time.sleep(4)
    used = sum(map(cpu_seconds, tree)) - before
    assert used <= 0.04, f"{used:.3f} s of CPU in 4 idle seconds"


def test_fault_23_a_hung_device_has_its_own_error_and_waiting_is_not_running(start):
    daemon = start("--run-timeout-ms", "1500")
    hung, *others = in_threads(4, lambda i: run(
        daemon, start_message("x @run-hang " if i == 0 else f"{i} @run-slow=700 ", data=DATA)))
    assert hung.done.outcome == FAILED
    assert hung.done.failure == "the device worker exceeded its time limit of 1.5 s"
    # They waited for longer than the limit, and ran for less.
    assert [o.done.outcome for o in others] == [OK] * 3


def states(daemon, driver="sim"):
    return [d.state for d in daemon.devices.ListDevices(service_pb2.ListDevicesRequest()).devices
            if d.driver == driver]


def test_fault_24_a_devices_health_goes_both_ways(start, tmp_path):
    broken = tmp_path / "broken"
    script = tmp_path / "worker"
    script.write_text(f'#!/bin/sh\ncase "$*" in *--driver=sim*) [ -e {broken} ] && exit 9;; esac\n'
                      f'exec {FAKE} "$@"\n')
    script.chmod(0o755)
    daemon = start(worker=str(script))
    wait_for(lambda: states(daemon) == [service_pb2.DEVICE_STATE_HEALTHY], "the device to answer")
    broken.touch()
    assert run(daemon, start_message("x @run-crash ", data=DATA)).done.outcome == FAILED
    wait_for(lambda: states(daemon) == [service_pb2.DEVICE_STATE_QUARANTINED],
             "the device to be quarantined")
    assert daemon.metric("device_state", device="sim:0", state="quarantined") == 1
    assert daemon.metric("device_state", device="host:0", state="healthy") == 1
    begin = time.monotonic()
    with pytest.raises(grpc.RpcError) as error:
        run(daemon, start_message("good", data=DATA))
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert details(error.value)["ErrorInfo"].reason == "DEVICE_QUARANTINED"
    assert time.monotonic() - begin < 2
    broken.unlink()
    wait_for(lambda: states(daemon) == [service_pb2.DEVICE_STATE_HEALTHY],
             "the device to come back by itself")
    assert run(daemon, start_message("good", data=DATA)).done.outcome == OK


def test_fault_24_a_kernel_that_kills_its_worker_does_not_condemn_the_device(daemon):
    for _ in range(5):
        assert run(daemon, start_message("x @run-crash ", data=DATA)).done.outcome == FAILED
    wait_for(lambda: states(daemon) == [service_pb2.DEVICE_STATE_HEALTHY], "the device to be well")


@pytest.mark.parametrize("hot, truth", [(False, 100.0), (True, 40.0)])
def test_fault_25_a_measurement_is_within_three_percent_of_a_known_cost(daemon, hot, truth):
    # The device's first launches take longer, and one in five is disturbed.
    start = start_message("x @run-known ", data=DATA, outputs=())
    start.compile.target = compile_pb2.TARGET_HOST
    operation = wait_operation(daemon, daemon.execution.Profile(
        execution_pb2.ProfileRequest(run=start, max_samples=20, hot=hot)).name)
    reply = execution_pb2.ProfileReply()
    assert operation.response.Unpack(reply)
    assert abs(reply.result.report.kernel_us / truth - 1) < 0.03


def test_fault_28_a_reader_that_stalls_costs_its_outputs_only(daemon):
    data = bytes(32 * CHUNK)
    assert run(daemon, start_message("copy", shape=(4,), data=DATA)).done.outcome == OK
    before = rss_bytes(daemon.process.pid)
    calls = [daemon.execution.Run(messages(start_message("copy", shape=(len(data) // 4,)), data))
             for _ in range(3)]
    # The runs are over, nobody reads.
    wait_for(lambda: daemon.metric("run_duration_seconds_count", driver="sim") == 4, "the runs")
    time.sleep(0.3)
    grown = rss_bytes(daemon.process.pid) - before
    for call in calls:
        call.cancel()
    # Outputs lie in shared memory of their own, not in the daemon's.
    assert grown < 48 << 20, f"{grown >> 20} MiB more than before"
    wait_for(lambda: daemon.metric("rpc_in_flight") == 0, "the calls to be over")
