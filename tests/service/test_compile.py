"""Compiles: keys, cache, single flight, failures of workers, refusals."""

import os
import time

import grpc
import pytest
from conftest import TIME_LIMIT, cmdline, details, in_threads, request, wait_for
from pyasc.v1 import artifact_pb2, compile_pb2, execution_pb2, service_pb2, tensor_pb2

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)
MISS, HIT, ALIAS, JOINED = (compile_pb2.CACHE_RESULT_MISS, compile_pb2.CACHE_RESULT_HIT,
                            compile_pb2.CACHE_RESULT_HIT_ALIAS, compile_pb2.CACHE_RESULT_JOINED)


def compiles(path):
    """Compiles counted by the workers themselves."""
    try:
        with open(path) as f:
            return len(f.readlines())
    except FileNotFoundError:
        return 0


def test_the_second_compile_is_a_hit_with_the_same_artifact(daemon):
    first = daemon.compile("one")
    second = daemon.compile("one")
    assert (first.outcome, first.cache) == (OK, MISS)
    assert (second.outcome, second.cache) == (OK, HIT)
    assert first.artifact == second.artifact
    assert first.request_key == second.request_key
    assert len(first.request_key) == 64 and len(first.semantic_key) == 64
    artifact = artifact_pb2.Artifact.FromString(first.artifact)
    assert artifact.build_id == daemon.compiler.GetCapabilities(
        compile_pb2.GetCapabilitiesRequest()).build_id


def test_the_request_id_and_the_order_of_arguments_are_no_part_of_the_key(daemon):
    first = daemon.compile("one", request_id="x")
    again = request("one", request_id="y", tensors=("B", "A"), soc="ascend910b3")
    assert daemon.compiler.Compile(again).request_key == first.request_key


@pytest.mark.parametrize("other", [
    dict(shape=(5,)), dict(target=compile_pb2.TARGET_HOST), dict(soc="ascend910b1"),
    dict(kernel="k"), dict(options=compile_pb2.CompileOptions(debug=True))])
def test_what_changes_the_code_changes_the_key(daemon, other):
    assert daemon.compile("one").request_key != daemon.compile("one", **other).request_key
    assert daemon.compile("one").semantic_key != daemon.compile("one", **other).semantic_key \
        or "kernel" in other


def test_another_text_of_the_same_meaning_is_an_alias(daemon, tmp_path):
    count = tmp_path / "count"
    first = daemon.compile(f"body @count={count} ")
    alias = daemon.compile(f"# a comment\n\nbody @count={count} ")
    assert alias.cache == ALIAS
    assert alias.artifact == first.artifact
    assert alias.request_key != first.request_key
    assert alias.semantic_key == first.semantic_key
    assert compiles(count) == 1


def test_a_compile_survives_sigkill(start, tmp_path):
    count = tmp_path / "count"
    daemon = start()
    first = daemon.compile(f"one @count={count} ")
    daemon.kill()
    again = start().compile(f"one @count={count} ")
    assert again.cache == HIT
    assert again.artifact == first.artifact
    assert compiles(count) == 1


def test_a_clean_restart_keeps_the_cache(start):
    daemon = start()
    daemon.compile("one")
    assert daemon.terminate() == 0
    assert start().compile("one").cache == HIT


def test_a_thousand_callers_of_one_new_kernel_make_one_compile(daemon, tmp_path):
    count = tmp_path / "count"
    message = request(f"one @slow=300 @count={count} ")
    channels = [daemon.channel() for _ in range(8)]
    calls = []
    for i in range(1000):
        compile_ = channels[i % 8].unary_unary(
            "/pyasc.v1.CompilerService/Compile",
            request_serializer=compile_pb2.CompileRequest.SerializeToString,
            response_deserializer=compile_pb2.CompileReply.FromString)
        calls.append(compile_.future(message, timeout=TIME_LIMIT))
    replies = [call.result() for call in calls]
    assert compiles(count) == 1
    assert daemon.stats().compiles == 1
    assert len({r.artifact for r in replies}) == 1
    assert all(r.outcome == OK for r in replies)
    assert sum(r.cache == MISS for r in replies) == 1
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")


def test_many_texts_of_one_meaning_at_once_make_one_compile(daemon, tmp_path):
    count = tmp_path / "count"
    replies = in_threads(
        20, lambda i: daemon.compile(f"# {i}\none @slow=300 @count={count} "))
    assert all(r.outcome == OK for r in replies)
    assert compiles(count) == 1
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")


