"""The way to a service, and calls over it.

PYASC_SERVER (or a kernel's `server=`) names it: "unix:PATH", "HOST:PORT", or "local" for a
pyasc-worker that is a child of this process. Without it, it is the user's own daemon, which `pyasc
server start` starts when it is not there.

PYASC_TLS_CA (PEM file; with it TCP is TLS), PYASC_TLS_CERTIFICATE and PYASC_TLS_KEY (a certificate of
one's own), PYASC_TOKEN or PYASC_TOKEN_FILE (a tenant's token) say how to prove who one is.
"""

import atexit
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time
import uuid

import grpc

from . import _arrays, _operations, _stubs
from ._google.rpc import error_details_pb2, status_pb2
from .errors import ServiceError
from .v1 import compile_pb2, compile_pb2_grpc, execution_pb2, execution_pb2_grpc

# A connection that broke is tried again soon: somebody waits.
_OPTIONS = [("grpc.max_receive_message_length", 512 << 20), ("grpc.enable_http_proxy", 0),
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 1000)]


def program(name):
    """A program of pyasc: in $PYASC_BIN, beside the build that this package belongs to, in PATH."""
    directories = [os.environ["PYASC_BIN"]] if os.environ.get("PYASC_BIN") else []
    directories += [str(build / "bin") for build in _stubs.build_directories()]
    for directory in directories:
        path = pathlib.Path(directory) / name
        if os.access(path, os.X_OK):
            return str(path)
    found = shutil.which(name)
    if not found:
        raise ServiceError(f"the program {name} is not found; build it, put it into PATH, or name "
                           "its directory in PYASC_BIN")
    return found


