"""Runs and profiles: tensors there and back, failures of devices, operations."""

import struct
import time

import grpc
import pytest
from conftest import TIME_LIMIT, details, request, wait_for
from google.longrunning import operations_pb2
from google.protobuf import duration_pb2
from pyasc.v1 import compile_pb2, execution_pb2, service_pb2, tensor_pb2

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)
F32 = tensor_pb2.DTYPE_FLOAT32
CHUNK = 1 << 20


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def start_message(text, shape=(4,), data=None, outputs=("return", "B"), **options):
    """A run of the fake kernel: A in, B and `return` out."""
    start = execution_pb2.RunStart(
        compile=request(text, tensors=()),
        options=execution_pb2.RunOptions(outputs=outputs, **options))
    type_ = tensor_pb2.TensorType(dtype=F32, shape=shape)
    a = start.arguments.add(name="A")
    a.tensor.type.CopyFrom(type_)
    if data is None:
        a.tensor.chunked = True
    else:
        a.tensor.inline_data = data
    b = start.arguments.add(name="B")
    b.generated.kind = execution_pb2.GeneratedTensor.KIND_ZEROS
    b.generated.type.CopyFrom(type_)
    return start


def messages(start, data=b"", name="A"):
    yield execution_pb2.RunRequest(start=start)
    for at in range(0, len(data), CHUNK):
        yield execution_pb2.RunRequest(
            chunk=execution_pb2.TensorChunk(name=name, data=data[at:at + CHUNK]))


class Result:
    """What a Run call sent."""

    def __init__(self, events):
        self.stages, self.outputs, self.types, self.done = [], {}, {}, None
        self.prints = []
        for event in events:
            assert self.done is None, "an event after `done`"
            kind = event.WhichOneof("kind")
            if kind == "progress":
                self.stages.append(event.progress.stage)
            elif kind == "print":
                self.prints.append(event.print)
            elif kind == "prints":
                self.prints += event.prints.lines
            elif kind == "output":
                self.types[event.output.name] = event.output.tensor.type
                self.outputs[event.output.name] = event.output.tensor.inline_data
            elif kind == "chunk":
                self.outputs[event.chunk.name] += event.chunk.data
            elif kind == "done":
                self.done = event.done


def run(daemon, start, data=b"", timeout=TIME_LIMIT):
    return Result(daemon.execution.Run(messages(start, data), timeout=timeout))


def test_small_tensors_travel_inline(daemon):
    data = floats(1, 2, 3, 4)
    result = run(daemon, start_message("copy", data=data))
    assert result.done.outcome == OK
    assert result.outputs == {"return": data, "B": data}
    assert list(result.types["return"].shape) == [4]
    assert result.done.report.cache == "miss"
    assert result.done.report.kernel_us == 12.5


@pytest.mark.parametrize("count", [0, 1, 4096, 4097])
def test_tensors_in_the_frame_and_beside_it_are_the_same_to_callers(daemon, count):
    data = floats(*range(count))  # 16 KiB still travel in the worker's frame
    result = run(daemon, start_message("copy", shape=(count,), data=data))
    assert result.done.outcome == OK
    assert result.outputs == {"return": data, "B": data}


def test_stages_that_take_a_while_are_told(start):
    daemon = start("--devices", "sim:1", "--device-runs", "1")
    data = floats(1, 2, 3, 4)
    slow = run(daemon, start_message("copy @slow=300 @run-slow=300 ", data=data))
    assert slow.stages[0] == "compiling" and "running" in slow.stages
    holder = daemon.execution.Run(messages(start_message("copy @run-slow=1000 ", data=data)))
    assert any(event.progress.stage == "running" for event in holder)
    behind = run(daemon, start_message("copy @run-slow=300 ", data=data))
    assert "waiting for device" in behind.stages and "running" in behind.stages
    assert Result(holder).done.outcome == OK


