"""In what order and how often a kernel evaluates, jumps and counts: as Python does. What is expected
here was worked out by CPython where it can run the text, and by hand from its rules elsewhere."""

import numpy as np
import pytest

import drivers
from drivers import Wrong, kernel

F, I8, I32, I64, U8, U64 = np.float32, np.int8, np.int32, np.int64, np.uint8, np.uint64
every_driver = pytest.mark.parametrize("driver", drivers.DRIVERS)
BIG = 2 ** 62


@pytest.fixture
def run(driver, server):
    return lambda source, **args: drivers.run(driver, source, args, server)


class Asc:
    """What the texts below use of `asc`, in plain Python."""
    parallel_for = range
    static_range = range

    @staticmethod
    def kernel(function):
        return function


def python(source, **args):
    """The text run by CPython on lists: its result, and its arguments after it."""
    scope = {"asc": Asc}
    code = "from __future__ import annotations\n" + source.replace("import pyasc as asc", "")
    exec(compile(code, "kernel", "exec"), scope)
    args = {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in args.items()}
    return scope["k"](**args), args


def agree(run, source, **args):
    result, after = python(source, **args)
    got = run(source, **args)
    for name, value in got.items():
        if name.startswith("return"):
            part = result if name == "return" else result[int(name.split(".")[1])]
            assert value == part, f"{name}: {value}, and Python says {part}\n{source}"
        else:
            assert value.tolist() == after[name], f"{name}: Python says {after[name]}\n{source}"


JUMPS = {
    "continue_in_else": """
    for j in range(4):
        for i in range(3):
            pass
        else:
            continue
        o[j] = 9
""",
    "break_in_else": """
    for j in range(4):
        o[j] = 1
        for i in range(j):
            o[4] += 1
        else:
            break
        o[j] = 9
""",
    "continue_in_else_after_a_break": """
    for j in range(4):
        for i in range(3):
            if i == j:
                break
        else:
            continue
        o[j] = 9
""",
    "break_in_else_of_while": """
    for j in range(4):
        i = 0
        while i < 2:
            if j == 0:
                break
            i += 1
        else:
            o[7] = i
            break
        o[j] = 9
""",
    "jumps_in_else_under_a_condition": """
    for j in range(6):
        if j != 2:
            for i in range(3):
                if i == j:
                    break
            else:
                if n == j:
                    break
                continue
            o[j] += 5
        o[j] += 1
""",
    "continue_in_else_of_an_unrolled_loop": """
    for j in asc.static_range(4):
        for i in asc.static_range(2):
            if j == n:
                break
        else:
            continue
        o[j] = 9
""",
    "return_in_else": """
    for j in range(4):
        for i in range(3):
            if i == j:
                break
        else:
            return
        o[j] = 9
""",
}


@every_driver
@pytest.mark.parametrize("name", JUMPS)
@pytest.mark.parametrize("n", [0, 4])
def test_a_jump_in_the_else_of_a_loop_leaves_the_loop_around(run, name, n):
    agree(run, kernel("o: asc.int32[8], n: int", JUMPS[name]), o=np.zeros(8, I32), n=n)


ORDER = {
    "augmented": "    o[0] += g(o)\n",
    "augmented_product": "    o[0] *= g(o)\n",
    "written_out": "    o[0] = o[0] + g(o)\n",
    "written_out_right": "    o[0] = g(o) + o[0]\n",
    "other_element": "    o[1] += g(o)\n",
    "subscript_that_the_value_changes": "    o[o[1]] = o[o[1]] + h(o)\n",
    "augmented_subscript": "    o[o[1]] += h(o)\n",
    "tuple": "    a, b, c = o[0], g(o), o[0]\n    o[1] = a\n    o[2] = b * 100 + c\n",
    "targets": "    i = 0\n    i, o[i] = 2, 7\n",
    "chained_targets": "    i = 1\n    i = o[i] = 2\n",
    "arguments": "    o[1] = f(o[0], g(o), o[0])\n",
    "keywords": "    o[1] = f(c=o[0], b=g(o), a=o[0])\n",
    "comparison": "    o[1] = 1 if o[0] < g(o) < o[0] else 2\n",
    "or": "    if n > 3 or g(o) > 5:\n        o[1] = o[0]\n    o[2] = o[0]\n",
    "walrus": "    a = n + (n := 7) + n\n    o[1] = a\n",
    "walrus_in_a_sum": "    s = 5\n    s += (s := 3)\n    o[1] = s\n",
    "walrus_that_is_not_reached": "    j = 50\n    if n > 3 and (j := n) > 2:\n        o[1] = 8\n"
                                  "    o[2] = j\n",
    "walrus_in_a_choice": "    j = 50\n    o[1] = (j := 6) if n > 3 else j + 1\n    o[2] = j\n",
    "walrus_in_a_test": "    if (j := n - 1) > 100:\n        o[1] = j\n    o[2] = j\n",
    "walrus_in_a_while": "    while (j := n - 1) > 1:\n        n -= 1\n        o[1] += j\n    o[2] = j\n",
    "walrus_in_a_chain": "    j = 50\n    if 3 < n < (j := 9):\n        o[1] = j\n    o[2] = j\n",
}
HELPERS = """def g(o):
    o[0] = 10
    return 1


def h(o):
    o[1] = 2
    return 30


def f(a, b, c):
    return a * 100 + b * 10 + c


"""


