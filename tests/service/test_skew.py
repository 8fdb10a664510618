"""Versions that differ: what the last two builds said on the wire (skew/, made by skew/record.py)
against today's daemon, today's command line and today's protos."""

import concurrent.futures
import glob
import os
import struct
import subprocess

import grpc
import pytest
from conftest import BUILD, TIME_LIMIT, wait_for
from google.longrunning import operations_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from pyasc.v1 import artifact_pb2, compile_pb2, execution_pb2, service_pb2  # noqa: F401  (registered)

HERE = os.path.dirname(os.path.abspath(__file__))
BUILDS = sorted(os.path.basename(os.path.dirname(p))
                for p in glob.glob(os.path.join(HERE, "skew", "*", "descriptors.bin")))
PYASC = os.path.join(BUILD, "bin", "pyasc")


def recorded(build, name):
    with open(os.path.join(HERE, "skew", build, name), "rb") as f:
        return f.read()


def unframed(data):
    messages = []
    while data:
        (size,) = struct.unpack_from("<I", data)
        messages.append(data[4:4 + size])
        data = data[4 + size:]
    return messages


class Protos:
    """A set of descriptors: a recorded build's, or (None) today's."""

    def __init__(self, build=None):
        self.files = descriptor_pb2.FileDescriptorSet()
        if build:
            self.files.ParseFromString(recorded(build, "descriptors.bin"))
            self.pool = descriptor_pool.DescriptorPool()
            for name in ("google/protobuf/any.proto", "google/protobuf/duration.proto",
                         "google/protobuf/empty.proto"):
                self.pool.AddSerializedFile(
                    descriptor_pool.Default().FindFileByName(name).serialized_pb)
            for file in self.files.file:
                self.pool.AddSerializedFile(file.SerializeToString())
        else:
            self.pool = descriptor_pool.Default()
        self.factory = message_factory.MessageFactory(self.pool)

    def method(self, name):
        service, method = name.rsplit(".", 1)
        return self.pool.FindServiceByName(service).FindMethodByName(method)

    def parse(self, descriptor, data):
        return self.factory.GetPrototype(
            self.pool.FindMessageTypeByName(descriptor.full_name)).FromString(data)


def methods_of(build, what):
    return sorted(os.path.basename(p)[:-len(what) - 1] for p in
                  glob.glob(os.path.join(HERE, "skew", build, f"*.{what}")))


def test_two_builds_are_recorded():
    assert len(BUILDS) == 2
    assert any(methods_of(b, "reply") for b in BUILDS)
    assert all("pyasc.v1.ExecutionService.Run" in methods_of(b, "request") for b in BUILDS)


def ask(daemon, name, streams, data):
    channel = daemon.channel()
    service, method = name.rsplit(".", 1)
    path = f"/{service}/{method}"
    if streams == (True, True):
        return list(channel.stream_stream(path)(iter(unframed(data)), timeout=TIME_LIMIT))
    if streams == (False, True):
        return list(channel.unary_stream(path)(data, timeout=TIME_LIMIT))
    return [channel.unary_unary(path)(data, timeout=TIME_LIMIT)]


# Client and server streams.
STREAMS = {"pyasc.v1.ExecutionService.Run": (True, True),
           "pyasc.v1.CompilerService.CompileBatch": (False, True)}


@pytest.mark.parametrize("build", BUILDS)
def test_earlier_clients_are_served_and_understand_the_answers(daemon, build):
    then = Protos(build)
    operation = None
    for name in sorted(methods_of(build, "request"), key=lambda n: n.startswith("google")):
        request = recorded(build, name + ".request")
        if name.endswith("WaitOperation"):  # of the profile before
            request = operations_pb2.WaitOperationRequest(name=operation.name).SerializeToString()
            wait_for(lambda: daemon.operations.GetOperation(operations_pb2.GetOperationRequest(
                name=operation.name)).done, "the operation")
        replies = ask(daemon, name, STREAMS.get(name, (False, False)), request)
        method = then.method(name)
        messages = [then.parse(method.output_type, r) for r in replies]
        last = messages[-1]
        if name.endswith("Compile"):
            assert last.outcome == 1 and last.request_key
            artifact = then.factory.GetPrototype(then.pool.FindMessageTypeByName(
                "pyasc.v1.Artifact")).FromString(last.artifact)
            assert artifact.schema_version == 1 and artifact.launch.phases
        elif name.endswith("Run"):
            assert last.WhichOneof("kind") == "done" and last.done.outcome == 1
            assert {m.output.name for m in messages if m.HasField("output")} == {"B", "return"}
            assert all(m.WhichOneof("kind") for m in messages), "an event that it does not know"
        elif name.endswith("Profile"):
            operation = last
            assert operation.name
        elif name.endswith("WaitOperation"):
            assert last.done and last.HasField("response")
        elif name.endswith("ListDevices"):
            assert [d.driver for d in last.devices] == ["sim", "host"]
        elif name.endswith("GetStats"):
            assert last.pid == daemon.process.pid and last.workers
        elif name.endswith("GetCapabilities"):
            assert last.api_level == 1 and last.build_id


