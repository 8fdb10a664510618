"""Who may do what: TLS, tokens, tenants, quotas, the audit log."""

import json
import os
import signal
import subprocess
import tempfile

import grpc
import pytest
from conftest import (BUILD, TIME_LIMIT, details, free_port, in_threads, request, wait_for)
from google.longrunning import operations_pb2, operations_pb2_grpc
from pyasc.v1 import (compile_pb2, compile_pb2_grpc, execution_pb2, execution_pb2_grpc, service_pb2,
                      service_pb2_grpc)
from test_run import Result, floats, messages, start_message

OK = compile_pb2.OUTCOME_OK
MISS, HIT = compile_pb2.CACHE_RESULT_MISS, compile_pb2.CACHE_RESULT_HIT
PYASCD = os.path.join(BUILD, "bin", "pyascd")
DATA = floats(1, 2, 3, 4)


def new_token():
    out = subprocess.run([PYASCD, "--new-token"], capture_output=True, text=True, check=True).stdout
    lines = dict(line.split(": ") for line in out.splitlines())
    return lines["token"], lines["token_sha256"]


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """A CA, and certificates of it for a server and a client."""
    directory = tmp_path_factory.mktemp("pki")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    def certificate(name, extra):
        (directory / f"{name}.ext").write_text(extra)
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
                f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "2", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
    for ca in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{ca}.key", "-out",
                f"{ca}.pem", "-subj", f"/CN={ca} of a test", "-days", "2")
    certificate("server", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    certificate("renewed", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    certificate("trainer", "subjectAltName=DNS:trainer.example")
    return directory


class Tenants:
    """Two tenants, their tokens, and a daemon's configuration that knows them."""

    def __init__(self, directory):
        self.file = directory / "tenants.yaml"
        self.tokens = {}
        self.entries = []
        for name in ("alice", "bob"):
            token, hashed = new_token()
            self.tokens[name] = token
            self.entries.append({"name": name, "token_sha256": [hashed]})
        self.write()

    def write(self):
        self.file.write_text(json.dumps({"tenants": self.entries}))  # JSON is YAML

    def metadata(self, name):
        return [("authorization", f"Bearer {self.tokens[name]}")]


@pytest.fixture
def tenants(tmp_path):
    return Tenants(tmp_path)


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_over_tcp_a_daemon_with_tenants_wants_a_token_for_everything(start, tenants):
    port = free_port()
    daemon = start("--config", str(tenants.file), "--listen", f"127.0.0.1:{port}")
    channel = daemon.channel(f"127.0.0.1:{port}")
    compiler = compile_pb2_grpc.CompilerServiceStub(channel)
    calls = {
        "Compile": lambda **kw: compiler.Compile(request("one"), **kw),
        "Check": lambda **kw: compiler.Check(compile_pb2.CheckRequest(
            files=[compile_pb2.SourceFile(content=b"x")], target=compile_pb2.TARGET_SIM), **kw),
        "Batch": lambda **kw: list(compiler.CompileBatch(compile_pb2.CompileBatchRequest(), **kw)),
        "Capabilities": lambda **kw: compiler.GetCapabilities(
            compile_pb2.GetCapabilitiesRequest(), **kw),
        "Run": lambda **kw: Result(execution_pb2_grpc.ExecutionServiceStub(channel).Run(
            messages(start_message("copy", data=DATA)), **kw)),
        "Devices": lambda **kw: service_pb2_grpc.DeviceServiceStub(channel).ListDevices(
            service_pb2.ListDevicesRequest(), **kw),
        "Operations": lambda **kw: operations_pb2_grpc.OperationsStub(channel).ListOperations(
            operations_pb2.ListOperationsRequest(), **kw),
    }
    wrong = [("authorization", "Bearer " + "0" * 64)]
    for name, call in calls.items():
        assert code_of(call) == grpc.StatusCode.UNAUTHENTICATED, name
        assert code_of(lambda c=call: c(metadata=wrong)) == grpc.StatusCode.UNAUTHENTICATED, name
        assert code_of(lambda c=call: c(metadata=tenants.metadata("alice"))) == \
            grpc.StatusCode.OK, name
    assert daemon.metric("admission_rejected_total", reason="unauthenticated") == 2 * len(calls)
    # Administration stays on the Unix socket, whoever asks; and there the socket's mode is the proof.
    admin = service_pb2_grpc.AdminServiceStub(channel)
    assert code_of(lambda: admin.GetStats(service_pb2.GetStatsRequest(),
                                          metadata=tenants.metadata("alice"))) == \
        grpc.StatusCode.PERMISSION_DENIED
    assert daemon.compile("one").outcome == OK


def test_no_artifact_and_no_operation_crosses_from_tenant_to_tenant(start, tenants, tmp_path):
    daemon = start("--config", str(tenants.file))
    count = tmp_path / "count"
    message = request(f"secret @count={count} ")
    alice, bob = tenants.metadata("alice"), tenants.metadata("bob")
    first = daemon.compiler.Compile(message, metadata=alice)
    assert (first.outcome, first.cache) == (OK, MISS)
    assert daemon.compiler.Compile(message, metadata=alice).cache == HIT
    assert daemon.compiler.Compile(message, metadata=bob).cache == MISS
    assert daemon.compile(f"secret @count={count} ").cache == MISS, "nor to the socket's callers"
    assert len(count.read_text().splitlines()) == 3

    def get(key, metadata):
        return code_of(lambda: daemon.artifacts.GetArtifact(
            service_pb2.GetArtifactRequest(key=key), metadata=metadata))
    other = daemon.compiler.Compile(request("only alice's"), metadata=alice)
    assert get(other.request_key, alice) == grpc.StatusCode.OK
    for key in (other.request_key, other.semantic_key):
        assert get(key, bob) == grpc.StatusCode.NOT_FOUND
    assert get(other.request_key, None) == grpc.StatusCode.NOT_FOUND
    operation = daemon.execution.Profile(
        execution_pb2.ProfileRequest(run=start_message("x @run-hang ", data=DATA, outputs=())),
        metadata=alice)
    name = operation.name
    for call in (lambda m: daemon.operations.GetOperation(
                     operations_pb2.GetOperationRequest(name=name), metadata=m),
                 lambda m: daemon.operations.WaitOperation(
                     operations_pb2.WaitOperationRequest(name=name), metadata=m, timeout=5),
                 lambda m: daemon.operations.CancelOperation(
                     operations_pb2.CancelOperationRequest(name=name), metadata=m),
                 lambda m: daemon.operations.DeleteOperation(
                     operations_pb2.DeleteOperationRequest(name=name), metadata=m)):
        assert code_of(lambda c=call: c(bob)) == grpc.StatusCode.NOT_FOUND
    listing = operations_pb2.ListOperationsRequest()
    assert not daemon.operations.ListOperations(listing, metadata=bob).operations
    assert len(daemon.operations.ListOperations(listing, metadata=alice).operations) == 1
    daemon.operations.CancelOperation(operations_pb2.CancelOperationRequest(name=name),
                                      metadata=alice)


def test_tenants_of_one_namespace_share(start, tenants):
    for entry in tenants.entries:
        entry["namespace"] = "team"
    tenants.write()
    daemon = start("--config", str(tenants.file))
    assert daemon.compiler.Compile(request("one"), metadata=tenants.metadata("alice")).cache == MISS
    assert daemon.compiler.Compile(request("one"), metadata=tenants.metadata("bob")).cache == HIT


def test_quotas_bind_one_tenant_alone_and_give_hints(start, tenants):
    tenants.entries[0].update(max_calls=1, max_bytes=1000, device_seconds_per_hour=0.2)
    tenants.write()
    daemon = start("--config", str(tenants.file))
    alice, bob = tenants.metadata("alice"), tenants.metadata("bob")

    def refusal(call):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        return details(error.value)
    busy = daemon.compiler.Compile.future(request("one @slow=1500 "), metadata=alice)
    wait_for(lambda: daemon.worker_stats("compile").busy == 1, "the compile to begin")
    found = refusal(lambda: daemon.compiler.Compile(request("two"), metadata=alice))
    assert found["ErrorInfo"].metadata["quota"] == "calls at a time"
    assert found["RetryInfo"].retry_delay.ToMilliseconds() > 0
    assert daemon.compiler.Compile(request("two"), metadata=bob).outcome == OK
    assert busy.result().outcome == OK
    # Who has the answer may call again at once.
    for i in range(20):
        assert daemon.compiler.Compile(request(f"in turn {i}"), metadata=alice).outcome == OK

    def run(metadata, text="copy", shape=(4,), data=DATA):
        return Result(daemon.execution.Run(
            messages(start_message(text, shape=shape, data=data)), metadata=metadata))
    large = dict(shape=(300,), data=b"\0" * 1200)
    assert refusal(lambda: run(alice, **large))["ErrorInfo"].reason == "TENANT_BYTES"
    assert run(bob, **large).done.outcome == OK
    assert run(alice, text="x @run-slow=600 ").done.outcome == OK
    found = refusal(lambda: run(alice))
    assert found["ErrorInfo"].metadata["quota"] == "device time"
    assert found["RetryInfo"].retry_delay.seconds > 10
    assert run(bob).done.outcome == OK


def test_a_flood_of_one_tenant_leaves_the_other_its_share(start, tenants):
    daemon = start("--config", str(tenants.file), "--compile-workers", "1")
    flood = [daemon.compiler.Compile.future(request(f"flood {i} @slow=100 "), timeout=TIME_LIMIT,
                                            metadata=tenants.metadata("alice")) for i in range(40)]
    wait_for(lambda: daemon.worker_stats("compile").queue_depth > 30, "the queue to fill")
    for i in range(2):
        reply = daemon.compiler.Compile(request(f"quiet {i}"), timeout=TIME_LIMIT,
                                        metadata=tenants.metadata("bob"))
        assert reply.outcome == OK
    done = sum(call.done() for call in flood)
    assert done < 30, "bob waited for all of alice's"
    for call in flood:
        call.cancel()


def test_sighup_takes_tokens_away_and_brings_new_ones(start, tenants):
    daemon = start("--config", str(tenants.file))
    bob = tenants.metadata("bob")
    assert daemon.compiler.Compile(request("one"), metadata=bob).outcome == OK
    del tenants.entries[1]
    token, hashed = new_token()
    tenants.entries.append({"name": "carol", "token_sha256": [hashed]})
    tenants.write()
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: code_of(lambda: daemon.compiler.Compile(request("one"), metadata=bob)) ==
             grpc.StatusCode.UNAUTHENTICATED, "bob to be gone")
    assert daemon.compiler.Compile(request("one"), metadata=[
        ("authorization", f"Bearer {token}")]).outcome == OK


def secure(pki, port, name=None, ca="ca.pem"):
    read = lambda file: (pki / file).read_bytes()  # noqa: E731
    credentials = grpc.ssl_channel_credentials(
        read(ca), read(f"{name}.key") if name else None, read(f"{name}.pem") if name else None)
    return grpc.secure_channel(f"localhost:{port}", credentials,
                               options=[("grpc.use_local_subchannel_pool", 1)])


def tls_flags(pki, port, name="server"):
    return ["--listen", f"127.0.0.1:{port}", "--tls-certificate", str(pki / f"{name}.pem"),
            "--tls-key", str(pki / f"{name}.key")]


def test_tls_serves_those_who_trust_it_and_no_plain_text(start, pki):
    port = free_port()
    daemon = start(*tls_flags(pki, port))
    compiler = compile_pb2_grpc.CompilerServiceStub(secure(pki, port))
    assert compiler.Compile(request("one"), timeout=10).outcome == OK
    plain = compile_pb2_grpc.CompilerServiceStub(daemon.channel(f"127.0.0.1:{port}"))
    assert code_of(lambda: plain.Compile(request("one"), timeout=5)) in (
        grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    stranger = compile_pb2_grpc.CompilerServiceStub(secure(pki, port, ca="other.pem"))
    assert code_of(lambda: stranger.Compile(request("one"), timeout=5)) != grpc.StatusCode.OK
    # Our own client, by its environment.
    environment = {**os.environ, "PYASC_TLS_CA": str(pki / "ca.pem")}
    pyasc = [os.path.join(BUILD, "bin", "pyasc"), "devices", "--server", f"localhost:{port}"]
    done = subprocess.run(pyasc, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "sim:0" in done.stdout, done.stderr
    assert subprocess.run(pyasc, capture_output=True, check=False).returncode == 3


def test_mtls_knows_a_tenant_by_its_certificate(start, pki, tmp_path):
    port = free_port()
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"tenants": [
        {"name": "training", "certificates": ["trainer.example"], "max_calls": 1}]}))
    audit = tmp_path / "audit"
    start(*tls_flags(pki, port), "--config", str(file), "--tls-client-ca", str(pki / "ca.pem"),
          "--audit-log", str(audit))
    without = compile_pb2_grpc.CompilerServiceStub(secure(pki, port))
    assert code_of(lambda: without.Compile(request("one"), timeout=5)) != grpc.StatusCode.OK
    known = compile_pb2_grpc.CompilerServiceStub(secure(pki, port, "trainer"))
    assert known.Compile(request("one"), timeout=10).outcome == OK
    wait_for(lambda: '"training"' in audit.read_text(), "the audit log")
    unknown = compile_pb2_grpc.CompilerServiceStub(secure(pki, port, "renewed"))
    assert code_of(lambda: unknown.Compile(request("one"), timeout=5)) == \
        grpc.StatusCode.UNAUTHENTICATED


