"""Long work: operations that outlive the daemon, and their events, which go on after a cut."""

import os
import re
import subprocess

import grpc
import numpy as np
import pytest
from conftest import BUILD, TIME_LIMIT, details, wait_for
from cutting_proxy import CuttingProxy
from google.longrunning import operations_pb2
from google.rpc import error_details_pb2
from pyasc.v1 import compile_pb2, execution_pb2, execution_pb2_grpc
from test_run import profile, wait_operation
from test_security import tenants  # noqa: F401  (a fixture)

OK = compile_pb2.OUTCOME_OK
PYASC = os.path.join(BUILD, "bin", "pyasc")


def watch(daemon, name, after=0, **options):
    return daemon.execution.WatchOperation(
        execution_pb2.WatchOperationRequest(name=name, after=after), timeout=TIME_LIMIT, **options)


def lines(events):
    return [e.print.text for e in events if e.WhichOneof("kind") == "print"]


def test_after_a_kill_what_ran_is_aborted_with_service_restarted_and_what_was_done_is_there(start):
    daemon = start()
    finished = wait_operation(daemon, profile(daemon, "copy").name)
    running = profile(daemon, "x @run-hang ")
    wait_for(lambda: daemon.worker_stats("device").busy == 1, "the run to begin")
    daemon.kill()
    again = start()
    aborted = again.operations.GetOperation(
        operations_pb2.GetOperationRequest(name=running.name))
    assert aborted.done and aborted.error.code == grpc.StatusCode.ABORTED.value[0]
    info = error_details_pb2.ErrorInfo()
    assert aborted.error.details[0].Unpack(info)
    assert info.reason == "SERVICE_RESTARTED"
    assert "begin the operation anew" in aborted.error.message
    assert again.operations.GetOperation(
        operations_pb2.GetOperationRequest(name=finished.name)) == finished
    # Whoever followed it, and comes back, is told so at once.
    (event,) = watch(again, running.name, after=3)
    assert event.done == aborted and event.sequence > 3
    # A second restart changes nothing more.
    again.terminate()
    third = start()
    for known in (aborted, finished):
        assert third.operations.GetOperation(
            operations_pb2.GetOperationRequest(name=known.name)) == known


def test_events_go_on_after_the_last_one_that_was_seen(start, tmp_path):
    daemon = start()
    gate = tmp_path / "gate"
    operation = profile(daemon, f"x @run-print=50 @run-until={gate} ")
    seen = []
    call = watch(daemon, operation.name)
    for event in call:
        seen.append(event)
        if lines(seen)[-1:] == ["line 20"]:
            break
    call.cancel()
    gate.touch()
    seen += watch(daemon, operation.name, after=seen[-1].sequence)
    assert lines(seen) == [f"line {i}" for i in range(50)]
    sequence = [e.sequence for e in seen]
    assert sequence == sorted(set(sequence))
    assert "compiling" in [e.progress.stage for e in seen]
    assert seen[-1].done == wait_operation(daemon, operation.name)
    # From the start again, for whoever comes late; and only the end, for whoever has seen all.
    assert lines(watch(daemon, operation.name)) == lines(seen)
    assert [e.WhichOneof("kind") for e in watch(daemon, operation.name, after=1 << 40)] == ["done"]


def test_events_that_are_no_longer_kept_are_said_to_be_missing(daemon):
    operation = profile(daemon, "x @run-print=20000 ")
    wait_operation(daemon, operation.name)
    events = list(watch(daemon, operation.name))
    assert events[0].missed > 10_000
    kept = lines(events)
    assert 100 < len(kept) <= 4096 and kept[-1] == "line 19999"
    assert [int(text.split()[1]) for text in kept] == list(range(20000 - len(kept), 20000))
    assert events[-1].WhichOneof("kind") == "done"


def test_a_watch_ends_with_its_operation_and_shows_no_other_tenants(start, tenants):  # noqa: F811
    daemon = start("--config", str(tenants.file))
    operation = profile(daemon, "x @run-hang ")
    for name, options in ((operation.name, {"metadata": tenants.metadata("bob")}),
                          ("operations/none", {})):
        with pytest.raises(grpc.RpcError) as error:
            list(watch(daemon, name, **options))
        assert error.value.code() == grpc.StatusCode.NOT_FOUND
        assert details(error.value)["ErrorInfo"].reason == "NO_SUCH_OPERATION"
    call = watch(daemon, operation.name)
    assert next(call).progress.stage
    daemon.operations.CancelOperation(operations_pb2.CancelOperationRequest(name=operation.name))
    assert list(call)[-1].done.error.code == 1
    # Deleted while somebody watches.
    operation = profile(daemon, "x @run-hang ")
    call = watch(daemon, operation.name)
    next(call)
    daemon.operations.DeleteOperation(operations_pb2.DeleteOperationRequest(name=operation.name))
    with pytest.raises(grpc.RpcError) as error:
        list(call)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND


