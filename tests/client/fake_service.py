"""A service that speaks pyasc.v1 over gRPC and computes with NumPy what the test tells it to.

It stands in for pyascd and pyasc-worker where a test is about the client alone: it keeps what it
was asked, and answers with what the test put in. Run as a program it is a `pyasc-worker
--role=local`, too: it echoes, and ends with its standard input.
"""

import concurrent.futures
import os
import sys
import tempfile

import grpc
import numpy as np

from pyasc._google.longrunning import operations_pb2
from pyasc._google.rpc import error_details_pb2, status_pb2
from pyasc.v1 import (artifact_pb2, compile_pb2, compile_pb2_grpc, execution_pb2,
                      execution_pb2_grpc, service_pb2, service_pb2_grpc, tensor_pb2)

DTYPES = {
    tensor_pb2.DTYPE_BOOL: "?", tensor_pb2.DTYPE_INT8: "<i1", tensor_pb2.DTYPE_INT16: "<i2",
    tensor_pb2.DTYPE_INT32: "<i4", tensor_pb2.DTYPE_INT64: "<i8", tensor_pb2.DTYPE_UINT8: "<u1",
    tensor_pb2.DTYPE_UINT16: "<u2", tensor_pb2.DTYPE_UINT32: "<u4", tensor_pb2.DTYPE_UINT64: "<u8",
    tensor_pb2.DTYPE_FLOAT16: "<f2", tensor_pb2.DTYPE_BFLOAT16: "V2",
    tensor_pb2.DTYPE_FLOAT32: "<f4", tensor_pb2.DTYPE_FLOAT64: "<f8",
}
CHUNK = 1 << 20
INLINE = 64 << 10


def type_of(array):
    for number, code in DTYPES.items():
        if np.dtype(code) == array.dtype:
            return tensor_pb2.TensorType(dtype=number, shape=array.shape)
    raise TypeError(array.dtype)


def too_full(context, seconds):
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromNanoseconds(int(seconds * 1e9))
    status = status_pb2.Status(code=8, message="the queue is full")
    detail = status.details.add(type_url="type.googleapis.com/google.rpc.RetryInfo")
    detail.value = retry.SerializeToString()
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full")


