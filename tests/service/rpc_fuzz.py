#!/usr/bin/env python3
"""Sends wrong requests to every method of a daemon: valid ones with changes, messages filled at
random from their descriptors, and bytes that are no message at all.

Whatever comes, the daemon answers in time with a status that blames the request (never INTERNAL,
UNKNOWN or DATA_LOSS), goes on serving, and keeps no memory. The first answer that breaks this ends
the run; its method and messages are printed so that `--replay FILE` sends them again.

Not called: AdminService.Shutdown, whose purpose is to end the daemon, and ServerReflection, which
is gRPC's own.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from conftest import BUILD, Daemon, request  # noqa: E402  (finds the stubs)

import grpc  # noqa: E402
from google.longrunning import operations_pb2  # noqa: E402
from google.protobuf.descriptor import FieldDescriptor as F  # noqa: E402
from google.protobuf import message_factory  # noqa: E402
from pyasc.v1 import compile_pb2, execution_pb2, service_pb2, tensor_pb2  # noqa: E402

SKIPPED = {"/pyasc.v1.AdminService/Shutdown"}
# Seconds a call may take; the daemon's own limits are below it.
CALL_LIMIT = 30.0
# The service's own faults: never an answer to a wrong request.
UNFORGIVABLE = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
KERNEL = """import pyasc as asc

@asc.kernel
def add(A: asc.float32[N], B: asc.float32[N]):
    for i in range(4):
        B[i] = A[i] + 1.0
