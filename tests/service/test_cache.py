"""The cache on disk: damage, locks, limits."""

import os
import shutil

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
