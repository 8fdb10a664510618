"""Batches as operations: handed in at once, fetched later, by whoever knows the name."""

import json
import os
import subprocess

import grpc
import pytest
from conftest import BUILD, TIME_LIMIT, details, request, wait_for
from google.longrunning import operations_pb2
from google.rpc import error_details_pb2
from pyasc.v1 import artifact_pb2, compile_pb2, compile_pb2_grpc, execution_pb2, service_pb2
from test_operations import kernel_file, watch
from test_run import profile, wait_operation
from test_security import tenants  # noqa: F401  (a fixture)

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)
HIT, MISS = compile_pb2.CACHE_RESULT_HIT, compile_pb2.CACHE_RESULT_MISS
PYASC = os.path.join(BUILD, "bin", "pyasc")


def begin(daemon, texts, **options):
    return daemon.compiler.StartBatch(
        compile_pb2.CompileBatchRequest(requests=[
            t if isinstance(t, compile_pb2.CompileRequest) else request(t) for t in texts]),
        timeout=TIME_LIMIT, **options)


def get(daemon, operation, **options):
    return daemon.operations.GetOperation(
        operations_pb2.GetOperationRequest(name=operation.name), **options)


def metadata_of(operation):
    metadata = execution_pb2.RunMetadata()
    assert operation.metadata.Unpack(metadata)
    return metadata


def result_of(daemon, operation):
    done = wait_operation(daemon, operation.name)
    result = compile_pb2.CompileBatchResult()
    assert done.response.Unpack(result), done
    return result.items


def reason_of(operation):
    info = error_details_pb2.ErrorInfo()
    assert operation.error.details[0].Unpack(info)
    return info.reason


def test_a_batch_goes_on_without_its_caller_and_says_of_every_item_how_it_ended(daemon):
    texts = [f"kernel {i % 50}" for i in range(200)] + ["bad @crash ", "wrong @reject "]
    batch = compile_pb2.CompileBatchRequest(requests=[request(t) for t in texts])
    batch.requests.append(compile_pb2.CompileRequest(target=compile_pb2.TARGET_SIM))
    channel = daemon.channel()
    operation = compile_pb2_grpc.CompilerServiceStub(channel).StartBatch(batch, timeout=TIME_LIMIT)
    channel.close()
    assert not operation.done and metadata_of(operation).kind == "batch"
    items = result_of(daemon, operation)
    assert [i.outcome for i in items] == [OK] * 200 + [FAILED, REJECTED, 0]
    assert [i.HasField("error") for i in items] == [False] * 202 + [True]
    assert items[202].error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert items[200].diagnostics and items[201].diagnostics
    assert daemon.stats().compiles == 52
    # Each item is in the cache, under the key that the result says.
    for item, text in zip(items[:3], texts):
        record = artifact_pb2.ArtifactRecord.FromString(daemon.artifacts.GetArtifact(
            service_pb2.GetArtifactRequest(key=item.request_key)).record)
        reply = daemon.compile(text)
        assert record.artifact == reply.artifact and reply.cache == HIT
    # What is all at hand is answered as well, and so is nothing at all.
    again = result_of(daemon, begin(daemon, texts[:200]))
    assert {(i.outcome, i.cache) for i in again} == {(OK, HIT)}
    assert len(result_of(daemon, begin(daemon, []))) == 0


def test_items_that_find_the_queue_full_wait_for_room(start):
    daemon = start("--compile-queue", "2", "--compile-workers", "1")
    operation = begin(daemon, [f"kernel {i} @slow=5" for i in range(100)])
    items = result_of(daemon, operation)
    assert {(i.outcome, i.cache) for i in items} == {(OK, MISS)}
    assert daemon.metric("admission_rejected_total", reason="compile_queue_full") > 0


def test_a_batch_tells_how_far_it_is(daemon, tmp_path):
    gate = tmp_path / "gate"
    operation = begin(daemon, ["one", f"two @until={gate} "])
    wait_for(lambda: metadata_of(get(daemon, operation)).progress.fraction == 0.5, "the first item")
    call = watch(daemon, operation.name)
    assert next(call).progress.stage == "compiling"
    gate.touch()
    *_, last = call
    assert last.done == wait_operation(daemon, operation.name)


