"""Leases: of devices, which a worker that falls silent loses, and of buffers."""

import os
import signal
import subprocess
import sys
import threading

import grpc
import pytest
from conftest import BUILD, TIME_LIMIT, alive, cmdline, details, wait_for
from pyasc.v1 import compile_pb2, execution_pb2, service_pb2, tensor_pb2
from test_run import F32, Result, floats, messages, profile, run, start_message, wait_operation
from test_security import tenants  # noqa: F401  (a fixture)

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)
FAKE = os.path.join(BUILD, "tests", "fake_worker")
DATA = floats(1, 2, 3, 4)


def lease(daemon):
    return daemon.devices.ListDevices(service_pb2.ListDevicesRequest()).devices[0].lease


def device_workers(daemon):
    return [p for p in daemon.descendants() if b"--role=device" in cmdline(p)]


class Background:
    """A run in a thread of its own."""

    def __init__(self, daemon, text):
        self.running = threading.Event()
        self.result = None
        self._call = daemon.execution.Run(messages(start_message(text, data=DATA)),
                                          timeout=TIME_LIMIT)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _events(self):
        for event in self._call:
            if event.progress.stage == "running":
                self.running.set()
            yield event

    def _read(self):
        try:
            self.result = Result(self._events())
        except grpc.RpcError as error:
            self.result = error

    def join(self):
        self._thread.join(TIME_LIMIT)
        return self.result


def test_a_worker_that_slept_through_its_lease_does_not_touch_the_device_again(start, tmp_path):
    daemon = start("--devices", "sim:1", "--device-runs", "1", "--device-lease-ms", "6000")
    gate, touched, control = tmp_path / "gate", tmp_path / "touched", tmp_path / "control"
    first = Background(daemon, f"x @run-until={gate} @run-touch={touched} ")
    assert first.running.wait(TIME_LIMIT)
    (old,) = device_workers(daemon)
    held = lease(daemon)
    assert held.held and held.token >= 1 and 0 < held.expires_ms <= 6000
    os.kill(old, signal.SIGSTOP)
    try:
        done = first.join().done
        assert done.outcome == FAILED
        assert "lost its lease on the device: it gave no sign of life for 6 s" in done.failure
        # Another one takes the device over while the old one still sleeps.
        assert run(daemon, start_message(f"y @run-touch={control} ", data=DATA)).done.outcome == OK
        assert control.exists()
        (new,) = device_workers(daemon) if not alive(old) else \
            [p for p in device_workers(daemon) if p != old]
        assert new != old and alive(old)
        now = lease(daemon)
        assert now.token > held.token and now.lost == 1 and not now.held
        gate.touch()  # what it was waiting for is there: it could go on
    finally:
        os.kill(old, signal.SIGCONT)
    wait_for(lambda: daemon.metric("device_lost_workers_total", driver="sim", end="left") == 1,
             "the old worker to see that it has lost the device")
    wait_for(lambda: not alive(old), "the old worker to end")
    assert not touched.exists()
    assert alive(new) and lease(daemon).late_results == 0
    assert daemon.metric("worker_restarts_total", role="device", reason="lease") == 1
    assert run(daemon, start_message("z", data=DATA)).outputs["return"] == DATA


def careless(start, tmp_path, how, *flags):
    """A daemon whose device worker does not care for leases."""
    (tmp_path / "how").write_text(how)
    script = tmp_path / "worker"
    here = os.path.dirname(os.path.abspath(__file__))
    script.write_text(f"""#!/bin/sh
case " $* " in *" --role=device "*) exec {sys.executable} {here}/careless_worker.py ;; esac
exec {FAKE} "$@"
""")
    script.chmod(0o755)
    return start("--devices", "sim:1", *flags, worker=str(script), environment={
        "CARELESS": str(tmp_path / "how"), "PYASC_BUILD": BUILD})


def test_a_result_under_a_lost_lease_is_dropped_and_counted(start, tmp_path):
    gate = tmp_path / "gate"
    daemon = careless(start, tmp_path, f"late {gate}", "--device-lease-ms", "5000")
    first = Background(daemon, "x")
    assert "lost its lease" in first.join().done.failure
    (tmp_path / "how").write_text("now")
    second = run(daemon, start_message("y", data=DATA, outputs=()))
    assert second.done.outcome == OK
    token = lease(daemon).token
    gate.touch()  # the first one answers at last
    wait_for(lambda: daemon.metric("device_lost_workers_total", end="answered") == 1,
             "the late result")
    after = lease(daemon)
    assert (after.late_results, after.lost, after.token) == (1, 1, token)
    stats = subprocess.run([os.path.join(BUILD, "bin", "pyasc"), "devices", "--server",
                            daemon.address], capture_output=True, text=True, check=True).stdout
    assert f"free (#{token}), 1 lost, 1 late" in stats


