"""The daemon as a process: health, metrics, signals, workers, configuration, local mode."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import grpc
import pytest
import yaml
from conftest import (BUILD, Daemon, TIME_LIMIT, alive, cmdline, field, free_port, health, in_threads, request,
                      wait_for)
from pyasc.v1 import compile_pb2, compile_pb2_grpc, execution_pb2_grpc, service_pb2, service_pb2_grpc

OK = compile_pb2.OUTCOME_OK
PYASCD = os.path.join(BUILD, "bin", "pyascd")
FAKE = os.path.join(BUILD, "tests", "fake_worker")


@pytest.mark.parametrize("service", [
    "", "liveness", "readiness", "pyasc.v1.CompilerService", "pyasc.v1.ExecutionService",
    "google.longrunning.Operations"])
def test_health_of_every_service(daemon, service):
    assert health(daemon, service) == b"\x08\x01"  # SERVING


def test_health_of_an_unknown_service_is_not_found(daemon):
    with pytest.raises(grpc.RpcError) as error:
        health(daemon, "no.such.Service")
    assert error.value.code() == grpc.StatusCode.NOT_FOUND


def test_reflection_lists_the_services(daemon):
    call = daemon.channel().stream_stream(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    reply = next(call(iter([field(7, b"*")]), timeout=10))
    for name in ("pyasc.v1.CompilerService", "pyasc.v1.ExecutionService", "pyasc.v1.DeviceService",
                 "pyasc.v1.AdminService", "pyasc.v1.ArtifactService",
                 "google.longrunning.Operations", "grpc.health.v1.Health"):
        assert name.encode() in reply


def test_probes_and_metrics_over_http(daemon):
    daemon.compile("one")
    daemon.compile("one")
    daemon.compile("bad @crash ")
    assert daemon.http("/livez")[0] == 200
    assert daemon.http("/readyz")[0] == 200
    assert daemon.http("/nothing")[0] == 404
    # A call is counted after its answer has left.
    wait_for(lambda: daemon.metric("rpc_duration_seconds_count", method="Compile", code="OK") == 3,
             "the calls to be counted")
    assert daemon.metric("cache_requests_total", tier="memory", result="hit") == 1
    assert daemon.metric("singleflight_total", role="leader") == 2
    assert daemon.metric("compile_duration_seconds_count", result="ok") == 1
    assert daemon.metric("compile_stage_seconds_sum", stage="fake") == 0.03
    assert daemon.metric("worker_restarts_total", role="compile", reason="crash") == 1
    assert daemon.metric("build_info") == 1
    wait_for(lambda: daemon.metric("jobs_finished_total", role="compile")
             == daemon.metric("jobs_started_total", role="compile"), "the jobs to end")


def test_sigterm_finishes_running_work_and_refuses_new(start):
    daemon = start()
    running = daemon.compiler.Compile.future(request("one @slow=1500"), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the compile to begin")
    daemon.process.send_signal(signal.SIGTERM)
    wait_for(lambda: daemon.http("/readyz")[0] == 503, "the daemon to say that it stops")
    assert daemon.http("/livez")[0] == 200
    assert health(daemon, "") == b"\x08\x02"  # NOT_SERVING
    with pytest.raises(grpc.RpcError) as error:
        daemon.compile("two")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert running.result().outcome == OK
    assert daemon.process.wait(TIME_LIMIT) == 0
    assert not os.path.exists(daemon.socket)


def test_sigterm_does_not_wait_for_ever(start):
    daemon = start("--grace-seconds", "1")
    hanging = daemon.compiler.Compile.future(request("one @hang "), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the compile to begin")
    begin = time.monotonic()
    assert daemon.terminate() == 0
    assert time.monotonic() - begin < 8
    assert hanging.exception(timeout=10) is not None or hanging.result().outcome != OK


def test_shutdown_by_rpc_on_the_unix_socket_only(start):
    port = free_port()
    daemon = start("--listen", f"127.0.0.1:{port}")
    tcp = daemon.channel(f"127.0.0.1:{port}")
    assert compile_pb2_grpc.CompilerServiceStub(tcp).Compile(request("one")).outcome == OK
    with pytest.raises(grpc.RpcError) as error:
        service_pb2_grpc.AdminServiceStub(tcp).Shutdown(service_pb2.ShutdownRequest())
    assert error.value.code() == grpc.StatusCode.PERMISSION_DENIED
    daemon.admin.Shutdown(service_pb2.ShutdownRequest(grace_seconds=1))
    assert daemon.process.wait(TIME_LIMIT) == 0


def test_it_ends_after_idle_time_but_not_while_it_works(start):
    # Long enough for this process to get its first call through, shorter than the compile.
    daemon = start("--idle-exit-seconds", "8")
    assert daemon.compile("one @slow=10000 ").outcome == OK
    assert daemon.process.wait(TIME_LIMIT) == 0


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_no_process_is_left_behind(start, how):
    daemon = start()
    hanging = daemon.compiler.Compile.future(request("one @hang "), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the compile to begin")
    pids = daemon.descendants()
    assert len(pids) >= 5  # the spawner, two compilers, two devices
    if how == "terminate":
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.send_signal(signal.SIGTERM)
    getattr(daemon, how)()
    wait_for(lambda: not any(alive(p) for p in pids), "the workers to end")
    hanging.cancel()


def test_a_worker_has_no_descriptor_of_the_daemons(daemon):
    daemon.compile("one")
    for pid in daemon.descendants():
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            if b"--role=" not in f.read():
                continue
        # While it starts, the loader has a library open now and then.
        wait_for(lambda p=pid: sorted(os.listdir(f"/proc/{p}/fd")) == ["0", "1", "2", "3"],
                 "the worker to have its four descriptors only", limit=10)
        with open(f"/proc/{pid}/status") as f:
            assert "NoNewPrivs:\t1" in f.read()


def test_two_daemons_do_not_share_a_socket(start, tmp_path):
    daemon = start()
    second = subprocess.run(
        [PYASCD, "--config", "/dev/null", "--listen", daemon.address, "--worker", FAKE],
        capture_output=True, timeout=TIME_LIMIT, check=False)
    assert second.returncode == 3
    assert b"another server listens" in second.stderr
    assert daemon.compile("one").outcome == OK


def test_a_socket_left_by_a_killed_daemon_is_taken_over(start):
    start().kill()
    assert start().compile("one").outcome == OK


def test_the_socket_is_its_owners_alone(daemon):
    assert os.stat(daemon.socket).st_mode & 0o077 == 0


def test_workers_that_do_not_start_fail_fast(start, tmp_path):
    script = tmp_path / "worker"
    script.write_text(f'#!/bin/sh\n[ "$1" = --describe ] && exec {FAKE} --describe\nexit 9\n')
    script.chmod(0o755)
    daemon = start(worker=str(script))
    begin = time.monotonic()
    with pytest.raises(grpc.RpcError) as error:
        daemon.compile("one")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "exit code 9" in error.value.details()
    assert time.monotonic() - begin < 15


def test_many_crashes_at_once_leave_the_service_whole(daemon):
    replies = in_threads(16, lambda i: daemon.compile(f"bad {i} @crash "))
    assert all("crashed (signal 11)" in r.diagnostics[0].message for r in replies)
    assert all(daemon.compile(f"good {i}").outcome == OK for i in range(5))
    assert daemon.stats().flights == 0


def test_a_trace_goes_into_the_log(daemon):
    trace = "0af7651916cd43dd8448eb211c80319c"
    daemon.compiler.Compile(request("bad @crash ", request_id="mine"), timeout=TIME_LIMIT,
                            metadata=[("traceparent", f"00-{trace}-b7ad6b7169203331-01")])
    wait_for(lambda: f"[mine trace={trace}]" in daemon.read_log(), "the log")
    # Text that could pretend to be other lines of the log is not taken over.
    daemon.compiler.Compile(request("bad2 @crash ", request_id="a\nERROR fake"),
                            metadata=[("traceparent", "00-zz")], timeout=TIME_LIMIT)
    assert "fake" not in daemon.read_log()


def test_systemd_is_told(start, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(10)
        daemon = start(environment={"NOTIFY_SOCKET": str(tmp_path / "notify"),
                                    "WATCHDOG_USEC": "400000"})
        told = manager.recv(4096).decode()
        assert "READY=1" in told and daemon.address in told
        assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        daemon.process.send_signal(signal.SIGHUP)
        seen = [manager.recv(4096).decode() for _ in range(4)]
        assert any(s.startswith("RELOADING=1\nMONOTONIC_USEC=") for s in seen) and "READY=1" in seen
        assert daemon.terminate() == 0
        seen = []
        while not seen or "STOPPING=1" not in seen[-1]:
            seen.append(manager.recv(4096).decode())


def test_sighup_takes_over_what_can_be_taken_over(start, tmp_path):
    file = tmp_path / "pyascd.yaml"
    file.write_text("max_calls: 1\nlog_level: info\n")
    daemon = start("--config", str(file))
    hanging = daemon.compiler.Compile.future(request("one @hang "), timeout=TIME_LIMIT)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the compile to begin")
    with pytest.raises(grpc.RpcError) as error:
        daemon.compile("two")
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    file.write_text("max_calls: 10\nlog_level: info\ncompile_queue: 7\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "wait for a restart: compile_queue" in daemon.read_log(), "the reload")
    assert daemon.compile("two").outcome == OK
    file.write_text("max_calls: many\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "what was in force stays" in daemon.read_log(), "the refusal")
    assert f"{file}:1: max_calls" in daemon.read_log()
    assert daemon.compile("three").outcome == OK
    hanging.cancel()


# ---------------------------------------------------------------------------- configuration

def pyascd(*flags, **env):
    return subprocess.run([PYASCD, *flags], capture_output=True, text=True, timeout=TIME_LIMIT,
                          env={"HOME": "/nonexistent", **env}, check=False)


def test_flag_over_environment_over_file(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("listen: [unix:/tmp/f.sock]\ncompile_queue: 1\ndevice_queue: 1\nmax_calls: 1\n")
    result = pyascd("--config", str(file), "--check-config", "--max-calls", "3",
                    PYASCD_MAX_CALLS="2", PYASCD_DEVICE_QUEUE="2")
    assert result.returncode == 0, result.stderr
    for line in ("compile_queue: 1", "device_queue: 2", "max_calls: 3"):
        assert line in result.stdout.splitlines()


@pytest.mark.parametrize("text, message", [
    ("listen: unix:/tmp/s\nno_such: 1\n", "2: no_such: there is no such setting"),
    ("listen: unix:/tmp/s\nmax_calls: many\n", "expected a whole number"),
    ("listen: unix:/tmp/s\nmax_calls: 0\n", "not within"),
    ("listen: unix:/tmp/s\nmax_calls: 1\nmax_calls: 2\n", "set twice"),
    ("listen: 0.0.0.0:80\n", "can be reached from other machines"),
    ("listen: unix:/tmp/s\ndevices: [sim]\n", "DRIVER:COUNT"),
    ("listen: unix:/tmp/s\nlog_level: loud\n", "log_level"),
    ("listen: [\n", "yaml"),
    ("{}\n", "no address to serve"),
])
def test_a_wrong_configuration_is_refused_with_its_place(tmp_path, text, message):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    result = pyascd("--config", str(file), "--check-config")
    assert result.returncode == 2
    assert message in result.stderr


def test_help_names_every_setting():
    result = pyascd("--help")
    assert result.returncode == 0
    assert "--idle-exit-seconds" in result.stdout and "--cache-dir" in result.stdout


def test_an_unknown_flag_is_refused():
    assert pyascd("--no-such-flag").returncode == 2


# -------------------------------------------------------------------------------- local mode

def test_local_mode_serves_in_one_process_and_ends_with_its_input(tmp_path):
    address = f"unix:{tmp_path}/local.sock"
    worker = subprocess.Popen([FAKE, "--role=local", f"--listen={address}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert worker.stdout.readline() == b"ready\n"
        channel = grpc.insecure_channel(address)
        compiler = compile_pb2_grpc.CompilerServiceStub(channel)
        reply = compiler.Compile(request("one"), timeout=TIME_LIMIT)
        assert (reply.outcome, reply.cache) == (OK, compile_pb2.CACHE_RESULT_BYPASSED)
        from test_run import Result, floats, messages, start_message
        data = floats(1, 2, 3, 4)
        result = Result(execution_pb2_grpc.ExecutionServiceStub(channel).Run(
            messages(start_message("one", data=data)), timeout=TIME_LIMIT))
        assert result.done.outcome == OK and result.outputs["return"] == data
        devices = service_pb2_grpc.DeviceServiceStub(channel).ListDevices(
            service_pb2.ListDevicesRequest()).devices
        assert [d.driver for d in devices] == ["sim", "host"]
        assert len(compiler.GetCapabilities(compile_pb2.GetCapabilitiesRequest()).build_id) == 64
        channel.close()
        worker.stdin.close()
        assert worker.wait(10) == 0
        assert not os.path.exists(f"{tmp_path}/local.sock")
    finally:
        if worker.poll() is None:
            worker.kill()


def deployed_metric_names():
    deploy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy")
    for file in ("prometheus/pyascd.rules.yaml", "grafana/pyascd.json"):
        with open(os.path.join(deploy, file)) as f:
            for name in re.findall(r"(?<![:\w])pyascd_[a-z_]+", f.read()):
                yield re.sub(r"_(bucket|sum|count)$", "", name)


def test_rules_and_dashboard_ask_for_metrics_that_there_are():
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server",
                          "metrics", "metrics.cc")
    with open(source) as f:
        known = {"pyascd_" + name
                 for name in re.findall(r'New(?:Counter|Gauge|Histogram)\(\s*"(\w+)"', f.read())}
    asked = set(deployed_metric_names())
    assert len(asked) > 15
    assert asked <= known, asked - known


def test_rules_and_dashboard_are_well_formed():
    deploy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy")
    with open(os.path.join(deploy, "prometheus", "pyascd.rules.yaml")) as f:
        groups = yaml.safe_load(f)["groups"]
    rules = [r for g in groups for r in g["rules"]]
    assert all(r["expr"] and ("record" in r or r["annotations"]["summary"]) for r in rules)
    with open(os.path.join(deploy, "grafana", "pyascd.json")) as f:
        dashboard = json.load(f)
    assert dashboard["id"] is None and dashboard["uid"] and dashboard["schemaVersion"] in (38, 39)
    assert any(v["type"] == "datasource" for v in dashboard["templating"]["list"])


def test_an_upgrade_of_the_worker_program_does_not_touch_a_running_daemon(start, tmp_path):
    worker = tmp_path / "pyasc-worker"
    shutil.copy(FAKE, worker)
    daemon = start("--compile-workers", "1", worker=str(worker))
    build = daemon.stats().build_id
    assert daemon.compile("one").outcome == OK
    other = tmp_path / "new"
    other.write_text("#!/bin/sh\nexit 9\n")  # as if of a build that does not fit
    other.chmod(0o755)
    os.rename(other, worker)
    for pid in daemon.descendants():
        if b"--role=" in cmdline(pid):
            os.kill(pid, signal.SIGKILL)
    assert daemon.compile("two").outcome == OK
    assert daemon.stats().build_id == build
    (compiler,) = [p for p in daemon.descendants() if b"--role=compile" in cmdline(p)]
    with open(f"/proc/{compiler}/comm") as f:
        assert f.read() == "pyasc-worker\n"
    assert daemon.terminate() == 0