def kernel_file(path, words):
    path.write_text(f"# {words} \nimport pyasc as asc\n\n@asc.kernel\n"
                    "def k(A: asc.float32[4], B: asc.float32[4]):\n    B[0] = A[0]\n")
    return path


def test_the_command_line_goes_on_by_itself_when_its_connection_is_cut(start, tmp_path):
    daemon = start()
    gate = tmp_path / "gate"
    proxy = CuttingProxy(tmp_path / "proxy", daemon.address, cuts=5, after=3000)
    kernel = kernel_file(tmp_path / "k.py", f"@run-print=1000 @run-until={gate}")
    with open(tmp_path / "out", "w") as out:
        cli = subprocess.Popen(
            [PYASC, "profile", kernel, "--arg", "A=ones:f32[4]", "--arg", "B=zeros:f32[4]",
             "--server", proxy.address], stdout=out, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: proxy.cut == 5, "the connection to be cut five times")
        gate.touch()
        assert cli.wait(TIME_LIMIT) == 0, cli.stderr.read()
    proxy.close()
    text = (tmp_path / "out").read_text()
    assert re.findall(r"^line \d+$", text, re.M) == [f"line {i}" for i in range(1000)]
    assert re.search(r"kernel +12\.5 us", text)
    assert daemon.metric("run_duration_seconds_count", driver="sim") == 1


def test_the_command_line_says_that_the_service_was_restarted(start, tmp_path):
    daemon = start()
    kernel = kernel_file(tmp_path / "k.py", "@run-hang")
    cli = subprocess.Popen(
        [PYASC, "profile", kernel, "--arg", "A=ones:f32[4]", "--arg", "B=zeros:f32[4]",
         "--server", daemon.address], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: daemon.worker_stats("device").busy == 1, "the run to begin")
    daemon.kill()
    start()
    assert cli.wait(TIME_LIMIT) == 3
    assert "has been started again: begin the operation anew" in cli.stderr.read()


def test_the_python_package_goes_on_by_itself_when_its_connection_is_cut(start, tmp_path):
    daemon = start()
    gate = tmp_path / "gate"
    proxy = CuttingProxy(tmp_path / "proxy", daemon.address, cuts=5, after=3000)
    program = tmp_path / "p.py"
    program.write_text(f"""
import numpy as np
import pyasc as asc

@asc.kernel
def k(A: asc.float32[40000], B: asc.float32[40000]):
    # @run-print=1000 @run-until={gate}
    B[0] = A[0]

report = k.profile(samples=2)(np.ones(40000, np.float32), np.zeros(40000, np.float32))
print(len(k.prints), report.kernel_us)
""")
    with open(tmp_path / "out", "w") as out:
        python = subprocess.Popen(
            ["/usr/bin/python3", program], stdout=out, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYASC_SERVER": proxy.address,
                 "PYTHONPATH": os.path.join(BUILD, "python")})
        wait_for(lambda: proxy.cut == 5, "the connection to be cut five times")
        assert daemon.stats().buffers == 2  # arrays that are too large for a request
        gate.touch()
        assert python.wait(TIME_LIMIT) == 0, python.stderr.read()
    proxy.close()
    text = (tmp_path / "out").read_text().splitlines()
    assert text == [f"line {i}" for i in range(1000)] + ["1000 12.5"]
    assert daemon.stats().buffers == 0


def test_large_arrays_are_measured_as_small_ones_are(start, tmp_path):
    daemon = start()
    np.save(tmp_path / "a.npy", np.ones(40_000, np.float32))
    kernel = kernel_file(tmp_path / "k.py", "@run-known")
    done = subprocess.run(
        [PYASC, "profile", kernel, "--arg", f"A=@{tmp_path}/a.npy", "--arg", "B=zeros:f32[40000]",
         "--target", "host", "--samples", "7", "--server", daemon.address],
        capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    assert "7 runs: " in done.stdout
    wait_for(lambda: daemon.metric("rpc_duration_seconds_count", method="WriteBuffer", code="OK") == 1,
             "the call to be counted")
    assert daemon.stats().buffers == 0