def test_a_result_under_another_lease_is_not_believed(start, tmp_path):
    daemon = careless(start, tmp_path, "other")
    assert "answered under another lease" in run(
        daemon, start_message("x", data=DATA, outputs=())).done.failure
    assert lease(daemon).late_results == 1 and lease(daemon).lost == 0


def test_outputs_of_another_size_are_not_believed(start, tmp_path):
    daemon = careless(start, tmp_path, "large")
    done = run(daemon, start_message("x", data=DATA)).done
    assert "other outputs than it was asked for" in done.failure
    (tmp_path / "how").write_text("now")  # with none
    done = run(daemon, start_message("x", data=DATA)).done
    assert "other outputs than it was asked for" in done.failure


def test_signs_of_life_renew_the_lease_of_a_long_run(start):
    daemon = start("--devices", "sim:1", "--device-lease-ms", "2000")
    assert run(daemon, start_message("x @run-slow=5000 ", data=DATA)).done.outcome == OK
    assert lease(daemon).lost == 0 and not lease(daemon).held


# ------------------------------------------------------------------------------------ buffers

def buffer(daemon, shape=(4,), ttl=0, metadata=None):
    return daemon.devices.CreateBuffer(service_pb2.CreateBufferRequest(
        type=tensor_pb2.TensorType(dtype=F32, shape=shape), ttl_seconds=ttl),
        metadata=metadata).buffer_handle


def write(daemon, handle, data, metadata=None):
    def pieces():
        yield service_pb2.WriteBufferRequest(buffer_handle=handle)
        for at in range(0, len(data), 1 << 20):
            yield service_pb2.WriteBufferRequest(data=data[at:at + (1 << 20)])
    daemon.devices.WriteBuffer(pieces(), timeout=TIME_LIMIT, metadata=metadata)


def with_buffers(text, outputs=("return",), **handles):
    """A run whose arguments are buffers."""
    message = start_message(text, data=DATA, outputs=outputs)
    for argument in message.arguments:
        if argument.name in handles:
            argument.ClearField("generated")
            argument.tensor.ClearField("type")
            argument.tensor.buffer_handle = handles[argument.name]
    return message


def refusal(call):
    with pytest.raises(grpc.RpcError) as error:
        call()
    return error.value, details(error.value)["ErrorInfo"].reason