@every_driver
@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("n", [2, 6])
def test_operands_are_evaluated_from_left_to_right(run, name, n):
    agree(run, kernel("o: asc.int32[4], n: int", ORDER[name], before=HELPERS),
          o=np.array([3, 1, 0, 0], I32), n=n)


@every_driver
@pytest.mark.parametrize("n", [100, 11, 2])
def test_a_chained_comparison_stops_where_it_fails(run, n):
    source = kernel("n: int, x: asc.int32[3]", """
    if n < 3 > x[n] < n:
        return 1
    if 10 > n < x[n]:
        return 2
    return 0
""")
    agree(run, source, n=n, x=np.array([4, 5, 6], I32))


@every_driver
def test_a_default_has_the_value_of_the_time_of_its_definition(run):
    before = "Q = 6\n\n\ndef h(b=Q, *, c=Q + 1):\n    return b * 10 + c\n\n\nQ = 7\n\n\n"
    agree(run, kernel("n: int", "    return h(), Q", before=before), n=1)
    with pytest.raises(Wrong, match="default"):
        run(kernel("n: int", "    return h()",
                   before="Q = open('f').read()\n\n\ndef h(b=Q):\n    return b\n\n\nQ = 7\n\n\n"), n=1)


@every_driver
@pytest.mark.parametrize("bounds", [
    (0, 2 ** 63 - 1, BIG), (1, -2 ** 63, -BIG), (-2 ** 63, 2 ** 63 - 1, BIG),
    (2 ** 63 - 1, -2 ** 63, -BIG), (-5, 2 ** 63 - 1, 2 ** 63 - 1), (2 ** 63 - 3, 2 ** 63 - 1, 1),
    (2 ** 63 - 4, 2 ** 63 - 1, 2), (-2 ** 63 + 2, -2 ** 63, -1), (0, 10, 3), (10, 0, -3), (3, 3, 1)])
@pytest.mark.parametrize("known", [True, False])
def test_a_range_counts_without_overflow(run, bounds, known):
    body = """
    s = 0
    last = 0
    for i in range({}):
        s += 1
        last = i
    return s, last
"""
    steps = range(*bounds)
    if known:
        got = run(kernel("n: int", body.format(f"{bounds[0]}, {bounds[1]}, {bounds[2]}")), n=1)
    else:
        got = run(kernel("a: int, b: int, c: int", body.format("a, b, c")),
                  a=bounds[0], b=bounds[1], c=bounds[2])
    assert (got["return.0"], got["return.1"]) == (len(steps), steps[-1] if steps else 0)


VALUES = [-2 ** 31, -3, -1, 0, 1, 3, 2 ** 24, 2 ** 24 + 1, 2 ** 31 - 1]
FLOATS = [-np.inf, -2.0 ** 63, -2.0 ** 31, -3.5, -3.0, -0.0, .5, 3.0, 2.0 ** 24, 2.0 ** 31,
          2.0 ** 63, np.inf, np.nan]
COMPARISONS = "<", "<=", "==", "!=", ">", ">="


