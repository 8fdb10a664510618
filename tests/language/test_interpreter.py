"""The interpreter alone: errors and their places, prints, random numbers, what the compiler does not
have yet, and its own promises."""

import time

import numpy as np
import pytest

import drivers
from drivers import Wrong, kernel
from pyasc import interpret
from pyasc.interpret import philox

F, H, I32, I64 = np.float32, np.float16, np.int32, np.int64


def run(source, **args):
    return drivers.run("interpreter", source, args)


def k(parameters, body, before="", **args):
    return run(kernel(parameters, body, before=before), **args)


def wrong(parameters, body, before="", debug=False, **args):
    with pytest.raises(Wrong) as caught:
        drivers.run("interpreter", kernel(parameters, body, before=before), args, debug=debug)
    return caught.value


# ---- errors ----

A = np.arange(4, dtype=F)

COMPILE_ERRORS = {
    # body: (code, a word of the message, line of the text; the body begins at line 6)
    "A[0] = B": ("unknown-name", "'B' is not defined", 6),
    "return x": ("unknown-name", "'x'", 6),
    "return asc.exq(A)": ("unknown-function", "asc.exp", 6),
    "return A.shpae": ("unknown-attribute", "shape", 6),
    "I[0] = A[0]": ("float-to-int", "asc.int32", 6),
    "A[9] = 1.0": ("out-of-bounds", "index 9", 6),
    "return A[0.5]": ("bad-index", "integer", 6),
    "return A[True]": ("bad-index", "bool", 6),
    "return A[0, 0]": ("too-many-indices", "1 axis", 6),
    "return A[A > 0]": ("unsupported-mask", "asc.where", 6),
    "if A > 0:\n        A[0] = 1": ("ambiguous-truth", "asc.any", 6),
    "if A[0] > 0:\n        x = 1\n    return x": ("possibly-unbound", "'x'", 8),
    "y = x\n    x = 1": ("unbound-variable", "'x'", 6),
    "if A[0] > 0:\n        return A[0]": ("missing-return", "some paths", 5),
    "if A[0] > 0:\n        x = A * 2\n    else:\n        x = A[0]\n    return x":
        ("variable-type", "another path", 9),
    "for i in asc.parallel_for(4):\n        break": ("parallel-break", "any order", 7),
    "for i in asc.parallel_for(4):\n        return A[0]": ("parallel-return", "any order", 7),
    "s = 0.0\n    for i in asc.parallel_for(4):\n        s = A[i]\n    return s":
        ("parallel-variable", "share 's'", 8),
    "for i in asc.parallel_for(4):\n        pass\n    return i":
        ("parallel-variable", "no last one", 6),
    "lambda: 1": ("unsupported-lambda", "lambda", 6),
    "try:\n        pass\n    except E:\n        pass": ("unsupported-try", "exceptions", 6),
    "with A:\n        pass": ("unsupported-with", "with", 6),
    "import os": ("unsupported-import", "top of the file", 6),
    "global A": ("unsupported-global", "module variables", 6),
    "del A": ("unsupported-del", "del", 6),
    "class C:\n        pass": ("unsupported-class", "class", 6),
    "def f():\n        pass": ("unsupported-nested-function", "module level", 6),
    "yield 1": ("unsupported-generator", "generators", 6),
    "return {1: 2}": ("unsupported-dict", "dictionaries", 6),
    "return A[0] + 'x'": ("type-mismatch", "a string", 6),
    "return A + I[0:3]": ("shape-mismatch", "broadcast", 6),
    "return A @ I": ("shape-mismatch", "inner sizes", 6),
    "return I // 0": ("division-by-zero", "zero", 6),
    "return asc.int8(I[0]) + 300": ("literal-overflow", "300", 6),
    "return asc.exp()": ("argument-count", "exp(x)", 6),
    "return asc.sum(A, axs=0)": ("unknown-argument", "axs", 6),
    "return asc.sum(A, 3)": ("bad-axis", "axis 3", 6),
    "return asc.zeros(I[0])": ("not-static", "compile time", 6),
    "assert 1 > 2, 'never'": ("assertion-failed", "never", 6),
    "asc.assert_shape(A, (5,))": ("assertion-failed", "(5,)", 6),
    "a, b = A[0], A[1], A[2]": ("unpack-mismatch", "3 values", 6),
    "return A[0] is A[1]": ("unsupported-is", "==", 6),
    "return A.append(1)": ("unknown-attribute", "append", 6),
    "x = 1 + 2j": ("unsupported-complex", "complex", 6),
    "return 99999999999999999999999": ("integer-too-large", "64 bits", 6),
    "return state": ("host-data", "host code", 6),
}


