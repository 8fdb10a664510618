"""Starts daemons with the fake worker and speaks to them as a client would."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

BUILD = os.environ.get("PYASC_BUILD") or os.path.join(
    os.path.dirname(__file__), "..", "..", "build", "release")
sys.path.insert(0, os.path.join(BUILD, "tests", "stubs"))

import grpc  # noqa: E402
import pytest  # noqa: E402
from google.protobuf import empty_pb2  # noqa: E402,F401  (reserves the google package)
import google  # noqa: E402

# The stubs of google.rpc and google.longrunning lie beside, not in, the installed google package.
google.__path__.append(os.path.join(BUILD, "tests", "stubs", "google"))

from google.longrunning import operations_pb2_grpc  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from pyasc.v1 import (compile_pb2, compile_pb2_grpc, execution_pb2_grpc,  # noqa: E402
                      service_pb2, service_pb2_grpc, tensor_pb2)

TIME_LIMIT = 60.0


def wait_for(condition, what, limit=TIME_LIMIT):
    """Waits until condition() is true, and returns its value."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {limit} s in vain: {what}"
        time.sleep(0.01)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def request(text, target=compile_pb2.TARGET_SIM, tensors=("A", "B"), shape=(4,), **fields):
    """A compile request for one kernel text."""
    r = compile_pb2.CompileRequest(target=target, **fields)
    r.files.add(content=text.encode())
    for name in tensors:
        r.arguments.add(name=name).tensor.CopyFrom(
            tensor_pb2.TensorType(dtype=tensor_pb2.DTYPE_FLOAT32, shape=shape))
    return r


def details(error):
    """The google.rpc details of a grpc.RpcError, by type."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            found = {}
            for any_ in status.details:
                for kind in (error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo):
                    message = kind()
                    if any_.Unpack(message):
                        found[kind.__name__] = message
            return found
    return {}


class Daemon:
    """One running pyascd."""

    def __init__(self, directory, *flags, worker=None, cache=True, environment=None):
        self.directory = str(directory)
        self.socket = os.path.join(self.directory, "d.sock")
        self.address = "unix:" + self.socket
        self.cache = os.path.join(self.directory, "cache")
        self.http_port = free_port()
        self.log_path = os.path.join(self.directory, "log")
        self.log = open(self.log_path, "ab")
        command = [os.path.join(BUILD, "bin", "pyascd"),
                   *([] if "--config" in flags else ["--config", "/dev/null"]), "--listen", self.address, "--http-port", str(self.http_port),
                   "--worker", worker or os.path.join(BUILD, "tests", "fake_worker")]
        if cache:
            command += ["--cache-dir", self.cache]
        self.process = subprocess.Popen(command + list(flags), stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})})
        self.channels = []
        # A channel whose first attempt fails would wait for seconds before its second.
        wait_for(self._listens, "the daemon to listen")
        self._connect()
        wait_for(self._answers, "the daemon to serve")
        wait_for(self._ready, "the daemon to be ready")

    def _connect(self):
        channel = self.channel()
        self.compiler = compile_pb2_grpc.CompilerServiceStub(channel)
        self.execution = execution_pb2_grpc.ExecutionServiceStub(channel)
        self.operations = operations_pb2_grpc.OperationsStub(channel)
        self.artifacts = service_pb2_grpc.ArtifactServiceStub(channel)
        self.devices = service_pb2_grpc.DeviceServiceStub(channel)
        self.admin = service_pb2_grpc.AdminServiceStub(channel)

    def channel(self, address=None):
        channel = grpc.insecure_channel(address or self.address, options=[
            ("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)])
        self.channels.append(channel)
        return channel

    def _listens(self):
        assert self.process.poll() is None, self.read_log()
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.address.removeprefix("unix:")) == 0

    def _answers(self):
        assert self.process.poll() is None, self.read_log()
        try:
            self.compiler.GetCapabilities(compile_pb2.GetCapabilitiesRequest(), timeout=1)
            return True
        except grpc.RpcError:
            return False

    def _ready(self):
        try:
            return self.http("/readyz")[0] == 200
        except urllib.error.URLError:
            return False

    def compile(self, text, timeout=TIME_LIMIT, **kw):
        return self.compiler.Compile(request(text, **kw), timeout=timeout)

    def stats(self):
        return self.admin.GetStats(service_pb2.GetStatsRequest(), timeout=10)

    def worker_stats(self, role):
        return next(w for w in self.stats().workers if w.role == role)

    def http(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=10) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    def metric(self, name, **labels):
        """The value of one series, 0 when it is not there."""
        for line in self.http("/metrics")[1].splitlines():
            if not line.startswith("pyascd_" + name):
                continue
            series, value = line.rsplit(" ", 1)
            rest = series[len("pyascd_" + name):]
            if rest and not rest.startswith("{"):
                continue
            if all(f'{k}="{v}"' in rest for k, v in labels.items()):
                return float(value)
        return 0.0

    def descendants(self):
        """Process ids below the daemon."""
        children = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry))
        found, queue = [], [self.process.pid]
        while queue:
            for child in children.get(queue.pop(), []):
                found.append(child)
                queue.append(child)
        return found

    def read_log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIME_LIMIT)

    def terminate(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIME_LIMIT)

    def close(self):
        for channel in self.channels:
            channel.close()
        if self.process.poll() is None:
            self.kill()
        self.log.close()


def pytest_configure(config):
    config.addinivalue_line("markers", "full: takes long; runs when PYASC_FULL is set, alone")


def pytest_collection_modifyitems(items):
    full = bool(os.environ.get("PYASC_FULL"))
    for item in items:
        if bool(item.get_closest_marker("full")) != full:
            item.add_marker(pytest.mark.skip(reason="of the other set: see PYASC_FULL"))


@pytest.fixture
def start(tmp_path):
    """Starts daemons that end with the test."""
    daemons = []

    def run(*flags, directory=None, **kw):
        directory = directory or tmp_path
        daemons.append(Daemon(directory, *flags, **kw))
        return daemons[-1]

    yield run
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(start):
    return start()


def in_threads(count, work):
    """Runs work(i) in `count` threads that begin together; returns results or exceptions."""
    results = [None] * count
    gate = threading.Barrier(count)

    def one(i):
        gate.wait()
        try:
            results[i] = work(i)
        except Exception as error:  # pylint: disable=broad-except
            results[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def field(number, data):
    """A length-delimited protobuf field."""
    return bytes([number << 3 | 2, len(data)]) + data


def health(daemon, service):
    """A serialised grpc.health.v1.HealthCheckResponse."""
    call = daemon.channel().unary_unary("/grpc.health.v1.Health/Check")
    return call(field(1, service.encode()), timeout=10)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


def rss_bytes(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def cpu_seconds(pid):
    """CPU time of a process; that of its ended children does not count."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def series_count(daemon):
    return sum(not line.startswith("#") for line in daemon.http("/metrics")[1].splitlines())


def run_copy(daemon, text):
    """Another process that runs a kernel."""
    code = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
            "import conftest, grpc, test_run\n"
            "from pyasc.v1 import execution_pb2_grpc\n"
            f"stub = execution_pb2_grpc.ExecutionServiceStub(grpc.insecure_channel({daemon.address!r}))\n"
            f"start = test_run.start_message({text!r}, data=test_run.floats(1, 2, 3, 4))\n"
            "list(stub.Run(test_run.messages(start)))\n")
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYASC_BUILD": BUILD})
