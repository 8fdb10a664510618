#!/usr/bin/env python3
"""A mixed load with faults: what was acknowledged is kept, and errors come from faults alone.

    PYASC_BUILD=build/release /usr/bin/python3 tests/service/soak.py [--seconds S] [--life S] [--json FILE]

Clients compile new kernels and known ones, the same one at the same time, and batches; run kernels
on two devices; lease buffers; give up half-way; send kernels that are rejected or crash the compiler.
Meanwhile, once a life of the daemon each: a compile worker and a device worker are killed, a device's
worker is stopped, Redis ends and comes back, the disk is full for a while; and each life ends with
SIGKILL or SIGTERM, in turns.

Held to:
- an artifact is the one of its kernel: the fake compiler's code is the kernel's text, so it can be
  told from every other, and it never changes;
- artifacts that were acknowledged while the disk had room are hits after each restart, and all of them
  at the end, with Redis stopped;
- results of runs are their inputs;
- a call fails only where a fault of the kinds that may concern it (MAY_FAIL) was under way;
- after each life nothing of it is left: processes; and at the end leases, buffers, calls, and, over a
  life, file descriptors and memory.

The load ends by itself after S seconds. Ends with 1 when something was not kept.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from conftest import (Daemon, alive, cmdline, request, rss_bytes, wait_for)  # noqa: E402
from redis_server import Redis  # noqa: E402
from test_run import Result, floats, messages, start_message  # noqa: E402

import grpc  # noqa: E402
from pyasc.v1 import (artifact_pb2, compile_pb2, compile_pb2_grpc, execution_pb2_grpc,  # noqa: E402
                      service_pb2, service_pb2_grpc, tensor_pb2)

OK, REJECTED, FAILED = (compile_pb2.OUTCOME_OK, compile_pb2.OUTCOME_REJECTED,
                        compile_pb2.OUTCOME_FAILED)
HIT = compile_pb2.CACHE_RESULT_HIT
# Seconds after a fault's end in which its errors may still come: connections back off for 0.2 s.
GRACE = 1.0
LEASE_SECONDS = 2.0
# The kinds of calls that a fault may fail.
MAY_FAIL = {
    "compile worker killed": {"compile", "batch", "run"},
    "device worker killed": {"run"},
    "device stopped": {"run"},
    "redis stopped": set(),
    "disk full": set(),
    "daemon gone": {"compile", "batch", "run", "buffer", "cancel", "wrong"},
}


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0


class Soak:
    def __init__(self, directory, seed, disk_bytes):
        self.directory, self.rng = directory, random.Random(seed)
        self.lock = threading.Lock()
        self.windows = []  # [kind, begin, end or None]
        self.errors = []  # (kind, begin, end, what)
        self.broken = []  # what must never be
        self.calls = collections.Counter()
        self.faults = collections.Counter()
        self.latencies = []
        self.texts = []  # acknowledged and on the disk, in order
        self.digests = {}  # of all that was acknowledged
        self.stop = threading.Event()
        self.disk = os.path.join(directory, "disk")
        self.daemon = None
        self.open_files, self.memory, self.ready = [], [], []
        self.number = 0
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_bytes}", "tmpfs", self.disk],
                       check=True)
        self.key = os.path.join(directory, "fleet.key")
        with open(self.key, "wb") as f:
            f.write(os.urandom(32))
        self.redis = Redis(directory)

    # ---- servers

    def start_daemon(self):
        begin = time.monotonic()
        daemon = Daemon(
            self.directory, "--cache-dir", os.path.join(self.disk, "cache"),
            "--cache-memory-bytes", str(16 << 20), "--cache-retry-seconds", "1",
            "--redis", f"unix:{self.redis.socket}", "--redis-key-file", self.key,
            "--devices", "sim:2", "--device-lease-ms", str(int(LEASE_SECONDS * 1000)), cache=False)
        self.ready.append(time.monotonic() - begin)
        self.daemon = daemon

    # ---- the record

    def window(self, kind):
        with self.lock:
            self.windows.append([kind, time.monotonic(), None])
            self.faults[kind] += 1
            return self.windows[-1]

    def close_window(self, window):
        window[2] = time.monotonic() + GRACE

    def breaks(self, what):
        with self.lock:
            self.broken.append(what)
        print("BROKEN  " + what, flush=True)

    def error(self, kind, begin, what):
        with self.lock:
            self.errors.append((kind, begin, time.monotonic(), what))

    def unexplained(self):
        def covered(error):
            kind, begin, end, _ = error
            return any(kind in MAY_FAIL[fault] and begin <= (until or end) and end >= since
                       for fault, since, until in self.windows)
        return [e for e in self.errors if not covered(e)]

    def disk_has_room(self, begin):
        return not any(kind == "disk full" and (until is None or until >= begin)
                       for kind, _, until in self.windows)

    def acknowledged(self, text, reply, begin):
        """An artifact that came: the right one, and remembered."""
        artifact = artifact_pb2.Artifact.FromString(reply.artifact)
        if artifact.sim.functions[0].code != text.encode():
            self.breaks(f"another kernel's artifact for {text[:40]!r}")
            return
        digest = hashlib.sha256(reply.artifact).digest()
        with self.lock:
            known = self.digests.setdefault(text, digest)
            if self.disk_has_room(begin) and reply.cache != HIT:
                self.texts.append(text)
        if known != digest:
            self.breaks(f"two artifacts for {text[:40]!r}")

    def new_text(self, options=""):
        with self.lock:
            self.number += 1
            size = self.rng.choice((0, 0, 100, 3000, 20_000, 100_000))
            return f"kernel {self.number} {options} " + "x" * size

    def known_text(self):
        with self.lock:
            return self.rng.choice(self.texts) if self.texts else None

    # ---- the clients; each runs in threads of its own and makes one call at a time

    def compile_once(self, stub, text):
        begin = time.monotonic()
        reply = stub.Compile(request(text), timeout=30)
        if reply.outcome == OK:
            self.acknowledged(text, reply, begin)
        else:
            self.error("compile", begin, f"{reply.outcome}: {reply.failure}")
        with self.lock:
            self.latencies.append(time.monotonic() - begin)

    def compiler(self, stubs):
        text = self.known_text() if self.rng.random() < 0.7 else None
        self.compile_once(stubs["compiler"], text or self.new_text("@slow=5"))

    def crowd(self, stubs):
        text, begin = self.new_text("@slow=50"), time.monotonic()
        calls = [stubs["compiler"].Compile.future(request(text), timeout=30) for _ in range(8)]
        failed = None
        for call in calls:
            try:
                reply = call.result()
                if reply.outcome == OK:
                    self.acknowledged(text, reply, begin)
                else:
                    self.error("compile", begin, f"{reply.outcome}: {reply.failure}")
            except grpc.RpcError as error:
                failed = error
        if failed:
            raise failed

    def batch(self, stubs):
        texts, begin = [self.new_text() for _ in range(20)], time.monotonic()
        wanted = compile_pb2.CompileBatchRequest(requests=[request(t) for t in texts])
        seen = set()
        for item in stubs["compiler"].CompileBatch(wanted, timeout=30):
            seen.add(item.index)
            if item.reply.outcome == OK:
                self.acknowledged(texts[item.index], item.reply, begin)
            else:
                self.error("batch", begin, item.error.message or item.reply.failure)
        if len(seen) != len(texts):
            self.error("batch", begin, f"{len(seen)} of {len(texts)} items came")

    def runner(self, stubs):
        count = self.rng.choice((1, 4, 1000, 400_000))
        data = floats(self.rng.random()) * count
        slow = self.rng.choice((0, 2, 30))
        start, begin = start_message(f"copy @run-slow={slow} ", shape=(count,)), time.monotonic()
        result = Result(stubs["execution"].Run(messages(start, data), timeout=30))
        if result.done is None or result.done.outcome != OK:
            self.error("run", begin, result.done.failure if result.done else "no end")
        elif result.outputs["return"] != data or result.outputs["B"] != data:
            self.breaks("a run's result is not its input")

    def buffer(self, stubs):
        type_ = tensor_pb2.TensorType(dtype=tensor_pb2.DTYPE_FLOAT32, shape=(1000,))
        handle = stubs["devices"].CreateBuffer(
            service_pb2.CreateBufferRequest(type=type_), timeout=30).buffer_handle
        stubs["devices"].WriteBuffer(iter([service_pb2.WriteBufferRequest(
            buffer_handle=handle, data=bytes(4000))]), timeout=30)
        stubs["devices"].ReleaseBuffer(
            service_pb2.ReleaseBufferRequest(buffer_handle=handle), timeout=30)
        time.sleep(0.05)

    def cancel(self, stubs):
        """Gives up on compiles and runs half-way."""
        if self.rng.random() < 0.5:
            call = stubs["compiler"].Compile.future(request(self.new_text("@slow=200")), timeout=30)
        else:
            call = stubs["execution"].Run(
                messages(start_message("copy @run-slow=200 ", data=floats(1, 2, 3, 4))), timeout=30)
        time.sleep(self.rng.random() * 0.1)
        call.cancel()
        time.sleep(0.1)

    def wrong(self, stubs):
        """Kernels that are rejected, and rarely one that crashes the compiler."""
        crash = self.rng.random() < 0.02
        reply = stubs["compiler"].Compile(request(self.new_text("@crash" if crash else "@reject")),
                                          timeout=30)
        if reply.outcome != (FAILED if crash else REJECTED):
            self.breaks(f"a kernel that {'crashes' if crash else 'is rejected'} came out "
                        f"{compile_pb2.Outcome.Name(reply.outcome)}")
        time.sleep(0.1)

    def client(self, kind, work, pause):
        address = f"unix:{self.directory}/d.sock"
        channel = grpc.insecure_channel(address, options=[
            ("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 200)])
        stubs = {"compiler": compile_pb2_grpc.CompilerServiceStub(channel),
                 "execution": execution_pb2_grpc.ExecutionServiceStub(channel),
                 "devices": service_pb2_grpc.DeviceServiceStub(channel)}
        while not self.stop.is_set():
            begin = time.monotonic()
            self.calls[kind] += 1
            try:
                work(stubs)
            except grpc.RpcError as error:
                self.error(kind, begin, f"{error.code().name}: {error.details()}")
                time.sleep(0.05)
            time.sleep(pause)
        channel.close()

    # ---- the faults

    def kill_worker(self, role):
        with_role = [p for p in self.daemon.descendants() if b"--role=" + role in cmdline(p)]
        victim = self.rng.choice(with_role)
        window = self.window(f"{role.decode()} worker killed")
        os.kill(victim, signal.SIGKILL)
        return window

    def stop_device(self):
        victim = self.rng.choice(
            [p for p in self.daemon.descendants() if b"--role=device" in cmdline(p)])
        window = self.window("device stopped")
        os.kill(victim, signal.SIGSTOP)
        return window, victim

    def fill_disk(self):
        window = self.window("disk full")
        with open(os.path.join(self.disk, "ballast"), "wb") as f:
            try:
                while True:
                    f.write(bytes(1 << 20))
            except OSError:
                return window

    def free_disk(self, window):
        os.unlink(os.path.join(self.disk, "ballast"))
        wait_for(lambda: self.daemon.stats().cache.kind == "rocksdb", "the disk to be used again")
        self.close_window(window)

    def measure(self, where):
        pid = self.daemon.process.pid
        where.append((len(os.listdir(f"/proc/{pid}/fd")), rss_bytes(pid)))

    def life(self, seconds, kill):
        """The faults of one life, and its end."""
        born = time.monotonic()
        at = lambda share: self.pause(born + share * seconds)  # noqa: E731
        at(0.10)
        window = self.kill_worker(b"compile")
        at(0.15)
        self.close_window(window)
        window = self.kill_worker(b"device")
        at(0.20)
        self.close_window(window)
        window, victim = self.stop_device()
        self.pause(time.monotonic() + LEASE_SECONDS + 2)
        if alive(victim):
            os.kill(victim, signal.SIGCONT)
        wait_for(lambda: self.daemon.worker_stats("device").alive >= 2, "the devices to be back")
        self.close_window(window)
        self.measure(self.early)
        at(0.40)
        window = self.window("redis stopped")
        self.redis.stop()
        at(0.50)
        self.redis.start()
        self.close_window(window)
        at(0.60)
        window = self.fill_disk()
        at(0.72)
        self.free_disk(window)
        at(0.90)
        self.measure(self.late)
        # From here on the disk alone can keep what is acknowledged.
        redis_window = self.window("redis stopped")
        self.redis.stop()
        at(1.0)
        with self.lock:
            durable = self.rng.sample(self.texts, min(100, len(self.texts))) + self.texts[-20:]
        tree = self.daemon.descendants()
        window = self.window("daemon gone")
        if kill:
            self.daemon.kill()
        else:
            begin = time.monotonic()
            code = self.daemon.terminate()
            if code != 0 or time.monotonic() - begin > 15:
                self.breaks(f"SIGTERM ended with {code} after {time.monotonic() - begin:.1f} s")
        self.daemon.close()
        end = time.monotonic() + 5
        while any(alive(p) for p in tree) and time.monotonic() < end:
            time.sleep(0.05)
        left = [p for p in tree if alive(p)]
        if left:
            self.breaks(f"{len(left)} processes outlive their daemon: "
                        f"{[cmdline(p)[-80:] for p in left]}")
        self.start_daemon()
        self.close_window(window)
        self.check(durable)
        self.redis.start()
        self.close_window(redis_window)

    def pause(self, until):
        time.sleep(max(0.0, until - time.monotonic()))

    def check(self, texts):
        """Acknowledged artifacts are hits, and what they were."""
        for text in texts:
            reply = self.daemon.compile(text)
            if reply.cache != HIT:
                self.breaks(f"lost: {text[:40]!r}")
            elif hashlib.sha256(reply.artifact).digest() != self.digests[text]:
                self.breaks(f"changed: {text[:40]!r}")

    # ---- all of it

    def run(self, seconds, life):
        self.early, self.late = [], []
        self.start_daemon()
        clients = [threading.Thread(target=self.client, args=a) for a in (
            ("compile", self.compiler, 0.005), ("compile", self.compiler, 0.005),
            ("compile", self.crowd, 0.2), ("batch", self.batch, 0.5),
            ("run", self.runner, 0.01), ("run", self.runner, 0.01), ("run", self.runner, 0.01),
            ("buffer", self.buffer, 0.05), ("cancel", self.cancel, 0.05),
            ("wrong", self.wrong, 0.1))]
        for client in clients:
            client.start()
        begin, lives = time.monotonic(), 0
        try:
            while time.monotonic() - begin < seconds:
                self.life(life, kill=lives % 2 == 0)
                lives += 1
                print(f"{time.monotonic() - begin:6.0f} s  life {lives}: "
                      f"{sum(self.calls.values())} calls, {len(self.texts)} artifacts, "
                      f"{len(self.errors)} errors, {len(self.unexplained())} unexplained, "
                      f"ready in {self.ready[-1]:.2f} s", flush=True)
        finally:
            self.stop.set()
            for client in clients:
                client.join()
        daemon = self.daemon
        wait_for(lambda: daemon.metric("rpc_in_flight") == 0, "the calls to be over")
        wait_for(lambda: all(w.busy == 0 for w in daemon.stats().workers), "the workers to be idle")
        stats = daemon.stats()
        held = [d for d in daemon.devices.ListDevices(service_pb2.ListDevicesRequest()).devices
                if d.lease.held or d.state != service_pb2.DEVICE_STATE_HEALTHY]
        for what, count in (("leases held or devices not well", len(held)),
                            ("flights", stats.flights), ("damaged records", stats.cache.corrupt_records)):
            if count:
                self.breaks(f"at the end: {count} {what}")
        self.redis.stop()
        self.check(list(dict.fromkeys(self.texts)))
        if daemon.terminate() != 0:
            self.breaks("the last SIGTERM did not end with 0")
        return lives

    def growth(self, index):
        """Of a life, from its first third to its end; the median life."""
        grown = sorted(late[index] - early[index] for early, late in zip(self.early, self.late))
        return grown[len(grown) // 2]

    def close(self):
        if self.daemon:
            self.daemon.close()
        self.redis.stop()
        subprocess.run(["umount", "-l", self.disk], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--life", type=float, default=60, help="seconds of a daemon's life")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    if not shutil.which("redis-server") or os.geteuid() != 0:
        sys.exit("soak.py needs redis-server, and root to make a disk of its own that can be full")
    with tempfile.TemporaryDirectory(prefix="pyasc-soak-") as directory:
        # About twice what the load writes.
        disk_bytes = (256 << 20) + int(arguments.seconds * (2 << 20))
        soak = Soak(directory, arguments.seed, disk_bytes)
        try:
            lives = soak.run(arguments.seconds, arguments.life)
        finally:
            soak.close()
    unexplained = soak.unexplained()
    by_kind = collections.Counter(e[0] for e in soak.errors)
    late = sorted(m for _, m in soak.late)
    summary = {
        "seconds": arguments.seconds, "lives": lives, "calls": dict(soak.calls),
        "faults": dict(soak.faults), "artifacts": len(soak.digests),
        "artifacts on disk, all looked up at the end": len(set(soak.texts)),
        "errors in faults": dict(by_kind), "unexplained errors": len(unexplained),
        "broken": soak.broken,
        "compile p50, p99 (ms)": [round(percentile(soak.latencies, q) * 1e3, 1) for q in (0.5, 0.99)],
        "ready again (s), slowest": round(max(soak.ready), 2),
        "files, growth in a life": soak.growth(0),
        "memory, growth in a life (MB)": round(soak.growth(1) / 1e6, 1),
        "memory at the end of a life (MB), least and most": [round(late[0] / 1e6), round(late[-1] / 1e6)],
    }
    for kind, begin, end, what in unexplained[:20]:
        print(f"UNEXPLAINED  {kind} ({end - begin:.2f} s): {what}")
    for what, value in summary.items():
        print(f"{what:55} {value}")
    if arguments.json:
        with open(arguments.json, "w") as f:
            json.dump(summary, f, indent=1)
    # A few connections come and go; what leaks with calls would be thousands.
    failed = bool(soak.broken or unexplained or soak.growth(0) > 30)
    print("not kept" if failed else "all kept")
    return failed


if __name__ == "__main__":
    sys.exit(main())