class _LocalWorker:
    """A pyasc-worker that ends with this process: its standard input is a pipe that we hold."""

    def __init__(self):
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        base = runtime if 0 < len(runtime) <= 60 and os.access(runtime, os.W_OK) else "/tmp"
        self._directory = tempfile.mkdtemp(prefix="pyasc-local-", dir=base)
        self.address = f"unix:{self._directory}/worker.sock"
        self._stderr = os.path.join(self._directory, "worker.err")
        with open(self._stderr, "wb") as stderr:
            self._process = subprocess.Popen(
                [program("pyasc-worker"), "--role=local", f"--listen={self.address}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                start_new_session=True)
        if self._process.stdout.readline().strip() != b"ready":
            text = self.obituary(5) or "it did not say that it is ready"
            self.close()
            raise ServiceError(f"the local worker did not start: {text}")

    def obituary(self, patience=0):
        """How it ended and what it wrote; "" while it runs."""
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return ""
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        with open(self._stderr, errors="replace") as stderr:
            wrote = "".join(stderr.readlines()[-10:]).strip()
        return f"it ended with {how}" + (f"; it wrote:\n{wrote}" if wrote else "")

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def _content(variable):
    path = os.environ.get(variable)
    if not path:
        return None
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise ServiceError(f"{variable}: {error}") from None


def _open_channel(address, with_credentials):
    """The channel, and the metadata of every call: TLS and token as the environment has them."""
    if not with_credentials:
        return grpc.insecure_channel(address, options=_OPTIONS), ()
    token = os.environ.get("PYASC_TOKEN") or (_content("PYASC_TOKEN_FILE") or b"").decode().strip()
    ca = _content("PYASC_TLS_CA")
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    if ca and not address.startswith("unix:"):
        credentials = grpc.ssl_channel_credentials(ca, _content("PYASC_TLS_KEY"),
                                                   _content("PYASC_TLS_CERTIFICATE"))
        return grpc.secure_channel(address, credentials, options=_OPTIONS), metadata
    if token and not address.startswith(("unix:", "127.", "localhost:", "[::1]:")):
        raise ServiceError(f"the token would go to {address} for everyone to read: name the "
                           "service's CA in PYASC_TLS_CA")
    return grpc.insecure_channel(address, options=_OPTIONS), metadata


class Service:
    """One service. Thread-safe; the GIL is released while a call waits."""

    def __init__(self, server):
        self._server = server
        self._lock = threading.Lock()
        self._channel = None
        self._metadata = ()
        self._pid = None
        self._worker = None

    def _connect(self):
        with self._lock:
            # gRPC does not survive a fork: the child makes its own.
            if self._channel is not None and self._pid == os.getpid():
                return self._channel
            self._worker = None
            address = self._server
            if address == "local":
                self._worker = _LocalWorker()
                address = self._worker.address
            elif not address:
                address = self._start_daemon()
            self._channel, self._metadata = _open_channel(address, self._worker is None)
            self._pid = os.getpid()
            return self._channel

    @staticmethod
    def _start_daemon():
        done = subprocess.run([program("pyasc"), "server", "start", "--address"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise ServiceError(f"the daemon cannot be started: {done.stderr.strip()}")
        return done.stdout.strip()

    def close(self):
        with self._lock:
            if self._pid == os.getpid():
                if self._channel is not None:
                    self._channel.close()
                if self._worker is not None:
                    self._worker.close()
            self._channel = self._worker = None

    def _call(self, deadline, attempt):
        """`attempt(channel, seconds)`, again while the service is full and time is left, and once
        more on a new connection when our own daemon had left or the worker had died before."""
        reconnected = False
        while True:
            channel = self._connect()
            try:
                return attempt(channel, max(deadline - time.monotonic(), 0.001))
            except grpc.RpcError as error:
                code = error.code()
                delay = _retry_delay(error) if code == grpc.StatusCode.RESOURCE_EXHAUSTED else None
                if delay is not None:
                    delay = max(delay, 0.01) * random.uniform(1.0, 1.25)
                    if time.monotonic() + delay < deadline:
                        time.sleep(delay)
                        continue
                if code != grpc.StatusCode.UNAVAILABLE:
                    raise ServiceError(error.details() or f"the service answered {code.name} and "
                                       "did not say why", code.name) from None
                worker = self._worker
                died = worker.obituary(1) if worker is not None else ""
                self.close()
                # The daemon leaves after ten idle minutes; a worker that died took the call with
                # it, which must not be tried again.
                if self._server == "" and not reconnected:
                    reconnected = True
                    continue
                if died:
                    raise ServiceError(f"the local worker failed: {died}", code.name) from None
                where = self._server or "the daemon"
                raise ServiceError(f"{where}: {error.details()}", code.name) from None

    # For _operations.

    def channel(self):
        return self._connect()

    @property
    def metadata(self):
        return self._metadata

    def call(self, deadline, attempt):
        return self._call(deadline, attempt)

    def compile(self, request, timeout):
        try:
            return self._call(
                time.monotonic() + timeout,
                lambda channel, seconds: compile_pb2_grpc.CompilerServiceStub(channel).Compile(
                    request, timeout=seconds, metadata=self._metadata + _route(request)))
        except ServiceError as error:
            raise _late(error, request.kernel, "compiling", timeout) from None

    def run(self, start, chunked, timeout, on_print=None, stage=None):
        """Runs; `chunked` maps argument names to their bytes. Returns (outputs, RunDone), outputs
        by name as (TensorType, bytes, is_scalar). `on_print` is called with each PrintLine as it
        comes; by default its text is printed. `stage`, a list of one, follows what the service is
        doing, so that it says afterwards how far it came."""
        on_print = on_print or (lambda line: print(line.text, flush=True))
        stage = [""] if stage is None else stage
        try:
            return self._call(
                time.monotonic() + timeout,
                lambda channel, seconds: self._run(channel, start, chunked, seconds, stage, on_print))
        except ServiceError as error:
            raise _late(error, start.compile.kernel, stage[0], timeout) from None

    def profile(self, request, chunked, timeout, on_print=None):
        """Measures with repeated launches; returns the RunDone. As `run` otherwise, but a connection
        that breaks meanwhile is made anew, and nothing is lost."""
        on_print = on_print or (lambda line: print(line.text, flush=True))
        stage = [""]
        connection = _operations.Connection(self, _route(request.run.compile))
        try:
            return _operations.profile(connection, request, chunked, timeout, on_print, stage)
        except ServiceError as error:
            raise _late(error, request.run.compile.kernel, stage[0], timeout) from None

    def _run(self, channel, start, chunked, seconds, stage, on_print):
        def requests():
            yield execution_pb2.RunRequest(start=start)
            for name, data in chunked.items():
                for at in range(0, len(data), _arrays.CHUNK_BYTES):
                    yield execution_pb2.RunRequest(chunk=execution_pb2.TensorChunk(
                        name=name, data=data[at:at + _arrays.CHUNK_BYTES]))

        outputs, pieces, done = {}, {}, None
        stub = execution_pb2_grpc.ExecutionServiceStub(channel)
        for event in stub.Run(requests(), timeout=seconds,
                              metadata=self._metadata + _route(start.compile)):
            kind = event.WhichOneof("kind")
            if kind == "output":
                outputs[event.output.name] = event.output
                pieces[event.output.name] = [event.output.tensor.inline_data]
            elif kind == "chunk":
                pieces[event.chunk.name].append(event.chunk.data)
            elif kind == "progress":
                stage[0] = event.progress.stage
            elif kind == "print":
                on_print(event.print)
            elif kind == "prints":
                for line in event.prints.lines:
                    on_print(line)
            elif kind == "done":
                done = event.done
        if done is None:
            raise ServiceError("the service ended the run without a result")
        return {name: (output.tensor.type, b"".join(pieces[name]), output.is_scalar)
                for name, output in outputs.items()}, done


def _route(request):
    """Metadata that load balancers hash on: one kernel goes to one daemon, whichever client asks.
    The C++ client computes the same."""
    digest = hashlib.sha256()
    for field in [*(bytes(f.content) for f in request.files), request.kernel.encode(),
                  str(request.target).encode(), request.soc.encode()]:
        digest.update(b"%d:" % len(field) + field)
    return (("x-pyasc-route", digest.hexdigest()[:32]),)


def _late(error, kernel, stage, timeout):
    """A deadline that passed, in the user's words; any other error as it is."""
    if error.code != "DEADLINE_EXCEEDED":
        return error
    name, limit = f"kernel '{kernel}'", f"{timeout:g} s"
    if stage == "compiling":
        text = f"compiling {name} took longer than {limit}"
    elif stage in ("queued", "waiting for device"):
        text = f"{name} got no device within {limit}: others are running"
    elif stage == "running":
        text = f"{name} ran longer than {limit} and was stopped; does one of its loops never end?"
    else:
        text = f"running {name} took longer than {limit}"
    return ServiceError(f"{text} (timeout= of @asc.kernel, or PYASC_TIMEOUT, gives it longer)",
                        error.code)


def request_id():
    return f"py-{uuid.uuid4().hex[:16]}"


def _retry_delay(error):
    """Seconds of the google.rpc.RetryInfo in an error's details; None without one."""
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in status_pb2.Status.FromString(value).details:
            if detail.type_url.endswith("/google.rpc.RetryInfo"):
                delay = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
                return delay.seconds + delay.nanos * 1e-9
    return None


_services = {}
_services_lock = threading.Lock()


def service(server=None):
    """The service that `server`, or else PYASC_SERVER, names; one object each."""
    name = os.environ.get("PYASC_SERVER", "") if server is None else server
    with _services_lock:
        return _services.setdefault(name, Service(name))


@atexit.register
def close_all():
    """Ends the local workers and connections; the next call makes new ones."""
    with _services_lock:
        for one in _services.values():
            one.close()


TARGETS = {"sim": compile_pb2.TARGET_SIM, "host": compile_pb2.TARGET_HOST,
           "ascend": compile_pb2.TARGET_ASCEND}