def test_large_tensors_travel_in_chunks(daemon):
    data = bytes(range(256)) * (5 * 4096) + floats(7)
    result = run(daemon, start_message("copy", shape=(len(data) // 4,)), data)
    assert result.done.outcome == OK
    assert result.outputs["return"] == data
    assert result.outputs["B"] == data


def test_tensors_without_elements(daemon):
    result = run(daemon, start_message("copy", shape=(0, 3), data=b""))
    assert result.done.outcome == OK
    assert result.outputs == {"return": b"", "B": b""}


def test_generated_tensors_depend_on_the_seed_alone(daemon):
    def generate(kind, seed):
        start = start_message("copy", shape=(1000,), data=b"")
        start.arguments[0].generated.kind = kind
        start.arguments[0].generated.type.dtype = F32
        start.arguments[0].generated.type.shape.append(1000)
        start.arguments[0].generated.seed = seed
        result = run(daemon, start)
        assert result.done.outcome == OK, result.done
        return struct.unpack("<1000f", result.outputs["return"])

    kinds = execution_pb2.GeneratedTensor
    uniform = generate(kinds.KIND_UNIFORM, 1)
    assert uniform == generate(kinds.KIND_UNIFORM, 1)
    assert uniform != generate(kinds.KIND_UNIFORM, 2)
    assert 0 <= min(uniform) and max(uniform) < 1 and 0.45 < sum(uniform) / 1000 < 0.55
    normal = generate(kinds.KIND_NORMAL, 1)
    assert abs(sum(normal) / 1000) < 0.15
    assert 0.85 < sum(x * x for x in normal) / 1000 < 1.15
    assert set(generate(kinds.KIND_ONES, 0)) == {1.0}
    assert set(generate(kinds.KIND_ZEROS, 0)) == {0.0}


@pytest.mark.parametrize("word, expected", [
    ("@run-crash", "crashed (signal 11)"),
    ("@run-hang", "exceeded its time limit of 1 s"),
    ("@run-eat", "exceeded its memory limit of 2 GiB"),
])
def test_a_run_that_kills_its_worker_fails_alone(start, word, expected):
    # Only what hangs shall meet the time limit, however busy the machine is.
    limit = "1000" if word == "@run-hang" else "60000"
    daemon = start("--run-timeout-ms", limit, "--run-memory-bytes", str(2 << 30))
    result = run(daemon, start_message(f"bad {word} ", data=floats(1, 2, 3, 4)))
    assert result.done.outcome == FAILED
    assert expected in result.done.failure
    assert not result.outputs
    wait_for(lambda: daemon.worker_stats("device").alive == 2, "the worker to be replaced")
    assert run(daemon, start_message("good", data=floats(1, 2, 3, 4))).done.outcome == OK


def test_a_callers_own_time_limit_counts_from_the_device(start):
    daemon = start()
    begin = time.monotonic()
    result = run(daemon, start_message("slow @run-hang ", data=floats(1, 2, 3, 4),
                                       run_timeout_ms=300))
    assert "exceeded its time limit of 0.3 s" in result.done.failure
    assert time.monotonic() - begin < 10


def test_an_error_in_the_kernel_is_a_diagnostic_at_its_line(daemon):
    result = run(daemon, start_message("bad @run-error ", data=floats(1, 2, 3, 4)))
    assert result.done.outcome == REJECTED
    (diagnostic,) = result.done.diagnostics
    assert diagnostic.message == "index 7 is out of bounds for dimension 0 of 'A' with size 5"
    assert diagnostic.range.line == 3
    assert not result.outputs


def test_a_wrong_kernel_gives_its_diagnostics(daemon):
    result = run(daemon, start_message("wrong @reject ", data=floats(1, 2, 3, 4)))
    assert result.done.outcome == REJECTED
    assert result.done.diagnostics[0].code == "rejected"


def test_leaving_ends_the_run_and_frees_the_device(daemon):
    call = daemon.execution.Run(messages(start_message("x @run-hang ", data=floats(1, 2, 3, 4))))
    wait_for(lambda: daemon.worker_stats("device").busy == 1, "the run to begin")
    call.cancel()
    wait_for(lambda: daemon.worker_stats("device").busy == 0, "the device to be free")
    assert run(daemon, start_message("good", data=floats(1, 2, 3, 4))).done.outcome == OK


@pytest.mark.parametrize("change, code", [
    (lambda s: s.arguments[0].tensor.type.shape.append(2), "INVALID_ARGUMENT"),
    (lambda s: s.options.outputs.append("nothing"), "INVALID_ARGUMENT"),
    (lambda s: s.options.outputs.append("B"), "INVALID_ARGUMENT"),
    (lambda s: s.arguments.add(name="A"), "INVALID_ARGUMENT"),
    (lambda s: s.arguments[1].generated.type.shape.append(1 << 40), "RESOURCE_EXHAUSTED"),
    (lambda s: setattr(s.options, "device", 9), "NOT_FOUND"),
    (lambda s: setattr(s.compile, "target", compile_pb2.TARGET_ASCEND), None),
    (lambda s: setattr(s.arguments[0].tensor, "buffer_handle", "b"), "NOT_FOUND"),
])
def test_runs_that_make_no_sense_are_refused(daemon, change, code):
    start = start_message("copy", data=floats(1, 2, 3, 4))
    change(start)
    if code is None:  # the fake compiler makes no such artifact
        assert run(daemon, start).done.outcome == FAILED
        return
    with pytest.raises(grpc.RpcError) as error:
        run(daemon, start)
    assert error.value.code() == grpc.StatusCode[code]
    assert details(error.value)["ErrorInfo"].domain == "pyasc"


@pytest.mark.parametrize("data, name", [
    (b"\0" * 12, "A"), (b"\0" * 20, "A"), (b"\0" * 16, "B"), (b"\0" * 16, "C")])
def test_chunks_must_fill_exactly_what_was_announced(daemon, data, name):
    with pytest.raises(grpc.RpcError) as error:
        Result(daemon.execution.Run(messages(start_message("copy"), data, name)))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_a_stream_that_ends_before_its_start_is_invalid(daemon):
    with pytest.raises(grpc.RpcError) as error:
        list(daemon.execution.Run(iter(())))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_the_memory_of_tensors_is_bounded_and_given_back(start):
    daemon = start("--max-run-bytes", "1000000", "--max-total-run-bytes", "1000000")
    with pytest.raises(grpc.RpcError) as error:
        run(daemon, start_message("copy", shape=(250_001,)), b"")
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details(error.value)["ErrorInfo"].reason == "RUN_TOO_LARGE"
    data = b"\1" * 200_000

    def one_more():
        # The memory of a run comes back right after its last event, not before.
        try:
            return run(daemon, start_message("copy", shape=(50_000,)), data)
        except grpc.RpcError as refused:
            assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            return None

    for _ in range(20):  # each takes four fifths of all there is
        assert wait_for(one_more, "the memory to come back").done.outcome == OK


def profile(daemon, text):
    start = start_message(text, data=floats(1, 2, 3, 4), outputs=())
    return daemon.execution.Profile(execution_pb2.ProfileRequest(run=start, max_samples=5))


def wait_operation(daemon, name, seconds=30):
    return daemon.operations.WaitOperation(operations_pb2.WaitOperationRequest(
        name=name, timeout=duration_pb2.Duration(seconds=seconds)), timeout=TIME_LIMIT)


def test_profile_is_an_operation_with_a_report(daemon):
    operation = profile(daemon, "copy")
    operation = wait_operation(daemon, operation.name)
    assert operation.done and operation.WhichOneof("result") == "response"
    reply = execution_pb2.ProfileReply()
    assert operation.response.Unpack(reply)
    assert reply.result.outcome == OK
    assert reply.result.report.kernel_us == 12.5
    assert len(reply.result.report.samples.kernel_us) >= 1
    listed = daemon.operations.ListOperations(operations_pb2.ListOperationsRequest()).operations
    assert [o.name for o in listed] == [operation.name]
    daemon.operations.DeleteOperation(operations_pb2.DeleteOperationRequest(name=operation.name))
    with pytest.raises(grpc.RpcError) as error:
        daemon.operations.GetOperation(operations_pb2.GetOperationRequest(name=operation.name))
    assert error.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("target, contended", [
    (compile_pb2.TARGET_HOST, True), (compile_pb2.TARGET_SIM, False)])
def test_a_measurement_beside_a_compile_says_so(daemon, target, contended):
    message = start_message("x @run-slow=1 ", data=floats(1, 2, 3, 4), outputs=())
    message.compile.target = target
    daemon.compiler.Compile(request(
        "x @run-slow=1 ", target=target), timeout=TIME_LIMIT)
    busy = daemon.compiler.Compile.future(request("other @slow=3000 "), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the other compile to begin")
    operation = daemon.execution.Profile(execution_pb2.ProfileRequest(run=message, max_samples=2))
    operation = wait_operation(daemon, operation.name)
    reply = execution_pb2.ProfileReply()
    assert operation.response.Unpack(reply)
    assert reply.result.report.trust.contended == contended
    busy.cancel()


def test_a_cancelled_operation_ends_with_code_1_and_frees_the_device(daemon):
    operation = profile(daemon, "x @run-hang ")
    wait_for(lambda: daemon.worker_stats("device").busy == 1, "the run to begin")
    begin = time.monotonic()
    unfinished = wait_operation(daemon, operation.name, seconds=0)
    assert not unfinished.done and time.monotonic() - begin < 5
    metadata = execution_pb2.RunMetadata()
    assert unfinished.metadata.Unpack(metadata)
    assert metadata.progress.stage
    daemon.operations.CancelOperation(
        operations_pb2.CancelOperationRequest(name=operation.name))
    operation = wait_operation(daemon, operation.name)
    assert operation.done and operation.error.code == 1
    wait_for(lambda: daemon.worker_stats("device").busy == 0, "the device to be free")


def test_waiting_with_a_deadline_leaves_the_operation_alone(daemon):
    operation = profile(daemon, "x @run-slow=1500 ")
    with pytest.raises(grpc.RpcError) as error:
        daemon.operations.WaitOperation(
            operations_pb2.WaitOperationRequest(name=operation.name), timeout=0.2)
    assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert wait_operation(daemon, operation.name).WhichOneof("result") == "response"


def test_devices_are_listed(daemon):
    def healthy():
        devices = daemon.devices.ListDevices(service_pb2.ListDevicesRequest()).devices
        return devices if all(d.state == service_pb2.DEVICE_STATE_HEALTHY for d in devices) else None

    devices = wait_for(healthy, "the devices to answer")
    assert [(d.driver, d.ordinal) for d in devices] == [("sim", 0), ("host", 0)]


def test_tune_says_that_it_is_not_there(daemon):
    with pytest.raises(grpc.RpcError) as error:
        daemon.execution.Tune(execution_pb2.TuneRequest())
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert "tune" in error.value.details()


def test_prints_come_in_order_before_the_end(daemon):
    result = run(daemon, start_message("x @run-print=20000 ", data=floats(1, 2, 3, 4)))
    assert result.done.outcome == OK
    assert [p.text for p in result.prints] == [f"line {i}" for i in range(20000)]
    assert [p.core for p in result.prints[:3]] == [0, 1, 0]


def test_prints_of_a_run_that_crashes_are_not_lost(daemon):
    result = run(daemon, start_message("x @run-print=3 @run-crash ", data=floats(1, 2, 3, 4)))
    assert result.done.outcome == FAILED
    assert len(result.prints) == 3


def test_prints_come_while_the_kernel_runs(daemon):
    call = daemon.execution.Run(
        messages(start_message("x @run-print=2 @run-hang ", data=floats(1, 2, 3, 4))))
    lines = (line.text for e in call if e.WhichOneof("kind") in ("print", "prints")
             for line in (e.prints.lines if e.WhichOneof("kind") == "prints" else [e.print]))
    assert [next(lines), next(lines)] == ["line 0", "line 1"]
    call.cancel()


def test_what_a_kernel_needs_for_itself_counts(start):
    daemon = start("--max-run-bytes", str(1 << 20))
    assert run(daemon, start_message("x @temporary=500000 ", data=floats(1, 2, 3, 4))).done.outcome == OK
    with pytest.raises(grpc.RpcError) as error:
        run(daemon, start_message("x @temporary=8000000000 ", data=floats(1, 2, 3, 4)))
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details(error.value)["ErrorInfo"].reason == "RUN_TOO_LARGE"
    assert "7.451 GiB of it for the kernel's temporaries" in error.value.details()
    assert "1 MiB are allowed" in error.value.details()


def test_random_bools_are_the_callers_error(daemon):
    start = start_message("x", data=floats(1, 2, 3, 4))
    start.arguments[1].generated.kind = execution_pb2.GeneratedTensor.KIND_NORMAL
    start.arguments[1].generated.type.dtype = tensor_pb2.DTYPE_BOOL
    with pytest.raises(grpc.RpcError) as error:
        run(daemon, start)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "'B': random numbers are made for floating-point tensors only, not bool" in \
        error.value.details()


def test_a_run_that_the_stopping_daemon_ends_is_told_so(start):
    daemon = start("--grace-seconds", "1")
    call = daemon.execution.Run(messages(start_message("x @run-hang ", data=floats(1, 2, 3, 4))),
                                timeout=TIME_LIMIT)
    assert any(event.progress.stage == "running" for event in call)
    assert daemon.terminate() == 0
    with pytest.raises(grpc.RpcError) as error:
        for _ in call:
            pass
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "the run was ended" in error.value.details() and "stopping" in error.value.details()