class Replay(grpc.GenericRpcHandler):
    """An earlier build's service: answers every method with what it answered then."""

    def __init__(self, build):
        self.build = build
        self.asked = []

    def service(self, call):
        name = call.method[1:].replace("/", ".")
        if name not in methods_of(self.build, "reply"):
            self.asked.append("unknown " + name)
            return None  # UNIMPLEMENTED
        self.asked.append(name)
        data = recorded(self.build, name + ".reply")
        streams = STREAMS.get(name, (False, False))
        if streams == (True, True):
            def answer(requests, _):
                list(requests)
                yield from unframed(data)
            return grpc.stream_stream_rpc_method_handler(answer)
        if streams == (False, True):
            return grpc.unary_stream_rpc_method_handler(lambda *_: iter(unframed(data)))
        return grpc.unary_unary_rpc_method_handler(lambda *_: data)


@pytest.mark.parametrize("build", [b for b in BUILDS if methods_of(b, "reply")])
def test_todays_command_line_works_with_an_earlier_service(tmp_path, build):
    replay = Replay(build)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((replay,))
    address = f"unix:{tmp_path}/s"
    server.add_insecure_port(address)
    server.start()
    kernel = tmp_path / "k.py"
    kernel.write_text("import pyasc as asc\n\n@asc.kernel\ndef k(A, B):\n    B[0] = A[0]\n")
    arguments = ["--arg", "A=ones:f32[4]", "--arg", "B=zeros:f32[4]"]

    def pyasc(*words):
        done = subprocess.run([PYASC, *map(str, words), "--server", address], cwd=tmp_path,
                              capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
    try:
        pyasc("compile", kernel, *arguments, "-o", tmp_path / "k.asc")
        assert "B = f32[4] [1.0, 2.0, 3.0, 4.0]" in pyasc("run", kernel, *arguments)
        assert "12.5 us" in pyasc("profile", kernel, *arguments)
        assert "unknown pyasc.v1.ExecutionService.WatchOperation" in replay.asked
        assert "google.longrunning.Operations.WaitOperation" in replay.asked
        assert "fake sim" in pyasc("devices")
        assert "pyascd 0.1.0" in pyasc("stats")
    finally:
        server.stop(None)


@pytest.mark.parametrize("build", [b for b in BUILDS if methods_of(b, "reply")])
def test_todays_clients_know_every_field_that_an_earlier_service_sends(build):
    now = Protos()
    for name in methods_of(build, "reply"):
        data = recorded(build, name + ".reply")
        for one in unframed(data) if STREAMS.get(name, (False, False))[1] else [data]:
            message = now.parse(now.method(name).output_type, one)
            before = len(message.SerializeToString())
            message.DiscardUnknownFields()
            assert len(message.SerializeToString()) == before, name


def in_oneof(field):
    return field.HasField("oneof_index") and not field.proto3_optional


def messages_of(file, scope, found):
    """Every message and enumeration below a file or message, by full name."""
    nested = file.nested_type if isinstance(file, descriptor_pb2.DescriptorProto) else \
        file.message_type
    for message in nested:
        found[f"{scope}.{message.name}"] = message
        messages_of(message, f"{scope}.{message.name}", found)
    for enum in file.enum_type:
        found[f"{scope}.{enum.name}"] = enum


@pytest.mark.parametrize("build", BUILDS)
def test_no_number_on_the_wire_has_changed_its_meaning(build):
    then, now = {}, {}
    for file in Protos(build).files.file:
        messages_of(file, file.package, then)
        today = descriptor_pb2.FileDescriptorProto()
        descriptor_pool.Default().FindFileByName(file.name).CopyToProto(today)
        messages_of(today, today.package, now)
        services = {s.name: {m.name: (m.input_type, m.output_type, m.client_streaming,
                                      m.server_streaming) for m in s.method}
                    for s in today.service}
        for service in file.service:
            for m in service.method:
                assert services[service.name][m.name] == (
                    m.input_type, m.output_type, m.client_streaming, m.server_streaming), m.name
    assert len(then) > 50
    for name, old in then.items():
        new = now[name]
        if isinstance(old, descriptor_pb2.EnumDescriptorProto):
            values = {v.name: v.number for v in new.value}
            assert all(values.get(v.name) == v.number for v in old.value), name
            continue
        fields = {f.number: f for f in new.field}
        reserved = {n for r in new.reserved_range for n in range(r.start, r.end)}
        for field in old.field:
            if field.number in reserved:
                continue  # gone, and never to come back as something else
            today = fields[field.number]
            for what in ("name", "type", "label", "type_name"):
                assert getattr(today, what) == getattr(field, what), (name, field.name, what)
            # Whether an absent value can be told from 0 is nothing that the wire shows.
            assert in_oneof(field) == in_oneof(today), (name, field.name)
