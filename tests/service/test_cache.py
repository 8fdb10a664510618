"""The cache on disk: damage, locks, limits."""

import json
import os
import shutil
import subprocess

import grpc
import pytest
from conftest import BUILD, TIME_LIMIT, wait_for

from pyasc.v1 import compile_pb2, service_pb2

HIT, MISS = compile_pb2.CACHE_RESULT_HIT, compile_pb2.CACHE_RESULT_MISS
OK = compile_pb2.OUTCOME_OK


def database(daemon):
    return daemon.stats().cache.path


def data_files(path):
    return [os.path.join(path, f) for f in os.listdir(path) if f.endswith((".sst", ".log"))]


def flip(path, at=0.5):
    """Inverts 64 bytes somewhere in a file."""
    with open(path, "r+b") as f:
        size = os.path.getsize(path)
        f.seek(int(size * at))
        chunk = f.read(64)
        f.seek(int(size * at))
        f.write(bytes(b ^ 0xFF for b in chunk))


def test_damage_on_disk_costs_a_compile_and_gives_no_wrong_answer(start):
    daemon = start()
    texts = [f"kernel {i} " + "x" * 2000 for i in range(50)]
    artifacts = [daemon.compile(t).artifact for t in texts]
    path = database(daemon)
    daemon.kill()
    start().terminate()  # turns the log into table files
    files = [f for f in data_files(path) if f.endswith(".sst")]
    assert files
    for f in files:
        for at in (0.2, 0.4, 0.6):
            flip(f, at)
    daemon = start()
    replies = [daemon.compile(t) for t in texts]
    assert [r.artifact for r in replies] == artifacts
    assert any(r.cache == MISS for r in replies), "the damage hit nothing"
    stats = daemon.stats().cache
    again = [daemon.compile(t).cache for t in texts]
    assert all(c == HIT for c in again)
    assert stats.corrupt_records == daemon.metric("cache_corrupt_records_total", tier="disk")


def test_a_locked_directory_means_memory_only_with_a_warning(start, tmp_path):
    first = start()
    second = start("--cache-dir", first.cache, directory=tmp_path_of(tmp_path, "second"),
                   cache=False)
    assert second.stats().cache.kind == "memory"
    assert second.compile("one").cache == MISS
    assert second.compile("one").cache == HIT
    assert first.stats().cache.kind == "rocksdb"
    second.terminate()
    assert "in memory only" in second.read_log()


def tmp_path_of(tmp_path, name):
    path = tmp_path / name
    path.mkdir()
    return path


