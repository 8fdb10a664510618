"""The cache on disk: damage, locks, limits."""

import os
import shutil
import subprocess

import pytest
from conftest import wait_for

from pyasc.v1 import compile_pb2

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


def test_a_database_that_does_not_open_is_set_aside(start):
    daemon = start()
    daemon.compile("one")
    path = database(daemon)
    assert daemon.terminate() == 0
    for name in os.listdir(path):
        if name.startswith("MANIFEST"):
            with open(os.path.join(path, name), "wb") as f:
                f.write(b"no manifest")
    daemon = start()
    assert daemon.compile("one").cache == MISS
    assert daemon.stats().cache.kind == "rocksdb"
    assert os.path.isdir(path + ".damaged")
    assert daemon.terminate() == 0
    assert "damaged" in daemon.read_log()
    assert start().compile("one").cache == HIT


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


def test_kills_at_any_moment_leave_a_usable_cache(start):
    done = {}
    for round_ in range(5):
        daemon = start()
        for i in range(10):
            text = f"kernel {round_}/{i}"
            done[text] = daemon.compile(text).artifact
        calls = [daemon.compiler.Compile.future(
            compile_pb2.CompileRequest(
                target=compile_pb2.TARGET_SIM,
                files=[compile_pb2.SourceFile(content=f"flying {round_}/{i}".encode())]))
                 for i in range(20)]
        calls[0].result()
        daemon.kill()
        for c in calls:
            c.cancel()
    daemon = start()
    for text, artifact in done.items():
        reply = daemon.compile(text)
        assert (reply.cache, reply.artifact) == (HIT, artifact)


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


def test_a_full_disk_means_memory_only_until_there_is_room_again(start, small_disk):
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