def test_a_buffer_is_sent_once_and_used_by_many_runs(daemon):
    data = os.urandom(3 << 20)
    shape = (len(data) // 4,)
    handle = buffer(daemon, shape)
    write(daemon, handle, data)
    for _ in range(2):
        message = with_buffers("copy", A=handle)
        message.arguments[1].generated.type.shape[:] = shape
        assert run(daemon, message).outputs["return"] == data
    assert daemon.stats().buffers == 1 and daemon.stats().buffer_bytes == len(data)
    daemon.devices.ReleaseBuffer(service_pb2.ReleaseBufferRequest(buffer_handle=handle))
    assert daemon.stats().buffers == 0 and daemon.metric("buffer_bytes") == 0
    assert refusal(lambda: run(daemon, with_buffers("copy", A=handle)))[1] == "NO_SUCH_BUFFER"


def test_what_a_run_writes_is_what_the_next_one_reads(daemon):
    a, b = buffer(daemon), buffer(daemon)
    write(daemon, a, DATA)
    assert run(daemon, with_buffers("copy", A=b)).outputs["return"] == bytes(16)  # zero at first
    result = run(daemon, with_buffers("copy", outputs=(), A=a, B=b))
    assert result.done.outcome == OK and not result.outputs
    assert run(daemon, with_buffers("copy", A=b)).outputs["return"] == DATA
    # Measuring fills it, too.
    c = buffer(daemon)
    operation = daemon.execution.Profile(execution_pb2.ProfileRequest(
        run=with_buffers("copy", outputs=(), A=a, B=c), max_samples=2))
    assert wait_operation(daemon, operation.name).WhichOneof("result") == "response"
    assert run(daemon, with_buffers("copy", A=c)).outputs["return"] == DATA


@pytest.mark.parametrize("word, outcome", [("@run-error", REJECTED), ("@run-crash", FAILED)])
def test_a_run_that_fails_leaves_its_buffers_as_they_were(daemon, word, outcome):
    a, b = buffer(daemon), buffer(daemon)
    write(daemon, a, DATA)
    assert run(daemon, with_buffers(f"bad {word} ", outputs=(), A=a, B=b)).done.outcome == outcome
    assert run(daemon, with_buffers("copy", A=b)).outputs["return"] == bytes(16)
    assert run(daemon, with_buffers("copy", A=a)).outputs["return"] == DATA


def test_a_lease_that_is_not_used_ends_and_says_so(daemon, tmp_path):
    used, unused, running = buffer(daemon, ttl=3), buffer(daemon, ttl=3), buffer(daemon, ttl=1)
    gate = tmp_path / "gate"
    message = with_buffers(f"x @run-until={gate} ", A=running)
    message.options.device = 0
    call = daemon.execution.Run(messages(message), timeout=TIME_LIMIT)
    assert any(event.progress.stage == "running" for event in call)

    def expired():
        write(daemon, used, DATA)  # renews it
        try:
            daemon.devices.ReleaseBuffer(service_pb2.ReleaseBufferRequest(buffer_handle="none"))
        except grpc.RpcError:
            pass
        return daemon.stats().buffers == 2
    wait_for(expired, "the unused lease to end")
    error, reason = refusal(lambda: run(daemon, with_buffers("copy", A=unused)))
    assert error.code() == grpc.StatusCode.NOT_FOUND and reason == "BUFFER_EXPIRED"
    assert "was not used for its time: lease another and fill it again" in error.details()
    # One that a run uses does not end, however long the run takes.
    gate.touch()
    assert Result(call).done.outcome == OK
    assert run(daemon, with_buffers("copy", A=used)).done.outcome == OK
    wait_for(lambda: daemon.stats().buffers <= 1, "the lease of the run to end")
    assert daemon.stats().buffer_bytes <= 16


def test_buffers_have_quotas_and_owners(start, tenants):  # noqa: F811
    tenants.entries[0]["max_buffer_bytes"] = 100
    tenants.write()
    daemon = start("--config", str(tenants.file), "--max-buffer-bytes", "200")
    alice, bob = tenants.metadata("alice"), tenants.metadata("bob")
    handle = buffer(daemon, (20,), metadata=alice)
    error, reason = refusal(lambda: buffer(daemon, (20,), metadata=alice))
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and reason == "TENANT_BUFFER_BYTES"
    assert "holds 80 B of buffers and may hold 100 B: 80 B more do not fit" in error.details()
    # The service's own limit, and what has room within it.
    buffer(daemon, (20,), metadata=bob)
    error, reason = refusal(lambda: buffer(daemon, (20,), metadata=bob))
    assert reason == "BUFFER_MEMORY_FULL" and "RetryInfo" in details(error)
    assert refusal(lambda: buffer(daemon, (60,), metadata=bob))[1] == "BUFFER_TOO_LARGE"
    # Another tenant's is not there.
    for call in (lambda: write(daemon, handle, bytes(80), metadata=bob),
                 lambda: daemon.devices.ReleaseBuffer(service_pb2.ReleaseBufferRequest(
                     buffer_handle=handle), metadata=bob),
                 lambda: Result(daemon.execution.Run(messages(with_buffers("copy", A=handle)),
                                                     metadata=bob))):
        assert refusal(call)[1] == "NO_SUCH_BUFFER"
    daemon.devices.ReleaseBuffer(service_pb2.ReleaseBufferRequest(buffer_handle=handle),
                                 metadata=alice)
    assert buffer(daemon, (20,), metadata=bob)


@pytest.mark.parametrize("data, says", [
    (b"\0" * 12, "12 bytes came; the buffer has 16"), (b"\0" * 20, "more than the 16 bytes")])
def test_a_buffer_is_filled_whole_or_not_at_all(daemon, data, says):
    handle = buffer(daemon)
    write(daemon, handle, DATA)
    error, reason = refusal(lambda: write(daemon, handle, data))
    assert reason == "INVALID_REQUEST" and says in error.details()
    assert run(daemon, with_buffers("copy", A=handle)).outputs["return"] == DATA


def test_a_buffer_of_another_type_is_refused(daemon):
    message = with_buffers("copy", A=buffer(daemon, (5,)))
    message.arguments[0].tensor.type.CopyFrom(tensor_pb2.TensorType(dtype=F32, shape=(4,)))
    error, reason = refusal(lambda: run(daemon, message))
    assert reason == "INVALID_REQUEST" and "its buffer holds float32[5]" in error.details()
    assert refusal(lambda: daemon.devices.CreateBuffer(service_pb2.CreateBufferRequest()))[1] == \
        "INVALID_REQUEST"


def test_a_restart_ends_the_leases_of_buffers(start):
    daemon = start()
    handle = buffer(daemon)
    daemon.kill()
    error, reason = refusal(lambda: run(start(), with_buffers("copy", A=handle)))
    assert reason == "NO_SUCH_BUFFER" and "started again" in error.details()
