"""Long work of a service: a profile as an operation, followed over connections that may break."""

import contextlib
import threading
import time

import grpc

from . import _arrays
from ._google.longrunning import operations_pb2
from .errors import ServiceError
from .v1 import execution_pb2, execution_pb2_grpc, service_pb2, service_pb2_grpc

# How long a service that cannot be reached any more is tried.
PATIENCE = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0


class Connection:
    """A service, and what every call about one piece of work carries, so that balancers lead all of
    them to the daemon that has it."""

    def __init__(self, service, metadata):
        self._service, self._metadata = service, metadata

    def get(self):
        """A channel, made anew where it has to be, and the metadata of a call."""
        return self._service.channel(), self._service.metadata + self._metadata

    def call(self, deadline, attempt):
        """attempt(channel, seconds, metadata), again while the service is full."""
        return self._service.call(deadline, lambda channel, seconds: attempt(
            channel, seconds, self._service.metadata + self._metadata))


def profile(service, request, chunked, timeout, on_print, stage):
    """Measures over a Connection; returns the RunDone. `chunked` maps argument names to bytes that are too many for the
    request: they go into leased buffers until the operation is done. `on_print` gets each PrintLine
    once and in order, `stage` (a list of one) follows what the service is doing."""
    deadline = time.monotonic() + timeout
    with contextlib.ExitStack() as leases:
        for argument in request.run.arguments:
            if argument.name in chunked:
                argument.tensor.buffer_handle = leases.enter_context(
                    _leased(service, argument.tensor.type, chunked[argument.name], deadline))
        operation = service.call(
            deadline, lambda channel, seconds, metadata:
            execution_pb2_grpc.ExecutionServiceStub(channel).Profile(
                request, timeout=seconds, metadata=metadata))

        def on_event(event):
            kind = event.WhichOneof("kind")
            if kind == "progress":
                stage[0] = event.progress.stage
            elif kind == "print":
                on_print(event.print)
            elif kind == "missed":
                on_print(execution_pb2.PrintLine(text=f"(up to {event.missed} lines lost)"))
        try:
            operation = follow(service, operation, deadline, on_event)
        except BaseException:  # nobody will fetch the result
            _cancel(service, operation.name)
            raise
    if operation.HasField("error"):
        raise ServiceError(operation.error.message, _code_name(operation.error.code))
    reply = execution_pb2.ProfileReply()
    if not operation.response.Unpack(reply):
        raise ServiceError("the profile operation's response is no ProfileReply")
    return reply.result


def follow(service, operation, deadline, on_event):
    """The operation when it is done. Each event goes to `on_event` once and in order: when the
    connection breaks it is made anew, and they go on after the last one that came."""
    watch = execution_pb2.WatchOperationRequest(name=operation.name)
    broken, pause = None, _FIRST_PAUSE
    while not operation.done:
        channel, metadata = service.get()
        ready = threading.Event()

        def on_state(state, ready=ready):
            if state is grpc.ChannelConnectivity.READY:
                ready.set()
        channel.subscribe(on_state)
        try:
            for event in execution_pb2_grpc.ExecutionServiceStub(channel).WatchOperation(
                    watch, timeout=max(deadline - time.monotonic(), 0.001), metadata=metadata):
                watch.after = event.sequence
                if event.HasField("done"):
                    operation = event.done
                else:
                    on_event(event)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                return _poll(service, operation, deadline)
            now = time.monotonic()
            if ready.is_set():
                broken, pause = None, _FIRST_PAUSE
            broken = broken or now
            if error.code() != grpc.StatusCode.UNAVAILABLE or now + pause >= deadline \
                    or now - broken >= PATIENCE:
                raise ServiceError(error.details() or "the service did not say why",
                                   error.code().name) from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            if not operation.done:
                raise ServiceError("the service ended the operation without a result")
        finally:
            channel.unsubscribe(on_state)
    return operation


def _poll(service, operation, deadline):
    """For services from before WatchOperation."""
    request = operations_pb2.WaitOperationRequest(name=operation.name)
    request.timeout.FromMilliseconds(500)
    while not operation.done:
        if time.monotonic() >= deadline:
            raise ServiceError("the operation has not ended", "DEADLINE_EXCEEDED")
        operation = service.call(
            time.monotonic() + 30, lambda channel, seconds, metadata:
            _operations_call(channel, "WaitOperation", operations_pb2.Operation)(
                request, timeout=seconds, metadata=metadata))
    return operation


def _operations_call(channel, method, reply):
    """Under its public name: the package has the messages under a name of its own."""
    return channel.unary_unary(f"/google.longrunning.Operations/{method}",
                               request_serializer=lambda message: message.SerializeToString(),
                               response_deserializer=reply.FromString)


def _cancel(service, name):
    with contextlib.suppress(grpc.RpcError, ServiceError):
        channel, metadata = service.get()
        channel.unary_unary(
            "/google.longrunning.Operations/CancelOperation",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=bytes)(
                operations_pb2.CancelOperationRequest(name=name), timeout=2, metadata=metadata)


@contextlib.contextmanager
def _leased(service, kind, data, deadline):
    """A buffer of the service that holds `data`."""
    handle = service.call(
        deadline, lambda channel, seconds, metadata:
        service_pb2_grpc.DeviceServiceStub(channel).CreateBuffer(
            service_pb2.CreateBufferRequest(type=kind), timeout=seconds,
            metadata=metadata)).buffer_handle

    def pieces():
        yield service_pb2.WriteBufferRequest(buffer_handle=handle)
        for at in range(0, len(data), _arrays.CHUNK_BYTES):
            yield service_pb2.WriteBufferRequest(data=bytes(data[at:at + _arrays.CHUNK_BYTES]))
    try:
        service.call(
            deadline, lambda channel, seconds, metadata:
            service_pb2_grpc.DeviceServiceStub(channel).WriteBuffer(
                pieces(), timeout=seconds, metadata=metadata))
        yield handle
    finally:
        with contextlib.suppress(grpc.RpcError, ServiceError):  # else when the lease ends
            channel, metadata = service.get()
            service_pb2_grpc.DeviceServiceStub(channel).ReleaseBuffer(
                service_pb2.ReleaseBufferRequest(buffer_handle=handle), timeout=2,
                metadata=metadata)


def _code_name(number):
    return next((code.name for code in grpc.StatusCode if code.value[0] == number), "UNKNOWN")