@pytest.mark.parametrize("driver", ["interpreter", "host"])
@pytest.mark.parametrize("body", COMPILE_ERRORS)
def test_what_is_wrong_is_said_with_its_line(body, driver, server):
    code, word, line = COMPILE_ERRORS[body]
    source = kernel("A: asc.float32[N], I: asc.int32[M]", f"    {body}",
                    before="state = open('x')\n")
    with pytest.raises(Wrong) as caught:
        drivers.run(driver, source, dict(A=A, I=np.arange(3, dtype=I32) + 5), server)
    error = caught.value
    assert (error.kind, error.code, error.line) == ("compile", code, line + 1), error
    assert word in error.message


RUN_ERRORS = {
    "return A[I[2]]": ("index 7 is out of bounds for axis 0 with size 4", 6),
    "return A[-I[2]]": ("index -7", 6),
    "A[I[2]] = 1.0": ("index 7", 6),
    "return asc.take(A, I, 0)": ("index 5", 6),
    "return I[0] // (I[0] - 5)": ("modulo by zero", 6),
    "assert A[0] > 1, 'A is small'": ("assertion failed: A is small", 6),
    "asc.device_assert(A[0] > 1, 'small')": ("assertion failed: small", 6),
    "for i in range(0, 4, I[0] - 5):\n        A[0] = 1.0": ("must not be zero", 6),
}


@pytest.mark.parametrize("driver", drivers.DRIVERS)
@pytest.mark.parametrize("body", RUN_ERRORS)
def test_what_fails_is_said_with_its_line(body, driver, server):
    word, line = RUN_ERRORS[body]
    source = kernel("A: asc.float32[N], I: asc.int32[M]", f"    {body}")
    with pytest.raises(Wrong) as caught:
        drivers.run(driver, source, dict(A=A, I=np.arange(3, dtype=I32) + 5), server, debug=True)
    error = caught.value
    assert (error.kind, error.line) == ("run", line), error
    assert word in error.message


def test_the_message_of_an_assert_may_hold_values():
    error = wrong("A: asc.float32[N]", "    assert A[0] > 1, f'A is {A[0]}'", debug=True, A=A)
    assert error.message == "assertion failed: A is 0.0"


def test_a_name_that_the_run_leaves_unbound_is_said_with_its_line():
    error = wrong("A: asc.float32[N], n: int", """
    for i in range(n):
        x = A[i]
    return x
""", A=A, n=0)
    assert (error.kind, error.code, error.line) == ("run", "possibly-unbound", 8)


def test_a_run_that_fails_takes_its_writes_back():
    a = A.copy()
    with pytest.raises(interpret.RunError):
        interpret.run_text(kernel("A: asc.float32[N], n: int", "    A[0] = 9.0\n    A[n] = 1.0"),
                           None, dict(A=a, n=7))
    np.testing.assert_array_equal(a, A)


def test_an_error_in_a_helper_names_the_call():
    with pytest.raises(interpret.CompileError) as caught:
        interpret.run_text(kernel("A: asc.float32[N]", "    return f(A[0])",
                                  before="def f(x):\n    return x[0]\n\n\n"), None, dict(A=A))
    assert "in 'f', called here" in str(caught.value)
    assert caught.value.diagnostics[0].notes[0].range.line == 10


def test_a_syntax_error_is_a_diagnostic():
    error = wrong("A: asc.float32[N]", "    x = = 1", A=A)
    assert error.code == "syntax-error" and error.line == 6


@pytest.mark.parametrize("args, code", [
    (dict(A=A.astype(np.float64), B=A), "type-mismatch"),
    (dict(A=A.reshape(2, 2), B=A), "rank-mismatch"),
    (dict(A=A, B=A[:3]), "dim-mismatch"),
    (dict(A=A), "missing-argument"),
    (dict(A=A, B=A, C=A), "unknown-argument"),
    (dict(A=1.0, B=A), "type-mismatch")])
def test_wrong_arguments_are_named(args, code):
    assert wrong("A: asc.float32[N], B: asc.float32[N]", "    return A + B", **args).code == code


def test_float64_is_the_hosts_alone():
    source = kernel("A: asc.float64[N]", "    return A * 2")
    a = A.astype(np.float64)
    assert interpret.run_text(source, None, dict(A=a), target="host").value.dtype == np.float64
    with pytest.raises(interpret.CompileError, match="float64-unsupported"):
        interpret.run_text(source, None, dict(A=a))


# ---- meaning ----

def test_host_code_is_not_executed(tmp_path):
    marker = tmp_path / "marker"
    before = f"open({str(marker)!r}, 'w')\nfor TILE in range(3):\n    print(TILE)\n\n\n"
    k("A: asc.float32[N]", "    return A[0]", before=before, A=A)
    assert not marker.exists()