@every_driver
@pytest.mark.parametrize("dtype", [I32, I64, U64])
def test_an_integer_and_a_float_are_compared_as_they_are(run, dtype):
    values = np.array([v for v in VALUES if v >= 0 or dtype is not U64] +
                      ([2 ** 63 - 1] if dtype is not I32 else []) +
                      ([2 ** 64 - 1] if dtype is U64 else []), dtype)
    kind = f"asc.{np.dtype(dtype).name}"
    body = "".join(f"            o[{k}, i, j] = x[i] {op} y[j]\n" for k, op in enumerate(COMPARISONS))
    source = kernel(f"x: {kind}[N], y: asc.float32[M], o: asc.bool[6, N, M]",
                    "    for i in range(N):\n        for j in range(M):\n" + body)
    floats = np.array(FLOATS, F)
    got = run(source, x=values, y=floats, o=np.zeros((6, len(values), len(floats)), bool))["o"]
    for k, op in enumerate(COMPARISONS):
        for i, v in enumerate(values.tolist()):
            for j, f in enumerate(floats.tolist()):
                right = eval(f"v {op} f")
                assert got[k, i, j] == right, f"{v} {op} {f} is {right}"


@every_driver
def test_literals_are_compared_as_they_are(run):
    got = run(kernel("n: int, x: asc.int32[3], u: asc.uint8[2], f: asc.float32[1]", """
    return n == 16777216.0, x > 16777216.0, x <= 2.5, u > -1, u < 256, u == 300, f[0] == 16777217
"""), n=2 ** 24 + 1, x=np.array([2, 3, 2 ** 24 + 1], I32), u=np.array([0, 255], U8),
              f=np.array([2 ** 24], F))
    expected = [False, [False, False, True], [True, False, False], [True, True], [True, True],
                [False, False], False]
    assert [np.asarray(got[f"return.{i}"]).tolist() for i in range(7)] == expected


@every_driver
@pytest.mark.parametrize("body", [
    "    return x ** y", "    z = x[0] ** y[0]\n    return z",
    "    for i in range(2):\n        x[i] = x[i] ** y[i]"])
def test_an_integer_to_a_negative_power_is_an_error(run, body):
    source = kernel("x: asc.int32[2], y: asc.int32[2]", body)
    with pytest.raises(Wrong, match="negative power"):
        run(source, x=np.array([2, 3], I32), y=np.array([-1, 2], I32))
    got = run(source, x=np.array([2, -3], I32), y=np.array([10, 3], I32))
    right = [1024, -27]
    assert np.asarray(next(iter(got.values()))).tolist() in (right, right[0])


@every_driver
def test_the_inverse_of_a_bool_scalar_is_refused(run):
    with pytest.raises(Wrong, match="write 'not'"):
        run(kernel("b: bool", "    return ~b"), b=True)
    got = run(kernel("b: asc.bool[2]", "    return ~b"), b=np.array([True, False]))
    assert got["return"].tolist() == [False, True]


INTEGERS = "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"


@every_driver
@pytest.mark.parametrize("form", ["tensor", "element", "int"])
def test_a_float_beyond_an_integer_type_gives_the_nearest_of_it(run, form):
    floats = [np.nan, np.inf, -np.inf, 1e30, -1e30, 2.5, -2.5, -0.5, 127.9, 128., 255.9, 256., -129.,
              32767., 32768., 65535., 65536., 2. ** 31, -2. ** 31, -2.1e9, 2. ** 32, 2. ** 63,
              -2. ** 63, 2. ** 64]
    types = ["int64"] if form == "int" else INTEGERS
    if form == "tensor":
        source = kernel("x: asc.float32[N]", f"    return {', '.join(f'asc.{t}(x)' for t in types)}")
    else:
        outputs = ", ".join(f"o{k}: asc.{t}[N]" for k, t in enumerate(types))
        source = kernel(f"x: asc.float32[N], {outputs}", "    for i in range(N):\n" + "".join(
            f"        o{k}[i] = {'int' if form == 'int' else f'asc.{t}'}(x[i])\n"
            for k, t in enumerate(types)))
    args = {} if form == "tensor" else {f"o{k}": np.zeros(len(floats), t)
                                        for k, t in enumerate(types)}
    got = run(source, x=np.array(floats, F), **args)
    for k, t in enumerate(types):
        ends = np.iinfo(t)
        right = [0 if f != f else ends.max if f > ends.max else ends.min if f < ends.min else int(f)
                 for f in np.array(floats, F).tolist()]
        name = f"o{k}" if form != "tensor" else f"return.{k}" if len(types) > 1 else "return"
        assert got[name].tolist() == right, t


@every_driver
def test_a_literal_beyond_an_integer_type_is_refused(run):
    for text in ("asc.int8(300.0)", "asc.uint32(-1.0)", "int(float('nan'))", "asc.int32(math.inf)"):
        with pytest.raises(Wrong, match="does not fit"):
            run(kernel("n: int", f"    return {text}", before="import math\n\n\n"), n=1)
