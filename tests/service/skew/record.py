#!/usr/bin/env python3
"""Records what clients and services of a build say on the wire, for test_skew.py.

    PYASC_BUILD=BUILD_OF_THAT_REVISION tests/service/skew/record.py REVISION
    tests/service/skew/record.py --requests-only REVISION

Writes a folder named by the revision: descriptors.bin (its protos), SERVICE.METHOD.request and, from
a daemon with the fake worker, SERVICE.METHOD.reply; of a stream, each message with its length before
it. Keep the last two builds that were given to anybody, and delete the folder before them.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROTOS = ["google/rpc/status", "google/rpc/error_details", "google/longrunning/operations",
          "pyasc/v1/diagnostics", "pyasc/v1/tensor", "pyasc/v1/report", "pyasc/v1/artifact",
          "pyasc/v1/compile", "pyasc/v1/execution", "pyasc/v1/service"]


def generate(revision, stubs):
    """The revision's protos as Python modules in `stubs`; returns their descriptors."""
    with tempfile.TemporaryDirectory() as source:
        for name in PROTOS:
            text = subprocess.run(["git", "show", f"{revision}:proto/{name}.proto"], cwd=HERE,
                                  capture_output=True, check=True).stdout
            path = os.path.join(source, name + ".proto")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(text)
        out = os.path.join(stubs, "descriptors.bin")
        subprocess.run(
            ["protoc", f"-I{source}", f"--python_out={stubs}", f"--grpc_out={stubs}",
             "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin", f"--descriptor_set_out={out}",
             *(os.path.join(source, n + ".proto") for n in PROTOS)], check=True)
        with open(out, "rb") as f:
            return f.read()


def requests():
    """What this revision's clients send; a list for a stream of requests."""
    from google.longrunning import operations_pb2
    from pyasc.v1 import compile_pb2, execution_pb2, service_pb2, tensor_pb2
    import struct as layout
    compile_ = compile_pb2.CompileRequest(kernel="k", target=compile_pb2.TARGET_SIM,
                                          soc="ascend910b3", request_id="recorded-1")
    compile_.files.add(content=b"# recorded\n@asc.kernel\ndef k(A, B): pass\n")
    type_ = tensor_pb2.TensorType(dtype=tensor_pb2.DTYPE_FLOAT32, shape=[4])
    compile_.options.debug = True
    start = execution_pb2.RunStart(compile=compile_, options=execution_pb2.RunOptions(
        outputs=["B", "return"], run_timeout_ms=30_000))
    a = start.arguments.add(name="A")
    a.tensor.type.CopyFrom(type_)
    a.tensor.inline_data = layout.pack("<4f", 1, 2, 3, 4)
    b = start.arguments.add(name="B")
    b.generated.kind = execution_pb2.GeneratedTensor.KIND_ZEROS
    b.generated.type.CopyFrom(type_)
    profile = execution_pb2.ProfileRequest(run=start, max_samples=3, max_seconds=1)
    del profile.run.options.outputs[:]
    for name in "AB":
        compile_.arguments.add(name=name).tensor.CopyFrom(type_)
    return {
        "pyasc.v1.CompilerService.Compile": compile_,
        "pyasc.v1.CompilerService.CompileBatch": compile_pb2.CompileBatchRequest(
            requests=[compile_]),
        "pyasc.v1.CompilerService.Check": compile_pb2.CheckRequest(
            files=compile_.files, target=compile_pb2.TARGET_SIM),
        "pyasc.v1.CompilerService.GetCapabilities": compile_pb2.GetCapabilitiesRequest(),
        "pyasc.v1.ExecutionService.Run": [execution_pb2.RunRequest(start=start)],
        "pyasc.v1.ExecutionService.Profile": profile,
        "pyasc.v1.DeviceService.ListDevices": service_pb2.ListDevicesRequest(),
        "pyasc.v1.AdminService.GetStats": service_pb2.GetStatsRequest(),
        "google.longrunning.Operations.WaitOperation": operations_pb2.WaitOperationRequest(
            name="operations/0123456789abcdef0123456789abcdef"),
    }


def framed(messages):
    return b"".join(struct.pack("<I", len(m)) + m for m in messages)


def save(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def record_replies(folder):
    """From the build's own daemon."""
    import conftest
    with tempfile.TemporaryDirectory() as directory:
        daemon = conftest.Daemon(directory)
        try:
            conftest.wait_for(lambda: all(d.name for d in daemon.devices.ListDevices(
                conftest.service_pb2.ListDevicesRequest()).devices), "the devices to answer")
            asked = requests()
            for name, message in asked.items():
                service, method = name.rsplit(".", 1)
                path = f"/{service}/{method}"
                channel = daemon.channel()
                if method == "Run":
                    reply = framed(channel.stream_stream(path)(
                        iter([m.SerializeToString() for m in message])))
                elif method == "CompileBatch":
                    reply = framed(channel.unary_stream(path)(message.SerializeToString()))
                else:
                    if method == "WaitOperation":
                        message.name = operation.name
                    reply = channel.unary_unary(path)(message.SerializeToString(), timeout=60)
                if method == "Profile":
                    operation = type(daemon.operations.GetOperation(
                        _get(reply))).FromString(reply)
                save(folder, name + ".reply", reply)
        finally:
            daemon.close()


def _get(reply):
    from google.longrunning import operations_pb2
    return operations_pb2.GetOperationRequest(
        name=operations_pb2.Operation.FromString(reply).name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("revision")
    parser.add_argument("--requests-only", action="store_true")
    arguments = parser.parse_args()
    folder = os.path.join(HERE, arguments.revision)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as stubs:
        save(folder, "descriptors.bin", generate(arguments.revision, stubs))
        sys.path.insert(0, stubs)
        import google
        from google.protobuf import empty_pb2  # noqa: F401
        google.__path__.append(os.path.join(stubs, "google"))
        if not arguments.requests_only:
            sys.path.insert(1, os.path.dirname(HERE))
            record_replies(folder)
        for name, message in requests().items():
            data = framed([m.SerializeToString() for m in message]) \
                if isinstance(message, list) else message.SerializeToString()
            save(folder, name + ".request", data)


if __name__ == "__main__":
    main()
