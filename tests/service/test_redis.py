"""The tier that daemons share: a real Redis, its failures, forged records."""

import os
import shutil
import signal
import time

import pytest
from conftest import TIME_LIMIT, in_threads, request, wait_for
from pyasc.v1 import compile_pb2
from redis_server import Redis

OK = compile_pb2.OUTCOME_OK
MISS, HIT = compile_pb2.CACHE_RESULT_MISS, compile_pb2.CACHE_RESULT_HIT
pytestmark = pytest.mark.skipif(not shutil.which("redis-server"), reason="redis is not installed")


@pytest.fixture
def redis(tmp_path):
    one = Redis(tmp_path)
    yield one
    one.stop()


@pytest.fixture
def member(start, tmp_path, redis):
    """Starts daemons of one fleet, each with a cache of its own."""
    key = tmp_path / "fleet.key"
    key.write_bytes(os.urandom(32))

    def run(*flags, key_file=key):
        directory = tmp_path / f"d{time.monotonic_ns()}"
        directory.mkdir()
        return start("--redis", f"unix:{redis.socket}", "--redis-key-file", str(key_file), *flags,
                     directory=directory)
    return run


def test_what_one_daemon_compiled_the_other_has(member):
    a, b = member(), member()
    artifact = a.compile("one").artifact
    reply = b.compile("one")
    assert (reply.cache, reply.artifact) == (HIT, artifact)
    assert b.stats().compiles == 0
    assert b.metric("cache_requests_total", tier="redis", result="hit") == 1
    # And keeps it: from now on without Redis.
    assert b.stats().cache.entries == 1


def test_fault_01_two_daemons_and_a_thousand_callers_make_one_compile(member, tmp_path):
    daemons = [member(), member()]
    count = tmp_path / "count"
    message = request(f"shared @slow=500 @count={count} ")
    calls = []
    for i in range(1000):
        calls.append(daemons[i % 2].compiler.Compile.future(message, timeout=TIME_LIMIT))
    replies = [c.result() for c in calls]
    assert {r.outcome for r in replies} == {OK} and len({r.artifact for r in replies}) == 1
    assert len(count.read_text().splitlines()) == 1


def test_a_daemon_that_dies_with_the_lease_holds_the_fleet_up_no_longer_than_a_compile(
        member, tmp_path):
    a, b = member("--compile-timeout-ms", "3000"), member("--compile-timeout-ms", "3000")
    count = tmp_path / "count"
    text = f"one @slow=1000 @count={count} "
    pending = a.compiler.Compile.future(request(text))  # cancelled when it is forgotten
    wait_for(count.exists, "the compile to begin")
    a.kill()
    begin = time.monotonic()
    assert b.compile(text).outcome == OK
    assert time.monotonic() - begin < 8


def test_records_that_the_fleet_did_not_seal_are_not_believed(member, redis, tmp_path):
    a = member()
    artifact = a.compile("one").artifact
    (record,) = [k for k in redis.cli("keys", "*").splitlines() if "/r/" in k]
    other = tmp_path / "other.key"
    other.write_bytes(os.urandom(32))
    stranger = member(key_file=other)
    assert stranger.compile("one").cache == MISS
    assert stranger.metric("cache_corrupt_records_total", tier="redis") >= 1
    # And one that was sealed for another name.
    redis.cli("flushall")
    a.compile("two")
    (two,) = [k for k in redis.cli("keys", "*").splitlines() if "/r/" in k]
    redis.cli("copy", two, record)
    b = member()
    reply = b.compile("one")
    assert (reply.cache, reply.artifact) == (MISS, artifact)


def test_fault_32_redis_that_goes_away_or_hangs_costs_a_moment_and_nothing_else(member, redis):
    daemon = member("--redis-timeout-ms", "200")
    assert daemon.compile("one").outcome == OK
    redis.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    replies = in_threads(4, lambda i: daemon.compile(f"while it hangs {i} " + "x" * 200_000))
    assert [r.outcome for r in replies] == [OK] * 4
    assert time.monotonic() - begin < 10
    for i in range(5):
        assert daemon.compile(f"later {i}").outcome == OK
    assert daemon.metric("cache_usable", tier="redis") == 0
    redis.process.send_signal(signal.SIGCONT)
    redis.stop()
    assert daemon.compile("without it").outcome == OK
    redis.start()
    begin = time.monotonic()

    def back():
        daemon.compile(f"again {time.monotonic_ns()}")
        return int(redis.cli("dbsize")) > 0
    wait_for(back, "Redis to be used again", limit=45)
    assert daemon.process.poll() is None
    assert "answers again" in daemon.read_log()


def test_fault_21_an_idle_fleet_asks_redis_nothing(member, redis):
    a = member()
    a.compile("one")

    def commands():
        stats = redis.cli("info", "stats")
        return int(next(line.split(":")[1] for line in stats.splitlines()
                        if line.startswith("total_commands_processed")))
    before = commands()
    time.sleep(3)
    assert commands() - before <= 3, "the look itself is one"


def test_fault_30_a_burst_of_readers_does_not_push_artifacts_out(tmp_path):
    redis = Redis(tmp_path, "--maxmemory", "40mb", "--maxmemory-clients", "10%")
    try:
        value = "v" * 100_000
        for i in range(100):
            redis.cli("-x", "set", f"key{i}", input=value)
        assert redis.cli("dbsize") == "100"
        import socket
        readers = []
        for _ in range(300):  # ask for much and read nothing
            reader = socket.socket(socket.AF_UNIX)
            reader.setblocking(True)
            reader.connect(redis.socket)
            try:
                reader.sendall(b"".join(b"GET key%d\r\n" % (i % 100) for i in range(40)))
            except OSError:
                pass  # cut off: that is what the limits are for
            readers.append(reader)
        wait_for(lambda: redis.cli("ping") == "PONG", "redis to answer")
        assert int(redis.cli("dbsize")) >= 95
        for reader in readers:
            reader.close()
    finally:
        redis.stop()
