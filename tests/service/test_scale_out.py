"""Several daemons behind HAProxy, with the configuration of deploy/haproxy."""

import os
import shutil
import subprocess

import grpc
import numpy as np
import pytest
from conftest import BUILD, TIME_LIMIT, free_port, request, wait_for
from pyasc.v1 import compile_pb2

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "haproxy",
                      "pyascd.cfg")
pytestmark = pytest.mark.skipif(not shutil.which("haproxy"), reason="haproxy is not installed")


class Fleet:
    def __init__(self, start, directory):
        self.daemons = []
        environment = {"PYASC_FRONTEND": f"127.0.0.1:{free_port()}"}
        for name in "ABC":
            (directory / name).mkdir()
            port = free_port()
            daemon = start("--listen", f"127.0.0.1:{port}", directory=directory / name)
            self.daemons.append(daemon)
            environment[f"PYASC_{name}"] = f"127.0.0.1:{port}"
            environment[f"PYASC_{name}_CHECK"] = str(daemon.http_port)
        self.address = environment["PYASC_FRONTEND"]
        self.balancer = subprocess.Popen(["haproxy", "-f", CONFIG, "-db"],
                                         env={**os.environ, **environment})
        self.channel = grpc.insecure_channel(self.address)
        self.call = self.channel.unary_unary(
            "/pyasc.v1.CompilerService/Compile",
            request_serializer=compile_pb2.CompileRequest.SerializeToString,
            response_deserializer=compile_pb2.CompileReply.FromString)
        grpc.channel_ready_future(self.channel).result(TIME_LIMIT)
        wait_for(self.answers, "the balancer to find a daemon")

    def answers(self):
        try:
            return self.compile("first", 0).outcome == compile_pb2.OUTCOME_OK
        except grpc.RpcError:
            return False

    def compile(self, text, route, **kw):
        return self.call(request(text), timeout=TIME_LIMIT,
                         metadata=[("x-pyasc-route", f"{route:032x}")], **kw)

    def compiles(self):
        return [d.stats().compiles if d.process.poll() is None else None for d in self.daemons]

    def close(self):
        self.channel.close()
        self.balancer.terminate()
        self.balancer.wait(10)


@pytest.fixture
def fleet(start, tmp_path):
    one = Fleet(start, tmp_path)
    yield one
    one.close()


def test_fault_01_a_fleet_compiles_a_kernel_once(fleet):
    calls = [fleet.call.future(request("shared @slow=300 "), timeout=TIME_LIMIT,
                               metadata=[("x-pyasc-route", "7" * 32)]) for _ in range(300)]
    assert {call.result().outcome for call in calls} == {compile_pb2.OUTCOME_OK}
    assert sum(fleet.compiles()) == 2, "one, and the one that tried the balancer"


def test_kernels_spread_and_only_those_of_a_dead_daemon_move(fleet):
    kernels = [(f"kernel {i}", i * 2654435761) for i in range(60)]
    for text, route in kernels:
        assert fleet.compile(text, route).cache == compile_pb2.CACHE_RESULT_MISS
    before = fleet.compiles()
    assert all(count >= 8 for count in before), before
    assert all(fleet.compile(*k).cache == compile_pb2.CACHE_RESULT_HIT for k in kernels)
    fleet.daemons[1].kill()

    def works():
        try:
            for text, route in kernels:
                fleet.compile(text, route)
            return True
        except grpc.RpcError:
            return False
    wait_for(works, "the balancer to notice")
    after = fleet.compiles()
    moved = (after[0] - before[0]) + (after[2] - before[2])
    assert before[1] - 1 <= moved <= before[1] + 1, "its kernels moved, and no others"


def test_our_client_names_the_route(start, fleet, tmp_path):
    file = tmp_path / "k.py"
    file.write_text("import pyasc as asc\n\n\n@asc.kernel\ndef k(A, B):\n    pass\n")
    before = sum(fleet.compiles())
    for _ in range(4):
        done = subprocess.run(
            [os.path.join(BUILD, "bin", "pyasc"), "compile", str(file), "--server", fleet.address,
             "--arg", "A=f32[4]", "--arg", "B=f32[4]", "-o", str(tmp_path / "out.o"), "--emit",
             "artifact", "--quiet"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert sum(fleet.compiles()) == before + 1


def test_a_profile_stays_with_the_daemon_that_has_it(fleet, tmp_path):
    np.save(tmp_path / "a.npy", np.ones(40_000, np.float32))  # in a leased buffer
    for i in range(6):
        file = tmp_path / f"k{i}.py"
        file.write_text(f"import pyasc as asc\n\n\n@asc.kernel\ndef k{i}(A, B):\n    pass\n")
        done = subprocess.run(
            [os.path.join(BUILD, "bin", "pyasc"), "profile", str(file), "--server", fleet.address,
             "--arg", f"A=@{tmp_path}/a.npy", "--arg", "B=zeros:f32[40000]", "--quiet"],
            capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
        assert done.returncode == 0, done.stderr
    assert sum(d.stats().buffers for d in fleet.daemons) == 0
    assert sum(d.worker_stats("device").jobs_finished for d in fleet.daemons) >= 6
