"""Runs that share a device, and runs that are measured, which are alone on it."""

import os
import signal

import pytest
from conftest import in_threads, wait_for
from google.longrunning import operations_pb2
from pyasc.v1 import compile_pb2, service_pb2
from test_leases import Background, device_workers, lease
from test_run import OK, floats, profile, run, start_message, wait_operation

FAILED = compile_pb2.OUTCOME_FAILED
DATA = floats(1, 2, 3, 4)


def device(daemon):
    return daemon.devices.ListDevices(service_pb2.ListDevicesRequest()).devices[0]


def test_runs_that_are_not_measured_share_a_device(start, tmp_path):
    daemon = start("--devices", "sim:1")
    gate = tmp_path / "gate"
    runs = [Background(daemon, f"{name} @run-until={gate} ") for name in ("a", "b")]
    wait_for(lambda: lease(daemon).holders == 2, "both to hold the device")
    # No more than are allowed: the third waits.
    runs.append(Background(daemon, f"c @run-until={gate} "))
    wait_for(lambda: device(daemon).queue_length == 1, "the third to wait")
    assert lease(daemon).holders == 2 and len(device_workers(daemon)) == 2
    gate.touch()
    assert [r.join().done.outcome for r in runs] == [OK] * 3
    assert not lease(daemon).held and lease(daemon).lost == 0


def test_one_run_at_a_time_where_that_is_configured(start, tmp_path):
    daemon = start("--devices", "sim:1", "--device-runs", "1")
    gate = tmp_path / "gate"
    runs = [Background(daemon, f"{name} @run-until={gate} ") for name in ("a", "b")]
    wait_for(lambda: device(daemon).queue_length == 1 and lease(daemon).holders == 1,
             "one to run and the other to wait")
    gate.touch()
    assert [r.join().done.outcome for r in runs] == [OK] * 2


def test_a_measured_run_waits_for_those_before_it_and_those_behind_wait_for_it(start, tmp_path):
    daemon = start("--devices", "sim:1", "--device-runs", "3")
    first, alone, last = tmp_path / "first", tmp_path / "alone", tmp_path / "last"
    before = [Background(daemon, f"{name} @run-until={first} ") for name in ("a", "b")]
    wait_for(lambda: lease(daemon).holders == 2, "both to hold the device")
    operation = profile(daemon, f"x @run-until={alone} ")
    wait_for(lambda: device(daemon).queue_length == 1, "the measured run to wait")
    behind = [Background(daemon, f"{name} @run-until={last} ") for name in ("c", "d")]
    # There is a worker for one of them, but it is not their turn.
    wait_for(lambda: device(daemon).queue_length == 3, "the others to wait behind it")
    held = lease(daemon)
    assert held.holders == 2
    first.touch()
    assert [r.join().done.outcome for r in before] == [OK] * 2
    wait_for(lambda: lease(daemon).token > held.token, "the measured run to begin")
    assert lease(daemon).holders == 1 and device(daemon).queue_length == 2
    assert not any(r.running.is_set() for r in behind)
    alone.touch()
    assert wait_operation(daemon, operation.name).done
    wait_for(lambda: lease(daemon).holders == 2, "the others to share the device")
    last.touch()
    assert [r.join().done.outcome for r in behind] == [OK] * 2


@pytest.mark.parametrize("driver", ["sim", "host"])
def test_no_measured_run_ever_meets_another_and_neither_kind_starves(start, tmp_path, driver):
    target = {"sim": compile_pb2.TARGET_SIM, "host": compile_pb2.TARGET_HOST}[driver]
    daemon = start("--devices", f"{driver}:1", "--device-runs", "3")
    lock = tmp_path / "lock"
    rounds = 15

    def work(i):
        outcomes = []
        for n in range(rounds):
            kind = "alone" if i < 2 else "shared"
            message = start_message(f"{i} {n} @run-{kind}={lock} @run-slow=3 ", data=DATA,
                                    outputs=(), profile=kind == "alone")
            message.compile.target = target
            outcomes.append(run(daemon, message).done.outcome)
        return outcomes

    assert in_threads(6, work) == [[OK] * rounds] * 6
    assert daemon.metric("worker_restarts_total", role="device") == 0


def test_a_measured_run_that_is_given_up_while_it_waits_lets_the_others_go_on(start, tmp_path):
    daemon = start("--devices", "sim:1")
    gate = tmp_path / "gate"
    before = Background(daemon, f"a @run-until={gate} ")
    wait_for(lambda: lease(daemon).held, "the run to begin")
    operation = profile(daemon, "x @run-hang ")
    wait_for(lambda: device(daemon).queue_length == 1, "the measured run to wait")
    daemon.operations.CancelOperation(
        operations_pb2.CancelOperationRequest(name=operation.name))
    gate.touch()
    assert before.join().done.outcome == OK
    assert run(daemon, start_message("b", data=DATA)).done.outcome == OK


def test_the_service_stops_while_a_measured_run_waits(start, tmp_path):
    daemon = start("--devices", "sim:1", "--grace-seconds", "0")
    Background(daemon, f"a @run-until={tmp_path}/never ")
    wait_for(lambda: lease(daemon).held, "the run to begin")
    profile(daemon, "x")
    wait_for(lambda: device(daemon).queue_length == 1, "the measured run to wait")
    assert daemon.terminate() == 0


def test_a_worker_that_loses_its_lease_costs_those_beside_it_nothing(start, tmp_path):
    daemon = start("--devices", "sim:1", "--device-lease-ms", "3000")
    gate = tmp_path / "gate"
    runs = [Background(daemon, f"{name} @run-until={gate} ") for name in ("a", "b")]
    wait_for(lambda: lease(daemon).holders == 2, "both to hold the device")
    sleeper = device_workers(daemon)[0]
    os.kill(sleeper, signal.SIGSTOP)
    try:
        wait_for(lambda: lease(daemon).lost == 1, "the lease to be lost")
        assert lease(daemon).holders == 1
        # Its place is free again, beside the one that goes on.
        assert run(daemon, start_message("c", data=DATA)).done.outcome == OK
        gate.touch()
        done = [r.join().done for r in runs]
    finally:
        os.kill(sleeper, signal.SIGCONT)
    assert sorted(d.outcome for d in done) == sorted([OK, FAILED])
    assert any("lost its lease" in d.failure for d in done)
    assert daemon.metric("device_state", device="sim:0", state="healthy") == 1


def test_a_crash_beside_it_does_not_disturb_a_run(start, tmp_path):
    daemon = start("--devices", "sim:1")
    gate = tmp_path / "gate"
    quiet = Background(daemon, f"a @run-until={gate} ")
    wait_for(lambda: lease(daemon).held, "the run to begin")
    assert run(daemon, start_message("b @run-crash ", data=DATA)).done.outcome == FAILED
    gate.touch()
    assert quiet.join().done.outcome == OK