def test_a_renewed_certificate_is_served_without_a_restart(start, pki, tmp_path):
    import shutil
    import ssl
    port = free_port()
    for kind in ("pem", "key"):
        shutil.copy(pki / f"server.{kind}", tmp_path / f"now.{kind}")
    start("--listen", f"127.0.0.1:{port}", "--tls-certificate", str(tmp_path / "now.pem"),
          "--tls-key", str(tmp_path / "now.key"), "--tls-refresh-seconds", "1")
    before = ssl.get_server_certificate(("127.0.0.1", port))
    for kind in ("pem", "key"):
        shutil.copy(pki / f"renewed.{kind}", tmp_path / f"now.{kind}")
    wait_for(lambda: ssl.get_server_certificate(("127.0.0.1", port)) != before, "the new one", 20)
    assert compile_pb2_grpc.CompilerServiceStub(secure(pki, port)).Compile(
        request("one"), timeout=10).outcome == OK


def test_the_audit_log_says_who_did_what_and_no_secret(start, tenants, tmp_path):
    audit = tmp_path / "audit.log"
    daemon = start("--config", str(tenants.file), "--audit-log", str(audit))
    daemon.compiler.Compile(request("my source", kernel="k", request_id='say "hi"'.replace(" ", "_")),
                            metadata=tenants.metadata("alice"))
    code_of(lambda: daemon.compiler.Compile(request("x"), metadata=[("authorization", "Bearer no")]))
    daemon.stats()

    def entries():
        return [json.loads(line) for line in audit.read_text().splitlines()]
    wait_for(lambda: any(e["method"] == "GetStats" for e in entries()), "the log")
    alice = next(e for e in entries() if e["tenant"] == "alice")
    assert (alice["method"], alice["code"], alice["kernel"]) == ("Compile", "OK", "k")
    assert alice["request_id"] == 'say_"hi"' and alice["peer"].startswith("unix:")
    assert any(e["code"] == "UNAUTHENTICATED" and e["tenant"] == "" for e in entries())
    assert os.stat(audit).st_mode & 0o077 == 0
    text = audit.read_text()
    assert "my source" not in text and tenants.tokens["alice"] not in text