def test_iterations_of_parallel_loops_can_be_shuffled():
    source = kernel("A: asc.int32[N], B: asc.int32[1]", """
    for i in asc.parallel_for(N):
        B[0] = A[i]
""")
    seen = set()
    for seed in range(8):
        b = np.zeros(1, I32)
        interpret.run_text(source, None, dict(A=np.arange(50, dtype=I32), B=b), shuffle=seed)
        seen.add(int(b[0]))
    assert len(seen) > 1


def test_prints_are_lines_in_order_and_only_in_debug_mode():
    source = kernel("A: asc.float32[N], I: asc.int32[M]", """
    asc.print("start", N, f"{{braces}} {A[1]:.2f}")
    for i in range(2):
        print(i, A[i], I[i] > 0, (i, 2))
    asc.print(A, asc.float16(0.1), A.dtype)
""")
    args = dict(A=A + F(0.1), I=np.array([0, 1], I32))
    assert interpret.run_text(source, None, args).prints == []
    echoed = []
    outcome = interpret.run_text(source, None, args, debug=True, echo=lambda text, line: echoed.append(text))
    assert outcome.prints == echoed == [
        "start 4 {braces} 1.10", "0 0.1 False (0, 2)", "1 1.1 True (1, 2)",
        "[0.1, 1.1, 2.1, 3.1] 0.1 float32"]


def test_mixed_precision_rounds_the_wider_operand():
    a, b = np.full((2, 3), 1.0009766, F), np.ones((3, 2), H)
    source = kernel("A: asc.float32[N, K], B: asc.float16[K, M]", "    return asc.matmul(A, B)")
    assert interpret.run_text(source, None, dict(A=a, B=b)).value.dtype == F
    got = interpret.run_text(source, None, dict(A=a, B=b), precision="mixed").value
    assert got.dtype == H
    np.testing.assert_array_equal(got, (a.astype(H).astype(F) @ b.astype(F)).astype(H))


def test_bfloat16_rounds_to_nearest_even():
    def bits(x):
        return (np.asarray(x, F).view(np.uint32) >> 16).astype(np.uint16)
    values = np.array([1.0, 1.0078125, 256.0, -3.0], F)
    a = bits(values).view("V2")
    source = kernel("A: asc.bfloat16[N], B: asc.float32[N]", """
    for i in range(N):
        B[i] = A[i] + A[i] * 0.0078125
    return A + 1
""")
    b = np.zeros(4, F)
    got = interpret.run_text(source, None, dict(A=a, B=b)).value
    wide = values.astype(np.float64)
    product = wide * 0.0078125
    # Each operation rounds to bfloat16: eight bits.
    def rounded(x):
        _, e = np.frexp(x)
        unit = np.ldexp(1.0, e - 8)
        return np.rint(x / unit) * unit
    np.testing.assert_array_equal(b, rounded(wide + rounded(product)))
    np.testing.assert_array_equal(np.asarray(got).view(np.uint16), bits(rounded(wide + 1)))


def test_a_variable_has_one_type_over_all_paths():
    # 16777217 is no float32: the branch that is not taken decides.
    source = kernel("n: int, x: float", """
    if n > 3:
        v = 16777217
    else:
        v = x
    return v
""")
    assert run(source, n=5, x=0.5)["return"] == F(16777216)


def test_a_loop_of_ten_thousand_iterations_takes_well_under_a_second():
    source = kernel("A: asc.float32[N], B: asc.float32[N]", """
    for i in range(N):
        x = A[i] * 2 + 1
        if x > 0 and i < N - 1:
            x = x - A[i + 1]
        B[i] = max(x, 0.5)
""")
    a = np.random.default_rng(1).standard_normal(10000).astype(F)
    args = dict(A=a, B=np.zeros_like(a))
    interpret.run_text(source, None, dict(A=a[:2], B=np.zeros(2, F)))
    begin = time.process_time()
    interpret.run_text(source, None, args)
    assert time.process_time() - begin < 0.8


def test_the_library_is_the_packages():
    import inspect
    from pyasc import library as stubs
    from pyasc.interpret import library
    for name in stubs.__all__:
        entry = library.TABLE[("asc", name)]
        assert str(entry.signature) == str(inspect.signature(getattr(stubs, name))), name


def test_deep_nesting_is_an_error_and_no_crash():
    for text in ("(" * 5000 + "A[0]" + ")" * 5000, "-" * 5000 + "A[0]", "A[0]" + " + 1" * 20000):
        error = wrong("A: asc.float32[N]", f"    return {text}", A=A)
        assert error.code in ("nesting-too-deep", "syntax-error"), error


# ---- what the compiler does not have yet ----