def test_a_directory_that_cannot_be_made_means_memory_only(start, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("no directory")
    daemon = start("--cache-dir", str(blocker / "cache"), cache=False)
    assert daemon.stats().cache.kind == "memory"
    assert daemon.compile("one").outcome == OK


def test_the_cap_on_disk_holds_and_the_recently_used_survive(start):
    daemon = start("--cache-max-bytes", str(2 << 20), "--cache-memory-bytes", "0")
    keep = "keep " + "k" * 50_000
    daemon.compile(keep)
    for i in range(100):
        daemon.compile(f"kernel {i} " + "x" * 50_000)
        assert daemon.compile(keep).cache == HIT
    assert daemon.stats().cache.entries <= (2 << 20) // 50_000
    assert daemon.metric("cache_bytes", tier="disk") <= 2 << 20
    assert daemon.metric("cache_evicted_bytes_total", tier="disk", reason="size") > 1 << 20
    assert daemon.compile("kernel 0 " + "x" * 50_000).cache == MISS


def test_without_a_directory_nothing_is_written(start):
    daemon = start(cache=False)
    assert daemon.compile("one").outcome == OK
    assert not os.path.exists(daemon.cache)
    shutil.rmtree(daemon.cache, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 200 KB; only root can make one."""
    path = tmp_path / "disk"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", path],
                          capture_output=True, check=False)
    if made.returncode:
        pytest.skip("mounting is not allowed here; disk_tier_test fills a disk by a limit")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_fault_06_a_full_disk_means_memory_only_until_there_is_room_again(start, small_disk):
    daemon = start("--cache-dir", str(small_disk / "cache"), "--cache-retry-seconds", "1", cache=False)
    texts = [f"kernel {i} " + "x" * 10_000 for i in range(40)]
    for text in texts:
        assert daemon.compile(text).outcome == OK
    assert all(daemon.compile(t).cache == HIT for t in texts), "from memory"
    stats = daemon.stats().cache
    assert stats.kind == "memory" and stats.write_failures >= 1
    assert "space" in stats.disk_fault
    assert daemon.metric("cache_usable", tier="disk") == 0
    assert daemon.metric("cache_suspensions_total", tier="disk") >= 1
    assert daemon.read_log().count("is given up") >= 1
    subprocess.run(["mount", "-o", "remount,size=40m", small_disk], check=True)

    def usable():
        daemon.compile(f"another {os.urandom(4).hex()}")
        return daemon.stats().cache.kind == "rocksdb"
    wait_for(usable, "the disk to be used again")
    assert "can be used again" in daemon.read_log()
    stats = daemon.stats().cache
    assert not stats.disk_fault
    assert daemon.metric("cache_usable", tier="disk") == 1
    assert daemon.terminate() == 0
    again = start("--cache-dir", str(small_disk / "cache"), cache=False)
    assert again.compile(texts[0]).cache == HIT, "what was stored before the disk was full"


def test_the_cache_directory_may_be_deleted_under_a_live_daemon(start):
    daemon = start()
    daemon.compile("one")
    shutil.rmtree(daemon.cache)
    assert daemon.compile("one").cache == HIT, "from memory"
    assert daemon.compile("two").outcome == OK
    assert daemon.compile("three").outcome == OK
    assert "was deleted or replaced" in daemon.read_log()
    assert daemon.stats().cache.kind == "rocksdb"
    daemon.kill()
    assert start().compile("three").cache == HIT


def test_a_damaged_log_is_said_and_counted(start):
    daemon = start()
    texts = [f"kernel {i} " + "x" * 2000 for i in range(50)]
    for text in texts:
        daemon.compile(text)
    path = database(daemon)
    daemon.kill()
    logs = [f for f in data_files(path) if f.endswith(".log") and os.path.getsize(f) > 10_000]
    assert logs
    for log in logs:
        flip(log, 0.5)
    daemon = start()
    assert "write-ahead log" in daemon.read_log()
    assert daemon.stats().cache.damaged_logs == 1
    assert daemon.metric("cache_damaged_logs_total", tier="disk") == 1
    assert daemon.compile(texts[0]).cache == HIT
    assert daemon.compile(texts[-1]).cache == MISS


def test_bytes_on_disk_are_those_of_the_files(start):
    daemon = start()
    for i in range(20):
        daemon.compile(f"kernel {i} " + "x" * 20_000)
    path = database(daemon)
    real = sum(os.stat(os.path.join(path, f)).st_blocks * 512 for f in os.listdir(path))
    assert 400_000 < daemon.stats().cache.disk_bytes
    assert abs(daemon.stats().cache.disk_bytes - real) < 50_000


def test_a_rejected_kernel_is_rejected_again_without_a_compile(start, tmp_path):
    daemon = start("--cache-negative-ttl-seconds", "2")
    count = tmp_path / "count"
    text = f"wrong @count={count} @reject "
    replies = [daemon.compile(text) for _ in range(3)]
    assert {r.outcome for r in replies} == {compile_pb2.OUTCOME_REJECTED}
    assert [r.cache for r in replies] == [MISS, HIT, HIT]
    assert len({r.diagnostics[0].message for r in replies}) == 1
    assert len(count.read_text().splitlines()) == 1
    assert daemon.metric("cache_requests_total", tier="memory", result="negative") == 2
    assert daemon.stats().cache.entries == 0, "not on disk"
    # Its key gives no artifact.
    with pytest.raises(grpc.RpcError) as error:
        daemon.artifacts.GetArtifact(service_pb2.GetArtifactRequest(key=replies[0].request_key))
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    wait_for(lambda: daemon.compile(text).cache == MISS, "the rejection to be forgotten", limit=20)


def pyasc_cache(daemon, action):
    done = subprocess.run([os.path.join(BUILD, "bin", "pyasc"), "cache", action, "--json",
                           "--server", daemon.address],
                          capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_cache_is_looked_after_from_the_command_line(start):
    daemon = start("--cache-memory-bytes", "0")
    texts = [f"kernel {i} " + "x" * 30_000 for i in range(12)]
    artifacts = [daemon.compile(t).artifact for t in texts]
    assert pyasc_cache(daemon, "stats")["cache"]["entries"] == "12"
    path = database(daemon)
    assert pyasc_cache(daemon, "compact")["cache"]["entries"] == "12"
    scrubbed = pyasc_cache(daemon, "scrub")
    assert (scrubbed["records"], scrubbed["damaged"]) == ("12", "0")
    (blob,) = [f for f in os.listdir(path) if f.endswith(".blob")]
    flip(os.path.join(path, blob))
    scrubbed = pyasc_cache(daemon, "scrub")
    assert (scrubbed["records"], scrubbed["damaged"]) == ("12", "1")
    assert [daemon.compile(t).artifact for t in texts] == artifacts
    cleared = pyasc_cache(daemon, "clear")["cache"]
    assert cleared["entries"] == "0" and int(cleared["disk_bytes"]) < 200_000
    assert daemon.compile(texts[0]).cache == MISS