def test_a_started_compile_is_cached_though_nobody_waits(daemon, tmp_path):
    count = tmp_path / "count"
    message = request(f"one @slow=300 @count={count} ")
    call = daemon.compiler.Compile.future(message, timeout=TIME_LIMIT)
    wait_for(lambda: compiles(count) == 1, "the compile to begin")
    call.cancel()
    wait_for(lambda: daemon.stats().flights == 0, "the flight to end")
    assert daemon.compiler.Compile(message).cache == HIT


@pytest.mark.parametrize("word, expected", [
    ("@crash", "crashed (signal 11)"),
    ("@crash-key", "crashed (signal 11)"),
    ("@hang", "exceeded its time limit of 1 s"),
    ("@eat", "exceeded its memory limit of 2 GiB"),
    ("@truncate", "made no usable artifact"),
])
def test_a_bad_compile_fails_alone_and_for_all_its_callers_alike(start, word, expected):
    # Only what hangs shall meet the time limit, however busy the machine is.
    limit = "1000" if word == "@hang" else "60000"
    daemon = start("--compile-timeout-ms", limit, "--compile-memory-bytes", str(2 << 30))
    good = daemon.compile("good")
    replies = in_threads(4, lambda i: daemon.compile(f"bad {word} "))
    for reply in replies:
        assert reply.outcome == FAILED
        assert expected in reply.diagnostics[0].message
        assert not reply.artifact
    assert len({r.diagnostics[0].message for r in replies}) == 1
    assert daemon.compile("good").artifact == good.artifact
    assert daemon.compile("after").outcome == OK or word == "@hang"
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")
    wait_for(lambda: daemon.worker_stats("compile").alive == 2, "the worker to be replaced")


def test_a_failed_compile_is_not_cached(start, tmp_path):
    daemon = start()
    count = tmp_path / "count"
    for _ in range(2):
        assert daemon.compile(f"bad @crash @count={count} ").outcome == FAILED
    assert compiles(count) == 2


def test_a_worker_that_dies_idle_costs_no_caller_anything(daemon):
    daemon.compile("one")
    workers = [p for p in daemon.descendants() if b"--role=compile" in cmdline(p)]
    assert len(workers) == 2
    for pid in workers:
        os.kill(pid, 9)
    assert daemon.compile("two").outcome == OK


def test_a_wrong_kernel_is_an_ok_reply_with_diagnostics(daemon):
    reply = daemon.compile("wrong @reject ")
    assert reply.outcome == REJECTED
    assert reply.diagnostics[0].code == "rejected"
    assert not reply.semantic_key


def test_a_deadline_ends_the_wait_but_not_the_compile(daemon, tmp_path):
    count = tmp_path / "count"
    daemon.compile("warm")  # so that the compile begins in time
    with pytest.raises(grpc.RpcError) as error:
        daemon.compile(f"one @slow=2500 @count={count} ", timeout=1)
    assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert daemon.stats().flights >= 1
    wait_for(lambda: daemon.stats().flights == 0, "the flight to end")
    assert daemon.compile(f"one @slow=2500 @count={count} ").cache == HIT