def test_a_cancelled_batch_starts_no_more_compiles(daemon):
    operation = begin(daemon, [f"kernel {i} @slow=50" for i in range(500)])
    wait_for(lambda: daemon.stats().compiles > 0, "the first compile")
    daemon.operations.CancelOperation(operations_pb2.CancelOperationRequest(name=operation.name))
    assert get(daemon, operation).error.code == grpc.StatusCode.CANCELLED.value[0]
    wait_for(lambda: daemon.stats().flights == 0, "the flights to end")
    assert daemon.stats().compiles < 100


def test_a_batch_that_is_forgotten_while_it_runs_is_seen_by_nobody_and_goes_on(daemon, tmp_path):
    gate = tmp_path / "gate"
    operation = begin(daemon, [f"one @until={gate} ", f"two @until={gate} "])
    daemon.operations.DeleteOperation(operations_pb2.DeleteOperationRequest(name=operation.name))
    with pytest.raises(grpc.RpcError) as error:
        get(daemon, operation)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    assert not daemon.operations.ListOperations(operations_pb2.ListOperationsRequest()).operations
    gate.touch()
    assert daemon.compile(f"two @until={gate} ").outcome == OK
    wait_for(lambda: daemon.stats().compiles == 2, "both compiles")


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_restart_ends_a_batch_with_service_restarted_and_keeps_what_it_had_compiled(
        start, tmp_path, end):
    daemon = start("--grace-seconds", "0")
    finished = begin(daemon, ["done"])
    items = result_of(daemon, finished)
    texts = ["one", "two", f"three @until={tmp_path}/never "]
    running = begin(daemon, texts)
    wait_for(lambda: metadata_of(get(daemon, running)).progress.fraction > 0.6, "two items")
    getattr(daemon, end)()
    again = start()
    aborted = get(again, running)
    assert aborted.done and aborted.error.code == grpc.StatusCode.ABORTED.value[0]
    assert reason_of(aborted) == "SERVICE_RESTARTED"
    assert "begin the operation anew" in aborted.error.message
    assert result_of(again, finished) == items
    assert {i.cache for i in result_of(again, begin(again, texts[:2]))} == {HIT}


def test_a_batch_that_waits_for_room_does_not_hold_up_the_end_of_the_service(start, tmp_path):
    daemon = start("--grace-seconds", "0", "--compile-queue", "1", "--compile-workers", "1")
    begin(daemon, [f"kernel {i} @until={tmp_path}/never " for i in range(40)])
    wait_for(lambda: daemon.metric("admission_rejected_total", reason="compile_queue_full"),
             "an item to be refused")
    assert daemon.terminate() == 0


def test_a_batch_is_its_tenants_alone_and_within_their_limits(start, tenants):  # noqa: F811
    tenants.entries[1]["max_bytes"] = 1000
    tenants.write()
    daemon = start("--config", str(tenants.file))
    alice, bob = tenants.metadata("alice"), tenants.metadata("bob")
    operation = begin(daemon, ["secret"], metadata=alice)
    wait_for(lambda: get(daemon, operation, metadata=alice).done, "the batch")
    with pytest.raises(grpc.RpcError) as error:
        get(daemon, operation, metadata=bob)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    assert daemon.compiler.Compile(request("secret"), metadata=bob).cache == MISS
    assert daemon.compiler.Compile(request("secret"), metadata=alice).cache == HIT
    with pytest.raises(grpc.RpcError) as error:
        begin(daemon, ["x" * 2000], metadata=bob)
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details(error.value)["ErrorInfo"].reason == "TENANT_BYTES"
    # What a batch held is free again when it is over.
    for _ in range(3):
        operation = begin(daemon, ["x" * 700], metadata=bob)
        wait_for(lambda o=operation: get(daemon, o, metadata=bob).done, "the batch")


def test_too_many_items_are_refused(daemon):
    with pytest.raises(grpc.RpcError) as error:
        begin(daemon, [compile_pb2.CompileRequest()] * 10_001)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_what_is_said_of_wrong_kernels_is_bounded(daemon):
    items = result_of(daemon, begin(daemon, [f"@reject {i} @pad=3000 " for i in range(1000)]))
    assert {i.outcome for i in items} == {REJECTED}
    assert 1 << 19 < sum(i.ByteSize() for i in items) < 3 << 19
    assert all(len(i.diagnostics) + i.diagnostics_left_out == 1 for i in items)
    assert sum(len(i.diagnostics) for i in items) > 300
    (item,) = result_of(daemon, begin(daemon, ["@reject @pad=5000 "]))
    assert not item.diagnostics and item.diagnostics_left_out == 1