def test_philox_gives_the_known_answers():
    # The known-answer vectors that the generator's authors publish.
    table = [((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
             ((0xffffffff,) * 4, (0xffffffff,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
             ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), (0xa4093822, 0x299f31d0),
              "d16cfe09 94fdcceb 5001e420 24126ea1")]
    for counter, key, words in table:
        assert " ".join(f"{int(w):08x}" for w in philox.words(counter, key)) == words


def test_random_numbers_depend_on_seed_and_index_alone():
    source = kernel("s: int", "    return asc.rand((40, 50), s), asc.randn(7, s), "
                              "asc.rand(2000, s, asc.float16)")
    got = run(source, s=5)
    again, other = run(source, s=5), run(source, s=-6)
    for name in got:
        np.testing.assert_array_equal(got[name], again[name])
        assert (got[name] != other[name]).any()
    u = got["return.0"]
    assert u.dtype == F and 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.03
    short = run(kernel("s: int", "    return asc.rand(3, s)"), s=5)["return"]
    np.testing.assert_array_equal(short, u.reshape(-1)[:3])
    np.testing.assert_array_equal(got["return.2"], u.reshape(-1).astype(H))
    z = run(kernel("s: int", "    return asc.randn(20000, s)"), s=1)["return"].astype(float)
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03


def convolve(x, w, stride, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    n, _, height, width = x.shape
    f, _, kh, kw = w.shape
    oh, ow = (height - kh) // stride[0] + 1, (width - kw) // stride[1] + 1
    out = np.zeros((n, f, oh, ow))
    for i in range(oh):
        for j in range(ow):
            part = x[:, :, i * stride[0]:i * stride[0] + kh, j * stride[1]:j * stride[1] + kw]
            out[:, :, i, j] = np.einsum("nchw,fchw->nf", part, w)
    return out


@pytest.mark.parametrize("stride, padding", [(1, 0), (2, 1), ((1, 3), (2, 0))])
def test_conv2d(stride, padding):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((2, 3, 9, 8)).astype(F), rng.standard_normal((4, 3, 3, 2)).astype(F)
    b = rng.standard_normal(4).astype(F)
    got = k("x: asc.tensor, w: asc.tensor, b: asc.tensor",
            f"    return asc.conv2d(x, w, b, stride={stride}, padding={padding})", x=x, w=w, b=b)
    pair = [v if isinstance(v, tuple) else (v, v) for v in (stride, padding)]
    right = convolve(x.astype(float), w.astype(float), *pair) + b[:, None, None]
    np.testing.assert_allclose(got["return"], right, rtol=1e-5, atol=1e-5)


def test_pooling():
    x = np.random.default_rng(1).standard_normal((1, 2, 6, 5)).astype(F)
    got = k("x: asc.tensor", "    return asc.max_pool2d(x, 2), asc.avg_pool2d(x, (3, 2), stride=1, "
                             "padding=1)", x=x)
    right = np.stack([[[x[0, c, 2 * i:2 * i + 2, 2 * j:2 * j + 2].max() for j in range(2)]
                       for i in range(3)] for c in range(2)])
    np.testing.assert_array_equal(got["return.0"][0], right)
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(float)
    right = np.stack([[[p[0, c, i:i + 3, j:j + 2].mean() for j in range(6)] for i in range(6)]
                      for c in range(2)])
    np.testing.assert_allclose(got["return.1"][0], right, rtol=1e-5, atol=1e-6)


def test_sort_and_topk():
    x = np.array([[3, np.nan, 1, 3], [0, -1, 7, 2]], F)
    got = k("x: asc.tensor", """
    v, i = asc.topk(x, 3)
    return asc.sort(x), asc.sort(x, axis=0, descending=True), v, i
""", x=x)
    np.testing.assert_array_equal(got["return.0"], np.sort(x, -1))
    np.testing.assert_array_equal(got["return.1"], [[3, np.nan, 7, 3], [0, -1, 1, 2]])
    np.testing.assert_array_equal(got["return.2"], [[np.nan, 3, 3], [7, 2, 0]])
    np.testing.assert_array_equal(got["return.3"], [[1, 0, 3], [2, 3, 0]])
    assert got["return.3"].dtype == I64


def test_scatter_and_atomics():
    x = np.zeros((4, 2), F)
    got = k("x: asc.float32[N, M], i: asc.int32[K], v: asc.float32[K, M], h: asc.int32[B]", """
    asc.scatter(x, i, v)
    for j in asc.parallel_for(K):
        asc.atomic_add(h, i[j], 2)
        asc.atomic_max(h, 3, j)
        asc.atomic_min(h, 4, -j)
    return asc.block_idx() < asc.num_blocks()
""", x=x, i=np.array([2, 0, 2], I32), v=np.arange(6, dtype=F).reshape(3, 2), h=np.zeros(5, I32))
    np.testing.assert_array_equal(got["x"], [[2, 3], [0, 0], [4, 5], [0, 0]])
    np.testing.assert_array_equal(got["h"], [2, 0, 4, 2, -2])
    assert got["return"]
