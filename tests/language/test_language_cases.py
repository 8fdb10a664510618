"""Cases in which kernel languages went wrong, one test a row; the name says where it was seen."""

import importlib.util
import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import drivers
from drivers import DRIVERS, Wrong, kernel

F, H, I32, I64 = np.float32, np.float16, np.int32, np.int64
every_driver = pytest.mark.parametrize("driver", DRIVERS)


@pytest.fixture
def run(driver, server):
    return lambda source, **args: drivers.run(driver, source, args, server)


@pytest.fixture
def package(driver, server, tmp_path, monkeypatch):
    """Imports a text as a module whose kernels run on the driver."""
    if driver == "interpreter":
        monkeypatch.setenv("PYASC_INTERPRET", "1")
        # Whoever asks a service fails.
        monkeypatch.setenv("PYASC_SERVER", f"unix:{tmp_path}/nobody.sock")
    else:
        monkeypatch.setenv("PYASC_SERVER", server)
        monkeypatch.setenv("PYASC_TARGET", driver)

    def load(text):
        path = tmp_path / "kernels_of_the_case.py"
        path.write_text("from __future__ import annotations\nimport pyasc as asc\n"
                        + textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location("kernels_of_the_case", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return load


@every_driver
def test_triton_619_955_division_floors(run):
    a = np.array([-7, 7, -1], I32)
    got = run(kernel("A: asc.int32[N], B: asc.int32[N], C: asc.int32[N]", """
    for i in asc.parallel_for(N):
        B[i] = A[i] // 2
        C[i] = A[i] % 2
"""), A=a, B=np.zeros_like(a), C=np.zeros_like(a))
    np.testing.assert_array_equal(got["B"], [-4, 3, -1])
    np.testing.assert_array_equal(got["C"], [1, 1, 1])


@every_driver
def test_tvm_18684_ceiling_division_of_a_symbolic_extent(run):
    got = run(kernel("A: asc.float32[N], B: asc.int32[1]", """
    for i in range(-(-N // 10)):
        B[0] += 1
"""), A=np.zeros(24, F), B=np.zeros(1, I32))
    assert got["B"][0] == 3


@every_driver
def test_tilelang_845_warp_162_chained_comparison(run):
    got = run(kernel("A: asc.float32[N], B: asc.bool[N]", """
    for i in asc.parallel_for(N):
        B[i] = 0 < A[i] < 1
"""), A=np.array([.5, 2, -1], F), B=np.zeros(3, bool))
    np.testing.assert_array_equal(got["B"], [True, False, False])


@every_driver
def test_taichi_4678_an_integer_start_widens(run):
    a = np.array([.5, .25, 2], F)
    got = run(kernel("A: asc.float32[N], B: asc.float32[1]", """
    s = 0
    for i in range(N):
        s += A[i]
    B[0] = s
"""), A=a, B=np.zeros(1, F))
    assert got["B"][0] == F(2.75)


@every_driver
def test_numba_4922_7344_conditional_parallel_reduction_counts_its_start_once(run):
    a = np.random.default_rng(1).standard_normal(1000).astype(F)
    got = run(kernel("A: asc.float32[N], B: asc.int32[1]", """
    s = 1
    for i in asc.parallel_for(N):
        if A[i] > 0:
            s += 1
    B[0] = s
"""), A=a, B=np.zeros(1, I32))
    assert got["B"][0] == 1 + (a > 0).sum()


@every_driver
def test_taichi_5829_warp_1653_negative_index_wraps(run):
    a = np.arange(5, dtype=F)
    got = run(kernel("A: asc.float32[N], I: asc.int32[1], B: asc.float32[2]", """
    B[0] = A[-1]
    B[1] = A[I[0]]
"""), A=a, I=np.array([-2], I32), B=np.zeros(2, F))
    np.testing.assert_array_equal(got["B"], [4, 3])


@every_driver
@pytest.mark.parametrize("order", [1, -1])
def test_triton_1566_10291_max_and_argmax_keep_nan(run, order):
    a = np.array([np.nan, 6, 8], F)[::order].copy()
    got = run(kernel("A: asc.float32[N]", """
    m = A[0]
    for i in range(1, N):
        m = max(m, A[i])
    return asc.max(A), asc.argmax(A), m, asc.min(A), asc.argmin(A)
"""), A=a)
    where = int(np.flatnonzero(np.isnan(a))[0])
    for name in ("return.0", "return.2", "return.3"):
        assert np.isnan(got[name]), name
    assert got["return.1"] == where and got["return.4"] == where


@every_driver
@pytest.mark.parametrize("form", ["loop", "memory", "library"])
def test_tilelang_ascend_754_1683_half_sums_are_taken_in_float32(run, form):
    body = {"loop": "    s = 0.0\n    for i in range(N):\n        s += A[i]\n    B[0] = s\n",
            "memory": "    for i in range(N):\n        B[0] += A[i]\n",
            "library": "    B[0] = asc.sum(A)\n"}[form]
    source = kernel("A: asc.float16[N], B: asc.float16[1]", body)
    got = run(source, A=np.ones(4096, H), B=np.zeros(1, H))
    assert got["B"][0] == 4096
    # Columns that are not constant: the float64 sum, rounded once, or its neighbour.
    for seed in range(3):
        a = np.abs(np.random.default_rng(seed).standard_normal(4096)).astype(H)
        got = run(source, A=a, B=np.zeros(1, H))
        exact = a.astype(np.float64).sum()
        assert abs(float(got["B"][0]) - exact) <= exact * 2.0 ** -10, (got["B"][0], exact)


@every_driver
def test_dion_103_an_int32_offset_does_not_wrap(run):
    got = run(kernel("A: asc.float32[N], r: asc.int32, start: int, B: asc.float32[1], I: asc.int32[1]",
                     """
    B[0] = A[r * 7864320 - start]
    B[0] += A[I[0] * 7864320 - start + 1]
"""), A=np.arange(4, dtype=F), r=319, start=319 * 7864320 - 2, B=np.zeros(1, F),
              I=np.array([319], I32))
    assert got["B"][0] == 5


@every_driver
def test_halide_8161_jax_24023_aliased_input_and_output_are_refused(package, driver):
    module = package("""
        @asc.kernel
        def mirror(A: asc.float32[N], B: asc.float32[N]):
            for i in asc.parallel_for(N):
                B[i] = A[N - 1 - i]

        @asc.kernel
        def double(A: asc.float32[N], B: asc.float32[N]):
            for i in asc.parallel_for(N):
                B[i] = A[i] * 2.0
        """)
    a = np.arange(6, dtype=F)
    with pytest.raises(ValueError, match="shares memory"):
        module.mirror(a, a)
    np.testing.assert_array_equal(a, np.arange(6))
    with pytest.raises(ValueError, match="shares memory"):
        module.mirror(a[:4], a[2:])
    # Each element is read only where it is written.
    module.double(a, a)
    np.testing.assert_array_equal(a, np.arange(6) * 2)


@every_driver
def test_burn_4694_a_masked_row_of_softmax_is_nan(run):
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(F)
    x[1] = -np.inf
    got = run(kernel("A: asc.float32[N, M]", "    return asc.softmax(A)"), A=x)["return"]
    assert np.isnan(got[1]).all()
    assert np.isfinite(got[[0, 2]]).all()


@every_driver
def test_hicann_pyasc_a_helper_is_specialised_by_its_arguments(run):
    got = run(kernel("A: asc.float32[1], B: asc.float32[4]", """
    B[0] = helper(1)
    B[1] = helper(2)
    B[2] = helper(2.5)
    B[3] = helper(A[0])
""", before="def helper(x):\n    return x * 3 // 2\n\n\n"), A=np.array([1.5], F), B=np.zeros(4, F))
    np.testing.assert_array_equal(got["B"], [1, 3, 3, 2])


@every_driver
def test_hicann_pyasc_a_changed_module_constant_is_a_new_kernel(run, package):
    text = """
        TILE = 8

        @asc.kernel
        def fill(B: asc.float32[N]):
            for i in range(0, N, TILE):
                B[i] = TILE
        """
    module = package(text)
    for tile in (8, 16, 8):
        module.TILE = tile
        b = np.zeros(32, F)
        module.fill(b)
        np.testing.assert_array_equal(np.flatnonzero(b), np.arange(0, 32, tile))
        assert b[0] == tile
    for tile in (8, 16):
        source = kernel("B: asc.float32[N]", "    B[0] = TILE", before=f"TILE = {tile}\n\n\n")
        assert run(source, B=np.zeros(1, F))["B"][0] == tile


@every_driver
def test_hicann_pyasc_int_plus_float_remainder_and_unsigned_comparison(run):
    got = run(kernel("A: asc.int32[2], U: asc.uint32[2], B: asc.float32[2], C: asc.int32[2], "
                     "E: asc.bool[2]", """
    for i in range(2):
        B[i] = A[i] + 0.5
        C[i] = A[i] % 3
        E[i] = U[i] > 5
"""), A=np.array([1, -7], I32), U=np.array([3, 2**31 + 1], np.uint32), B=np.zeros(2, F),
              C=np.zeros(2, I32), E=np.zeros(2, bool))
    np.testing.assert_array_equal(got["B"], [1.5, -6.5])
    np.testing.assert_array_equal(got["C"], [1, 2])
    np.testing.assert_array_equal(got["E"], [False, True])


@every_driver
def test_hicann_pyasc_a_strided_output_is_written_through_its_strides(package):
    module = package("""
        @asc.kernel
        def double(A: asc.float32[N], B: asc.float32[N]):
            for i in asc.parallel_for(N):
                B[i] = A[i] * 2.0
        """)
    whole = np.full(9, -1, F)
    module.double(np.arange(10, dtype=F)[::2], whole[::2])
    np.testing.assert_array_equal(whole, [0, -1, 4, -1, 8, -1, 12, -1, 16])
    module.double(np.arange(5, dtype=F), whole[::-2])
    np.testing.assert_array_equal(whole[::-2], [0, 2, 4, 6, 8])


def profile(tmp_path, server, target, n):
    path = tmp_path / "saxpy.py"
    path.write_text((drivers.ROOT / "docs" / "examples" / "saxpy.py").read_text())
    done = subprocess.run(
        [str(drivers.BUILD / "bin" / "pyasc"), "profile", str(path), "--server", server, "--target",
         target, "--arg", "alpha=2.0", "--arg", f"x=ones:f32[{n}]", "--arg", f"y=ones:f32[{n}]",
         "--json", str(tmp_path / "r.json")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize("target", ["sim", "host"])
def test_triton_8948_a_kernel_that_takes_no_time_is_profiled(tmp_path, server, target):
    profile(tmp_path, server, target, 0)


def numbers(tree, path=""):
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from numbers(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for value in tree:
            yield from numbers(value, path)
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield path.split(".")[-1], tree


@pytest.mark.parametrize("target", ["sim", "host"])
def test_tt_metal_20651_times_and_cycles_are_told_apart_by_their_keys(tmp_path, server, target):
    report = profile(tmp_path, server, target, 1 << 16)
    keys = {key for key, _ in numbers(report)}
    for key in keys:
        if "cycles" in key.lower():
            assert not key.lower().endswith(("ns", "us", "ms", "_s")), key
        lowered = key.lower()
        if any(word in lowered for word in ("time", "duration", "latency")):
            assert lowered.endswith(("ns", "us", "ms", "seconds", "percent", "fraction", "share",
                                     "_s")) or "timestamp" in lowered, key


def test_the_interpreter_needs_neither_a_daemon_nor_grpc(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        from __future__ import annotations
        import sys
        sys.modules["grpc"] = None  # importing it fails
        import numpy as np
        import pyasc as asc

        @asc.kernel
        def double(x: asc.float32[N]):
            for i in asc.parallel_for(N):
                x[i] *= 2.0

        x = np.arange(3, dtype=np.float32)
        double(x)
        assert x.tolist() == [0, 2, 4]
        assert "google.protobuf" not in sys.modules
        """))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=60,
        env={"PYASC_INTERPRET": "1", "PYTHONPATH": str(drivers.ROOT / "client" / "python"),
             "PYASC_SERVER": f"unix:{tmp_path}/nobody.sock", "PATH": "/usr/bin"})
    assert done.returncode == 0, done.stderr
