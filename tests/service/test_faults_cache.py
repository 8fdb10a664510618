"""Faults of services like this one, by their numbers: what lies on the disk."""

import os
import shutil
import signal
import subprocess
import threading
import time

import grpc
import pytest
from conftest import BUILD, TIME_LIMIT, in_threads, request, wait_for
from pyasc.v1 import compile_pb2

MISS, HIT = compile_pb2.CACHE_RESULT_MISS, compile_pb2.CACHE_RESULT_HIT
OK = compile_pb2.OUTCOME_OK


def flushed(start, texts, **options):
    """A cache directory with the texts' artifacts in table files; returns the artifacts."""
    daemon = start(**options)
    artifacts = [daemon.compile(t).artifact for t in texts]
    assert daemon.terminate() == 0
    assert start(**options).terminate() == 0  # turns the log into files
    return artifacts


def test_fault_07_the_time_that_the_disk_takes_is_in_the_histograms(start):
    text = "slow disk " + "x" * 20_000
    # What is preloaded is part of a worker's identity, and so of the key: slow or not, it is there.
    preloaded = {"LD_PRELOAD": os.path.join(BUILD, "tests", "libslow_read.so")}
    flushed(start, [text], environment=preloaded)
    # Every read of the database's files takes 50 ms longer.
    daemon = start(environment={**preloaded, "SLOW_READ_MS": "50"})
    assert daemon.compile(text).cache == HIT
    assert daemon.metric("cache_read_seconds_sum", tier="disk") >= 0.05
    # Counted when the call is over, a moment after its reply.
    wait_for(lambda: daemon.metric("rpc_duration_seconds_sum", method="Compile", code="OK") >= 0.05,
             "the call to be counted")


def test_fault_09_a_disk_that_failed_once_is_used_again_within_ten_seconds(start):
    daemon = start()
    daemon.compile("one")
    shutil.rmtree(daemon.cache)
    begin = time.monotonic()

    def back():
        daemon.compile(f"another {os.urandom(4).hex()}")
        return daemon.stats().cache.kind == "rocksdb"
    wait_for(back, "the disk to be used again")
    assert time.monotonic() - begin < 10


def test_fault_13_sixty_four_processes_on_one_directory_share_one_daemon(tmp_path):
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in ("pyasc", "pyascd"):
        shutil.copy(os.path.join(BUILD, "bin", name), binaries / name)
    shutil.copy(os.path.join(BUILD, "tests", "fake_worker"), binaries / "pyasc-worker")
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    environment = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime), "PATH": "/usr/bin:/bin"}
    pyasc = str(binaries / "pyasc")
    try:
        starters = [subprocess.Popen([pyasc, "stats", "--json"], env=environment,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    for _ in range(64)]
        pids = set()
        for starter in starters:
            out, errors = starter.communicate(timeout=TIME_LIMIT)
            assert starter.returncode == 0, errors
            pids.add([line for line in out.splitlines() if '"pid"' in line][0])
        assert len(pids) == 1
    finally:
        subprocess.run([pyasc, "server", "stop"], env=environment, check=False, timeout=TIME_LIMIT,
                       stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("rounds", [3, pytest.param(200, marks=pytest.mark.full)])
def test_fault_14_fault_29_kills_between_writes_lose_nothing_acknowledged(start, rounds):
    done, lock = {}, threading.Lock()
    for round_ in range(rounds):
        begin = time.monotonic()
        daemon = start()
        assert time.monotonic() - begin < 5, "slow to be ready after a kill"
        # What the round before had acknowledged is there, and whole.
        for text in list(done)[-5:]:
            reply = daemon.compile(text)
            assert (reply.cache, reply.artifact) == (HIT, done[text])

        def work(thread, daemon=daemon, round_=round_):
            for i in range(1000):
                text = f"kernel {round_}/{thread}/{i} " + "x" * (i % 7 * 3000)
                try:
                    artifact = daemon.compile(text).artifact
                except (grpc.RpcError, ValueError):
                    return
                with lock:
                    done[text] = artifact
        threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
        for t in threads:
            t.start()
        time.sleep(0.05 + (round_ * 37 % 100) / 500)
        daemon.kill()
        for t in threads:
            t.join()
        daemon.close()
    daemon = start()
    assert daemon.stats().cache.corrupt_records == 0
    assert daemon.stats().cache.kind == "rocksdb"
    for text, artifact in done.items():
        reply = daemon.compile(text)
        assert (reply.cache, reply.artifact) == (HIT, artifact)
    assert daemon.compile("one more").cache == MISS
    assert daemon.stats().cache.write_failures == 0


def test_fault_17_a_record_whose_file_is_gone_is_a_miss_and_compiled_again(start):
    texts = [f"kernel {i} " + "x" * 30_000 for i in range(10)]
    artifacts = flushed(start, texts)
    daemon = start()
    path = daemon.stats().cache.path
    assert daemon.terminate() == 0
    gone = [f for f in os.listdir(path) if f.endswith(".blob")] or \
        [f for f in os.listdir(path) if f.endswith(".sst")]
    assert gone
    for name in gone:
        os.unlink(os.path.join(path, name))
    daemon = start()
    assert [daemon.compile(t).artifact for t in texts] == artifacts
    assert all(daemon.compile(t).cache == HIT for t in texts)
    assert daemon.stats().cache.kind == "rocksdb"


def test_fault_18_filling_the_cache_beyond_its_cap_keeps_hits_fast(start):
    daemon = start("--cache-max-bytes", str(4 << 20), "--cache-memory-bytes", "0")
    hot = "hot " + "h" * 2000
    daemon.compile(hot)
    slowest, stop = [0.0], threading.Event()

    def ask():
        while not stop.is_set():
            begin = time.monotonic()
            assert daemon.compile(hot).outcome == OK
            slowest[0] = max(slowest[0], time.monotonic() - begin)
    asking = threading.Thread(target=ask)
    asking.start()
    replies = in_threads(4, lambda t: [daemon.compile(f"kernel {t}/{i} " + "x" * 100_000).outcome
                                       for i in range(60)])
    stop.set()
    asking.join()
    assert all(r == [OK] * 60 for r in replies)
    assert slowest[0] < 2, "a hit waited for the cache to clean up"
    assert daemon.compile(hot).cache == HIT, "what is in use was evicted"
    assert daemon.metric("cache_evicted_bytes_total", tier="disk", reason="size") > 10 << 20
    # On the disk too, garbage included.
    wait_for(lambda: daemon.stats().cache.disk_bytes <= 1.5 * (4 << 20), "the garbage to go")


@pytest.mark.parametrize("how", ["no manifest", "no current"])
def test_fault_29_a_database_that_cannot_be_opened_is_set_aside_and_said(start, how):
    daemon = start()
    daemon.compile("one")
    path = daemon.stats().cache.path
    assert daemon.terminate() == 0
    for name in os.listdir(path):
        if name.startswith("MANIFEST" if how == "no manifest" else "CURRENT"):
            with open(os.path.join(path, name), "wb") as f:
                f.write(b"nothing of use")
    daemon = start()
    assert daemon.compile("one").cache == MISS
    assert daemon.stats().cache.kind == "rocksdb"
    assert daemon.metric("cache_set_aside_total", tier="disk") == 1
    daemon.kill()
    assert start().compile("one").cache == HIT