def check(tmp_path, text, *flags):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    return subprocess.run([PYASCD, "--config", str(file), "--check-config", *flags],
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("text, message", [
    ("listen: 0.0.0.0:80\n", "neither encrypted nor authenticated"),
    ("listen: 0.0.0.0:80\ntls_certificate: {0}\ntls_key: {0}\n", "by anyone"),
    ("listen: unix:/tmp/s\ntls_certificate: {0}\n", "one needs the other"),
    ("listen: unix:/tmp/s\ntls_certificate: /no\ntls_key: /no\n", "cannot be read"),
    ("listen: unix:/tmp/s\ntenants: [{{name: a}}]\n", "can never prove"),
    ("listen: unix:/tmp/s\ntenants: [{{name: a, token_sha256: [secret]}}]\n", "never the token"),
    ("listen: unix:/tmp/s\ntenants: [{{name: a, colour: red}}]\n", "no such setting"),
    ("listen: unix:/tmp/s\ntenants: [{{name: local, certificates: [x]}}]\n", "not 'local'"),
    ("listen: unix:/tmp/s\ntenants: [{{name: a, certificates: [x]}}, {{name: b, certificates: [x]}}]\n",
     "another tenant's"),
    ("listen: unix:/tmp/s\ntenants: [{{name: a, certificates: [x], weight: -1}}]\n", "0 or more"),
])
def test_insecure_or_wrong_configurations_are_refused(tmp_path, text, message):
    done = check(tmp_path, text.format(os.path.abspath(__file__)))
    assert done.returncode == 2
    assert message in done.stderr


def test_a_compressed_message_is_refused(daemon):
    channel = grpc.insecure_channel(daemon.address, compression=grpc.Compression.Gzip,
                                    options=[("grpc.use_local_subchannel_pool", 1)])
    assert code_of(lambda: compile_pb2_grpc.CompilerServiceStub(channel).Compile(
        request("one " + "x" * 100_000), timeout=10)) == grpc.StatusCode.UNIMPLEMENTED
    channel.close()


# ------------------------------------------------------------------- other users of the machine

OTHER, THIRD, TEAM = 54_321, 54_322, 54_400
AS_OTHER = """
import sys, grpc
channel = grpc.insecure_channel(sys.argv[1])
for method in sys.argv[2:]:
    try:
        channel.unary_unary(method)(b"", timeout=20)
        print("OK")
    except grpc.RpcError as error:
        print(error.code().name)
"""
CAPABILITIES = "/pyasc.v1.CompilerService/GetCapabilities"
STATS = "/pyasc.v1.AdminService/GetStats"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")


def as_user(user, address, *methods, groups=()):
    done = subprocess.run(["/usr/bin/python3", "-c", AS_OTHER, address, *methods], user=user,
                          group=user, extra_groups=list(groups), cwd="/", env={}, check=True,
                          capture_output=True, text=True)
    return done.stdout.split()


@pytest.fixture
def open_directory():
    """One that other users reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="pyasc-peers-", dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        yield directory


@as_root
def test_another_user_is_refused_whatever_the_mode_of_the_socket(start, open_directory, tmp_path):
    log = tmp_path / "audit"
    daemon = start("--audit-log", str(log), directory=open_directory)
    assert as_user(OTHER, daemon.address, CAPABILITIES) == ["UNAVAILABLE"]  # by the mode
    assert daemon.metric("admission_rejected_total", reason="socket_peer") == 0
    os.chmod(daemon.socket, 0o777)
    assert as_user(OTHER, daemon.address, CAPABILITIES, STATS) == ["UNAVAILABLE"] * 2
    assert daemon.metric("admission_rejected_total", reason="socket_peer") >= 1
    assert f"user {OTHER} (process " in daemon.read_log()
    assert daemon.compile("one").outcome == OK
    assert daemon.terminate() == 0
    refused = [e for e in map(json.loads, log.read_text().splitlines()) if e["method"] == "connect"]
    assert refused and all(e["code"] == "PERMISSION_DENIED" for e in refused)
    assert refused[0]["peer"].startswith(f"unix:uid={OTHER},pid=")


@as_root
@pytest.mark.parametrize("who", [f"uid:{OTHER}", f"gid:{TEAM}"])
def test_guests_of_the_socket_may_compile_but_not_administer(start, open_directory, who):
    daemon = start("--socket-guests", who, directory=open_directory)
    assert as_user(OTHER, daemon.address, CAPABILITIES, STATS, CAPABILITIES, groups=[TEAM]) == \
        ["OK", "PERMISSION_DENIED", "OK"]
    assert as_user(THIRD, daemon.address, CAPABILITIES) == ["UNAVAILABLE"]
    assert daemon.stats().pid == daemon.process.pid  # the owner still may
    assert daemon.compile("one").outcome == OK


def test_guests_of_the_socket_are_checked_with_the_configuration():
    done = subprocess.run([PYASCD, "--config", "/dev/null", "--listen", "unix:/tmp/x", "--check-config",
                           "--socket-guests", "alice"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "socket_guests: 'alice' is not uid:N, user:NAME, gid:N or group:NAME" in done.stderr