def test_work_that_nobody_waits_for_any_more_is_not_begun(start, tmp_path):
    daemon = start("--compile-workers", "1")
    count = tmp_path / "count"
    blocker = daemon.compiler.Compile.future(request("first @slow=1000"), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the first to run")
    with pytest.raises(grpc.RpcError):
        daemon.compile(f"second @count={count} ", timeout=0.2)
    assert blocker.result().outcome == OK
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")
    assert compiles(count) == 0


def test_a_full_queue_refuses_with_a_hint(start):
    daemon = start("--compile-workers", "1", "--compile-queue", "1")
    calls = [daemon.compiler.Compile.future(request("a @slow=1500"), timeout=TIME_LIMIT)]
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the first to run")
    calls.append(daemon.compiler.Compile.future(request("b"), timeout=TIME_LIMIT))
    wait_for(lambda: daemon.worker_stats("compile").queue_depth == 1, "the second to wait")
    with pytest.raises(grpc.RpcError) as error:
        daemon.compile("c")
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    found = details(error.value)
    assert found["ErrorInfo"].reason == "QUEUE_FULL"
    assert found["ErrorInfo"].domain == "pyasc"
    assert found["RetryInfo"].retry_delay.ToMilliseconds() > 0
    assert daemon.metric("admission_rejected_total", reason="compile_queue_full") == 1
    assert [c.result().outcome for c in calls] == [OK, OK]


def test_unknown_fields_at_any_depth_are_refused_naming_both_builds(daemon):
    build = daemon.compiler.GetCapabilities(compile_pb2.GetCapabilitiesRequest()).build_id
    # Field 99, varint 1: at the top, and inside options (field 7).
    for extra in (b"\x98\x06\x01", b"\x3a\x03\x98\x06\x01"):
        raw = request("one").SerializeToString() + extra
        call = daemon.channel().unary_unary("/pyasc.v1.CompilerService/Compile")
        with pytest.raises(grpc.RpcError) as error:
            call(raw, metadata=[("x-pyasc-build", "client-7")], timeout=TIME_LIMIT)
        assert error.value.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert build in error.value.details() and "client-7" in error.value.details()
        assert details(error.value)["ErrorInfo"].reason == "UNKNOWN_FIELD"


def test_unknown_enum_values_are_refused(daemon):
    for message in (request("one", target=77),
                    request("one", options=compile_pb2.CompileOptions(emits=[88]))):
        with pytest.raises(grpc.RpcError) as error:
            daemon.compiler.Compile(message)
        assert error.value.code() == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("message", [
    compile_pb2.CompileRequest(target=compile_pb2.TARGET_SIM),
    request("x" * (1 << 20) + "y"),
    request("one", target=compile_pb2.TARGET_UNSPECIFIED),
    request("one", constants=[compile_pb2.CapturedConstant(file=3, name="N")]),
], ids=["no file", "too much text", "no target", "constant of no file"])
def test_requests_that_make_no_sense_are_invalid(daemon, message):
    with pytest.raises(grpc.RpcError) as error:
        daemon.compiler.Compile(message)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert details(error.value)["ErrorInfo"].reason == "INVALID_REQUEST"


def twice(message):
    message.arguments.add(name="A").scalar = tensor_pb2.DTYPE_INT64


REFUSED = {
    "no file": lambda m: m.ClearField("files"),
    "precision": lambda m: setattr(m.options, "precision", "x"),
    "argument twice": twice,
    "argument of no kind": lambda m: m.arguments.add(name="C"),
    "scalar of no type": lambda m: m.arguments.add(name="C", scalar=0),
    "constant without a value": lambda m: m.arguments.add(name="C").constexpr_value.SetInParent(),
    "negative extent": lambda m: m.arguments[0].tensor.shape.append(-1),
    "constant twice": lambda m: m.constants.extend(
        [compile_pb2.CapturedConstant(file=0, name="N")] * 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_way_in_refuses_the_same_requests(daemon, name):
    message = request("one")
    REFUSED[name](message)
    check = compile_pb2.CheckRequest(files=message.files, constants=message.constants,
                                     arguments=message.arguments, target=message.target,
                                     options=message.options)
    start = execution_pb2.RunStart(compile=message)
    ways = {
        "Compile": lambda: daemon.compiler.Compile(message),
        "Check": lambda: daemon.compiler.Check(check),
        "Run": lambda: list(daemon.execution.Run(iter([execution_pb2.RunRequest(start=start)]))),
        "Profile": lambda: daemon.execution.Profile(execution_pb2.ProfileRequest(run=start)),
    }
    said = set()
    for way, call in ways.items():
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT, way
        said.add(error.value.details())
    batch = compile_pb2.CompileBatchRequest(requests=[message])
    said.add(list(daemon.compiler.CompileBatch(batch))[0].error.message)
    assert len(said) == 1 and daemon.stats().compiles == 0, said


def test_a_batch_answers_every_item(daemon):
    batch = compile_pb2.CompileBatchRequest()
    texts = [f"kernel {i % 50}" for i in range(200)] + ["bad @crash ", "wrong @reject "]
    batch.requests.extend(request(t) for t in texts)
    batch.requests.append(compile_pb2.CompileRequest(target=compile_pb2.TARGET_SIM))
    replies = {r.index: r for r in daemon.compiler.CompileBatch(batch, timeout=TIME_LIMIT)}
    assert sorted(replies) == list(range(203))
    assert all(replies[i].reply.outcome == OK for i in range(200))
    assert replies[200].reply.outcome == FAILED
    assert replies[201].reply.outcome == REJECTED
    assert replies[202].error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert daemon.stats().compiles == 52


def test_a_batch_can_be_cancelled(daemon):
    batch = compile_pb2.CompileBatchRequest()
    batch.requests.extend(request(f"kernel {i} @slow=50") for i in range(500))
    call = daemon.compiler.CompileBatch(batch, timeout=TIME_LIMIT)
    next(iter(call))
    call.cancel()
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")
    assert daemon.stats().compiles < 100


def test_artifacts_are_served_by_either_key(daemon):
    reply = daemon.compile("one")
    for key in (reply.request_key, reply.semantic_key):
        record = artifact_pb2.ArtifactRecord.FromString(daemon.artifacts.GetArtifact(
            service_pb2.GetArtifactRequest(key=key)).record)
        assert record.artifact == reply.artifact
    with pytest.raises(grpc.RpcError) as error:
        daemon.artifacts.GetArtifact(service_pb2.GetArtifactRequest(key="0" * 64))
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