"""
NPU = """module {
  func.func @k(%x: memref<16xf32, #npu.space<gm>> {npu.name = "x"})
      attributes {npu.core = "aiv", npu.blocks = 1 : i64} {
    return
  }
}
"""


def services():
    """Every method as (path, input descriptor, client streams, server streams)."""
    for file in (compile_pb2, execution_pb2, service_pb2, operations_pb2):
        for service in file.DESCRIPTOR.services_by_name.values():
            proto = file_proto(file)
            (described,) = [s for s in proto.service if s.name == service.name]
            for method, flags in zip(service.methods, described.method):
                path = f"/{service.full_name}/{method.name}"
                if path not in SKIPPED:
                    yield path, method.input_type, flags.client_streaming, flags.server_streaming


def file_proto(file):
    from google.protobuf import descriptor_pb2
    proto = descriptor_pb2.FileDescriptorProto()
    file.DESCRIPTOR.CopyToProto(proto)
    return proto


def message_class(descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory().GetPrototype(descriptor)


TEXTS = ["", "A", "B", "add", "return", "x" * 300, "\0", "é", "../../etc/passwd", "sim:0", "host",
         "ascend910b1", "ascend910b3", "mixed", "f" * 64, "operations/1", "%s%n", "a b\nc", KERNEL,
         NPU, "-1", "\U0001f600"]
INTEGERS = [0, 1, 2, 3, 7, 8, 127, 128, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e300, float("inf"), float("-inf"), float("nan")]


class Maker:
    """Random messages, and random changes of messages."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def scalar(self, field):
        rng = self.rng
        kind = field.cpp_type
        if kind == F.CPPTYPE_STRING:
            text = rng.choice(TEXTS)
            return text.encode("utf-8") if field.type == F.TYPE_BYTES else text
        if kind == F.CPPTYPE_BOOL:
            return rng.random() < 0.5
        if kind == F.CPPTYPE_ENUM:
            return rng.choice([v.number for v in field.enum_type.values] + [99])
        if kind in (F.CPPTYPE_DOUBLE, F.CPPTYPE_FLOAT):
            return rng.choice(FLOATS[:5] if kind == F.CPPTYPE_FLOAT else FLOATS)
        value = rng.choice(INTEGERS)
        if kind in (F.CPPTYPE_INT32, F.CPPTYPE_INT64) and rng.random() < 0.3:
            value = -value
        limits = {F.CPPTYPE_INT32: (-2**31, 2**31 - 1), F.CPPTYPE_UINT32: (0, 2**32 - 1),
                  F.CPPTYPE_INT64: (-2**63, 2**63 - 1), F.CPPTYPE_UINT64: (0, 2**64 - 1)}[kind]
        return min(max(value, limits[0]), limits[1])

    def fill(self, message, depth=0):
        for field in message.DESCRIPTOR.fields:
            if self.rng.random() < (0.5 if depth < 2 else 0.3):
                self.set_field(message, field, depth)
        return message

    def set_field(self, message, field, depth):
        is_message = field.cpp_type == F.CPPTYPE_MESSAGE
        if is_message and depth > 6:
            return
        if field.label == F.LABEL_REPEATED:
            if is_message and field.message_type.GetOptions().map_entry:
                return
            items = getattr(message, field.name)
            for _ in range(self.rng.choice([0, 1, 1, 2, 5])):
                if is_message:
                    self.fill(items.add(), depth + 1)
                else:
                    items.append(self.scalar(field))
        elif is_message:
            getattr(message, field.name).SetInParent()
            self.fill(getattr(message, field.name), depth + 1)
        else:
            setattr(message, field.name, self.scalar(field))

    def change(self, message, depth=0):
        """Sets, clears or repeats one field somewhere in the message."""
        rng = self.rng
        present = [f for f, _ in message.ListFields()]
        inner = [f for f in present if f.cpp_type == F.CPPTYPE_MESSAGE and
                 not f.message_type.GetOptions().map_entry]
        if inner and rng.random() < 0.7:
            field = rng.choice(inner)
            value = getattr(message, field.name)
            if field.label != F.LABEL_REPEATED:
                return self.change(value, depth + 1)
            if rng.random() < 0.7:
                return self.change(rng.choice(value), depth + 1)
            value.add().CopyFrom(rng.choice(value))
            return None
        if present and rng.random() < 0.3:
            message.ClearField(rng.choice(present).name)
        elif message.DESCRIPTOR.fields:
            self.set_field(message, rng.choice(message.DESCRIPTOR.fields), depth)
        return None

    def garble(self, data):
        rng = self.rng
        data = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(len(data) + 1)
            step = rng.randrange(5)
            if step == 0 and data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            elif step == 1:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 2, 10])))
            elif step == 2:
                del data[at:at + rng.choice([1, 2, 50])]
            elif step == 3:
                data[at:at] = data[at // 2:at]
            else:
                del data[at:]
        return bytes(data[:1 << 20])


def seeds(path, cls):
    """Valid requests of a method: where changes begin."""
    name = cls.DESCRIPTOR.name
    found = [cls()]
    compile_request = request(KERNEL)
    if name == "CompileRequest":
        found += [compile_request,
                  compile_pb2.CompileRequest(
                      files=[compile_pb2.SourceFile(content=NPU.encode())], target=1,
                      language=compile_pb2.LANGUAGE_NPU)]
    elif name == "CompileBatchRequest":
        found.append(cls(requests=[compile_request] * 3))
    elif name == "CheckRequest":
        found.append(cls(files=compile_request.files, target=compile_pb2.TARGET_SIM))
    elif name == "ProfileRequest":
        found.append(cls(run=run_start(), max_seconds=1))
    elif name == "CreateBufferRequest":
        found.append(cls(type=tensor_pb2.TensorType(dtype=tensor_pb2.DTYPE_FLOAT32, shape=(4,)),
                         ttl_seconds=1))
    elif "name" in cls.DESCRIPTOR.fields_by_name and "Operation" in path:
        found.append(cls(name="operations/1"))
    return found


def run_start():
    type_ = tensor_pb2.TensorType(dtype=tensor_pb2.DTYPE_FLOAT32, shape=(4,))
    start = execution_pb2.RunStart(
        compile=request(KERNEL, tensors=()),
        options=execution_pb2.RunOptions(outputs=("B",), run_timeout_ms=1000))
    for name in "AB":
        argument = start.arguments.add(name=name)
        argument.generated.kind = execution_pb2.GeneratedTensor.KIND_ONES
        argument.generated.type.CopyFrom(type_)
    return start


def run_messages(maker, cls):
    """The messages of a Run call, wrong in order, number or content."""
    start = run_start()
    if maker.rng.random() < 0.5:
        start.arguments[0].tensor.type.CopyFrom(start.arguments[0].generated.type)
        start.arguments[0].tensor.chunked = True
    messages = [cls(start=start), cls(chunk={"name": "A", "data": bytes(16)})]
    for _ in range(maker.rng.randrange(4)):
        step = maker.rng.randrange(4)
        if step == 0:
            maker.rng.shuffle(messages)
        elif step == 1:
            messages.append(maker.fill(cls()))
        elif step == 2 and messages:
            messages.pop(maker.rng.randrange(len(messages)))
        elif messages:
            maker.change(maker.rng.choice(messages))
    return messages


def upload_messages(maker, cls):
    """The messages of a WriteBuffer call, right or wrong."""
    handle = next((t for t in TEXTS if t.startswith("buffers/")), "")
    messages = [cls(buffer_handle=handle)] + [cls(data=bytes(8))] * 2
    for _ in range(maker.rng.randrange(3)):
        step = maker.rng.randrange(3)
        if step == 0:
            maker.rng.shuffle(messages)
        elif step == 1:
            messages.append(maker.fill(cls()))
        else:
            messages.pop(maker.rng.randrange(len(messages)))
    return messages


def make(maker, path, descriptor, streams):
    cls = message_class(descriptor)
    if streams:
        messages = (run_messages if path.endswith("/Run") else upload_messages)(maker, cls)
    elif maker.rng.random() < 0.3:
        messages = [maker.fill(cls())]
    else:
        message = cls()
        message.CopyFrom(maker.rng.choice(seeds(path, cls)))
        for _ in range(maker.rng.choice([1, 1, 2, 4])):
            maker.change(message)
        messages = [message]
    data = [m.SerializeToString() for m in messages]
    if maker.rng.random() < 0.3 and data:
        at = maker.rng.randrange(len(data))
        data[at] = maker.garble(data[at])
    return data


def send(channel, path, client_streams, server_streams, data):
    """The status of the call."""
    kind = f"{'stream' if client_streams else 'unary'}_{'stream' if server_streams else 'unary'}"
    call = getattr(channel, kind)(path)
    try:
        answer = call(iter(data) if client_streams else data[0], timeout=CALL_LIMIT)
        if server_streams:
            for _ in answer:
                pass
        return grpc.StatusCode.OK, ""
    except grpc.RpcError as error:
        return error.code(), error.details()


class Run:
    def __init__(self, daemon, seed, end):
        self.daemon, self.seed, self.end = daemon, seed, end
        self.methods = list(services())
        self.lock = threading.Lock()
        self.counts, self.failure, self.calls = {}, None, 0

    def work(self, index):
        try:
            self.call_until_end(index)
        except Exception as error:  # a fault of this program: the run must not pass for it
            self.failure = self.failure or {"method": "rpc_fuzz.py", "wrong": repr(error)}
            raise

    def call_until_end(self, index):
        maker = Maker(f"{self.seed}/{index}")
        channel = self.daemon.channel()
        while time.monotonic() < self.end and not self.failure:
            path, descriptor, client, server = maker.rng.choice(self.methods)
            data = make(maker, path, descriptor, client)
            begin = time.monotonic()
            code, text = send(channel, path, client, server, data)
            with self.lock:
                self.calls += 1
                key = (path, code.name)
                self.counts[key] = self.counts.get(key, 0) + 1
                wrong = None
                if code in UNFORGIVABLE:
                    wrong = f"{code.name}: {text}"
                elif time.monotonic() - begin > CALL_LIMIT:
                    wrong = "no answer in time"
                elif self.daemon.process.poll() is not None:
                    wrong = "the daemon ended"
                if wrong and not self.failure:
                    self.failure = {"method": path, "wrong": wrong,
                                    "client_streams": client, "server_streams": server,
                                    "messages": [d.hex() for d in data]}


def memory(daemon):
    """Bytes of the daemon itself, resident."""
    with open(f"/proc/{daemon.process.pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--real", action="store_true", help="with the real compiler and devices")
    parser.add_argument("--replay", help="send what a failed run has written")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rpc-fuzz-") as directory:
        worker = os.path.join(BUILD, "bin", "pyasc-worker") if arguments.real else None
        daemon = Daemon(directory, "--compile-timeout-ms", "5000", "--run-timeout-ms", "5000",
                        worker=worker)
        try:
            if arguments.replay:
                with open(arguments.replay, encoding="utf-8") as f:
                    saved = json.load(f)
                print(*send(daemon.channel(), saved["method"], saved["client_streams"],
                            saved["server_streams"],
                            [bytes.fromhex(m) for m in saved["messages"]]))
                return 0
            return fuzz(daemon, arguments)
        finally:
            daemon.close()


def fuzz(daemon, arguments):
    TEXTS.append(daemon.devices.CreateBuffer(service_pb2.CreateBufferRequest(
        type=tensor_pb2.TensorType(dtype=tensor_pb2.DTYPE_FLOAT32, shape=(4,)),
        ttl_seconds=3600)).buffer_handle)
    run = Run(daemon, arguments.seed, time.monotonic() + arguments.seconds)
    threads = [threading.Thread(target=run.work, args=(i,)) for i in range(arguments.threads)]
    for thread in threads:
        thread.start()
    half = None
    while any(t.is_alive() for t in threads):
        time.sleep(min(5, arguments.seconds / 4))
        left = run.end - time.monotonic()
        if half is None and left < arguments.seconds / 2:
            half = memory(daemon) if daemon.process.poll() is None else 0
        if sys.stderr.isatty():
            print(f"\r{run.calls} calls, {max(left, 0):.0f} s left ", end="", file=sys.stderr)
    for (path, code), count in sorted(run.counts.items()):
        print(f"{count:7} {code:20} {path}")
    if run.failure:
        saved = os.path.join(tempfile.gettempdir(), "rpc-fuzz-failure.json")
        with open(saved, "w", encoding="utf-8") as f:
            json.dump(run.failure, f)
        print(f"WRONG: {run.failure['method']}: {run.failure['wrong']}\n"
              f"send it again with --replay {saved}\n{daemon.read_log()[-4000:]}")
        return 1
    untried = {path for path, *_ in run.methods} - {path for path, _ in run.counts}
    grown = memory(daemon) - half
    print(f"{run.calls} calls of {len(run.methods)} methods, seed {arguments.seed}; the daemon grew "
          f"{grown / 1e6:.1f} MB in the second half")
    if untried:
        print("never called:", *sorted(untried))
        return 1
    if grown > 100e6:
        print("WRONG: that is a leak")
        return 1
    # And a right request has its answer still.
    reply = daemon.compile(KERNEL)
    if reply.outcome != compile_pb2.OUTCOME_OK:
        print(f"WRONG: a right request failed afterwards: {reply}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