class FakeService(compile_pb2_grpc.CompilerServiceServicer,
                  execution_pb2_grpc.ExecutionServiceServicer,
                  service_pb2_grpc.DeviceServiceServicer,
                  service_pb2_grpc.AdminServiceServicer):
    """`compile(request) -> CompileReply` and `run(start, values) -> (outputs, RunDone)` may be
    replaced by a test; `outputs` maps a name to an array, or to a NumPy scalar for a scalar."""

    def __init__(self):
        self.compile_requests = []
        self.run_starts = []
        self.refusals = 0
        self.shutdowns = 0
        self.artifact = artifact_pb2.Artifact(schema_version=1, kernel="k", target="sim",
                                              soc="ascend910b3")
        self.prints = []
        self.directory = None
        self.events = None  # start, values -> RunEvents, in place of `run`

    # What a test replaces.

    def compile(self, request):
        artifact = artifact_pb2.Artifact()
        artifact.CopyFrom(self.artifact)
        artifact.target = {1: "sim", 2: "host", 3: "ascend"}[request.target]
        return compile_pb2.CompileReply(outcome=compile_pb2.OUTCOME_OK,
                                        artifact=artifact.SerializeToString(),
                                        cache=compile_pb2.CACHE_RESULT_MISS,
                                        request_key="ab" * 32)

    def check(self, request):
        return compile_pb2.CheckReply(outcome=compile_pb2.OUTCOME_OK, kernels=[
            compile_pb2.CheckedKernel(name="k", outcome=compile_pb2.OUTCOME_OK)])

    def run(self, start, values):
        return ({name: values[name] for name in start.options.outputs},
                execution_pb2.RunDone(outcome=compile_pb2.OUTCOME_OK))

    # The services.

    def Compile(self, request, context):
        if self.refusals > 0:
            self.refusals -= 1
            too_full(context, 0.02)
        self.compile_requests.append(request)
        return self.compile(request)

    def Check(self, request, context):
        self.compile_requests.append(request)
        reply = self.check(request)
        for kernel in reply.kernels:
            assert kernel.name
        return reply

    def GetCapabilities(self, request, context):
        return compile_pb2.GetCapabilitiesReply(build_id="fe" * 32, version="0.1.0", api_level=1)

    def Run(self, requests, context):
        start = next(requests).start
        if self.refusals > 0:
            self.refusals -= 1
            too_full(context, 0.02)
        data = {}
        for request in requests:
            assert len(request.chunk.data) <= CHUNK
            data[request.chunk.name] = data.get(request.chunk.name, b"") + request.chunk.data
        self.run_starts.append(start)
        self.context = context  # for a test that ends the call
        if self.events is not None:
            yield from self.events(start, self._values(start, data))
            return
        outputs, done = self.run(start, self._values(start, data))
        yield execution_pb2.RunEvent(progress=execution_pb2.Progress(stage="running"))
        for text in self.prints:
            yield execution_pb2.RunEvent(print=execution_pb2.PrintLine(text=text))
        for name, value in outputs.items():
            yield from self._send(name, value)
        yield execution_pb2.RunEvent(done=done)

    @staticmethod
    def _values(start, data):
        values = {}
        for argument in start.arguments:
            kind = argument.WhichOneof("kind")
            if kind == "scalar":
                values[argument.name] = getattr(argument.scalar, argument.scalar.WhichOneof("value"))
            elif kind == "generated":
                generated = argument.generated
                one = generated.kind == execution_pb2.GeneratedTensor.KIND_ONES
                values[argument.name] = np.full(list(generated.type.shape), int(one),
                                                DTYPES[generated.type.dtype])
            else:
                tensor = argument.tensor
                raw = data.get(argument.name, b"") if tensor.chunked else tensor.inline_data
                assert tensor.chunked == (len(raw) > INLINE)
                values[argument.name] = np.frombuffer(raw, DTYPES[tensor.type.dtype]).reshape(
                    list(tensor.type.shape)).copy()
        return values

    @staticmethod
    def _send(name, value):
        is_scalar = np.isscalar(value)
        # Not ascontiguousarray, which makes a rank-0 array one of rank 1.
        array = np.asarray(value, order="C")
        raw = array.tobytes()
        output = execution_pb2.RunOutput(name=name, is_scalar=is_scalar)
        output.tensor.type.CopyFrom(type_of(array))
        if len(raw) <= INLINE:
            output.tensor.inline_data = raw
            yield execution_pb2.RunEvent(output=output)
            return
        output.tensor.chunked = True
        yield execution_pb2.RunEvent(output=output)
        for at in range(0, len(raw), CHUNK):
            chunk = execution_pb2.TensorChunk(name=name, data=raw[at:at + CHUNK])
            yield execution_pb2.RunEvent(chunk=chunk)

    def Profile(self, request, context):
        self.run_starts.append(request.run)
        self.profile_request = request
        # Done only at the second look, so that the client has to wait for it.
        operation = operations_pb2.Operation(name="operations/1")
        operation.metadata.Pack(
            execution_pb2.RunMetadata(progress=execution_pb2.Progress(stage="running")))
        return operation

    def WaitOperation(self, request, context):
        _, done = self.run(self.run_starts[-1], self._values(self.run_starts[-1], {}))
        operation = operations_pb2.Operation(name=request.name, done=True)
        operation.response.Pack(execution_pb2.ProfileReply(result=done))
        return operation

    def ListDevices(self, request, context):
        return service_pb2.ListDevicesReply(devices=[service_pb2.DeviceInfo(
            ordinal=0, driver="sim", name="simulated AI Core", soc="ascend910b3",
            state=service_pb2.DEVICE_STATE_HEALTHY, cube_cores=20, vector_cores=40,
            memory_bytes=64 << 30, clock_ghz=1.8)])

    def GetStats(self, request, context):
        return service_pb2.GetStatsReply(
            build_id="fe" * 32, version="0.1.0", uptime_seconds=61, pid=os.getpid(), compiles=3,
            cache=service_pb2.CacheStats(entries=2, hits=3, misses=1, kind="memory"))

    def Shutdown(self, request, context):
        self.shutdowns += 1
        self.server.stop(grace=None)
        return service_pb2.ShutdownReply()

    # Serving.

    def serve(self, address):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        compile_pb2_grpc.add_CompilerServiceServicer_to_server(self, self.server)
        execution_pb2_grpc.add_ExecutionServiceServicer_to_server(self, self.server)
        service_pb2_grpc.add_DeviceServiceServicer_to_server(self, self.server)
        service_pb2_grpc.add_AdminServiceServicer_to_server(self, self.server)
        self.server.add_generic_rpc_handlers((_operations_handler(self),))
        self.address = address
        self.server.add_insecure_port(address)
        self.server.start()

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.serve(f"unix:{self.directory.name}/s")
        return self

    def __exit__(self, *_):
        self.server.stop(grace=None)
        self.directory.cleanup()


def _operations_handler(service):
    """The operations service under its public name, as it is on the wire."""
    return grpc.method_handlers_generic_handler("google.longrunning.Operations", {
        "WaitOperation": grpc.unary_unary_rpc_method_handler(
            service.WaitOperation,
            request_deserializer=operations_pb2.WaitOperationRequest.FromString,
            response_serializer=operations_pb2.Operation.SerializeToString)})


def main():
    flags = dict(word[2:].split("=", 1) for word in sys.argv[1:])
    assert flags["role"] == "local", flags
    service = FakeService()
    service.serve(flags["listen"])
    # As the real one does.
    open(flags["listen"].removeprefix("unix:") + ".lock", "w").close()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