def test_a_page_of_a_list_is_never_too_large_for_a_client(daemon):
    names = {begin(daemon, ["same"] * 5000).name for _ in range(8)}
    for name in names:
        wait_operation(daemon, name)
    seen, token, pages = set(), "", 0
    while True:
        page = daemon.operations.ListOperations(
            operations_pb2.ListOperationsRequest(page_token=token))
        assert 0 < page.ByteSize() < 4 << 20
        seen |= {o.name for o in page.operations}
        pages += 1
        token = page.next_page_token
        if not token:
            break
    assert seen == names and pages > 1


def test_the_name_of_an_operation_leads_a_balancer_to_its_daemon(daemon):
    route = [("x-pyasc-route", "00c0ffee")]
    assert begin(daemon, ["one"], metadata=route).name.startswith("operations/00c0ffee.")
    for odd in ("../x", "a b", "a" * 65):
        assert "." not in begin(daemon, ["one"], metadata=[("x-pyasc-route", odd)]).name
    assert "." not in profile(daemon, "copy").name


def pyasc(daemon, *words):
    return subprocess.run([PYASC, *words, "--server", daemon.address], capture_output=True,
                          text=True, timeout=TIME_LIMIT, check=False)


def test_the_command_line_hands_a_batch_in_and_fetches_it_later(daemon, tmp_path):
    good = kernel_file(tmp_path / "good.py", "fine")
    wrong = kernel_file(tmp_path / "wrong one.py", "@reject")
    kernels = tmp_path / "kernels.txt"
    kernels.write_text(f"# a comment\n{good}\n\n{good} --arg 'A=f32[4]'  --target host\n'{wrong}'\n")
    handed_in = pyasc(daemon, "batch", kernels, "--detach")
    assert handed_in.returncode == 0, handed_in.stderr
    name = handed_in.stdout.strip()
    assert name.startswith("operations/")
    done = pyasc(daemon, "operations", "wait", name)
    assert done.returncode == 1, done.stderr
    assert "2 of 3 kernels compiled" in done.stdout and "rejected" in done.stdout
    assert pyasc(daemon, "operations", "show", name).stdout == done.stdout
    shown = json.loads(pyasc(daemon, "operations", "wait", name, "--json").stdout)
    assert len(shown["response"]["items"]) == 3
    assert pyasc(daemon, "batch", kernels).stdout.count("compiled") == 3
    listed = pyasc(daemon, "operations")
    assert [line.split()[1:3] for line in listed.stdout.splitlines()] == [["batch", "done"]] * 2
    assert pyasc(daemon, "operations", "delete", name).returncode == 0
    gone = pyasc(daemon, "operations", "show", name)
    assert gone.returncode == 3 and "there is no operation" in gone.stderr
    for words, says in ((("batch", str(tmp_path / "none")), "none"),
                        (("operations", "stop"), "not 'stop'"),
                        (("operations", "wait"), "name")):
        wrong_use = pyasc(daemon, *words)
        assert wrong_use.returncode == 2 and says in wrong_use.stderr, words
    kernels.write_text(f"{good} --no-such-flag\n")
    assert "kernels.txt:1: " in pyasc(daemon, "batch", kernels).stderr


def test_the_command_line_says_when_a_batch_still_runs_and_cancels_it(daemon, tmp_path):
    slow = kernel_file(tmp_path / "slow.py", f"@until={tmp_path}/never")
    kernels = tmp_path / "kernels.txt"
    kernels.write_text(f"{slow}\n")
    name = pyasc(daemon, "batch", kernels, "--detach").stdout.strip()
    waited = pyasc(daemon, "operations", "wait", name, "--timeout", "0.2")
    assert waited.returncode == 75 and "still runs" in waited.stderr
    assert pyasc(daemon, "operations", "cancel", name).returncode == 0
    ended = pyasc(daemon, "operations", "wait", name)
    assert ended.returncode == 130 and "cancelled" in ended.stderr
