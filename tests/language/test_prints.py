"""What kernels print and assert, on the interpreter, on sim and on host: the same lines."""

import drivers
import numpy as np
import pytest
from drivers import asc
from pyasc import _arrays, _service, interpret
from pyasc.v1 import compile_pb2, execution_pb2

F, I32 = np.float32, np.int32


def kernel(parameters, body, before="", debug=True):
    return f"{before}\n@asc.kernel(debug={debug})\ndef k({parameters}):\n{body}\n"


def printed(driver, source, args, server):
    """(lines, error): lines as (core, line, text); the first diagnostic of a run that failed."""
    args = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
    lines = []
    if driver == "interpreter":
        try:
            interpret.run_text(source, None, args, target="host",
                               echo=lambda text, line: lines.append((0, line, text)))
        except asc.RunError as error:
            return lines, error.diagnostics[0]
        return lines, None
    start = execution_pb2.RunStart()
    start.compile.target = _service.TARGETS[driver]
    start.compile.files.add(content=source.encode())
    for name, value in args.items():
        argument = start.arguments.add(name=name)
        if isinstance(value, np.ndarray):
            argument.tensor.type.dtype = _arrays.dtype_number(value.dtype, name)
            argument.tensor.type.shape.extend(value.shape)
            argument.tensor.inline_data = value.tobytes()
        elif isinstance(value, bool):
            argument.scalar.bool_value = value
        elif isinstance(value, int):
            argument.scalar.int_value = value
        else:
            argument.scalar.float_value = value
    _, done = _service.service(server).run(
        start, {}, 60, lambda p: lines.append((p.core, p.range.line, p.text)))
    assert not done.failure, done.failure
    errors = [d for d in done.diagnostics if d.severity == 1]
    assert (done.outcome == compile_pb2.OUTCOME_OK) == (not errors)
    return lines, errors[0] if errors else None


def agree(source, args, server, drivers_=("sim", "host")):
    """Runs everywhere; sim's cores in order. Returns the interpreter's lines and error."""
    want, error = printed("interpreter", source, args, server)
    for driver in drivers_:
        got, found = printed(driver, source, args, server)
        assert [g[1:] for g in got] == [w[1:] for w in want], driver
        assert (found is None) == (error is None), (driver, found, error)
        if error is not None:
            assert found.message == error.message, driver
            assert found.range.line == error.range.line, driver
    return [text for _, _, text in want], error


VALUES = {
    "bool": [True, False], "int8": [-128, 127], "uint8": [0, 255], "int16": [-32768, 5],
    "uint16": [65535, 1], "int32": [-2**31, 2**31 - 1], "uint32": [2**32 - 1, 0],
    "int64": [-2**63, 2**63 - 1], "uint64": [2**64 - 1, 3],
    "float16": [0.1, 65504.0, 6e-8, np.inf], "float32": [0.1, 1 / 3, 1e20, -0.0, np.nan, 1e-5],
}


@pytest.mark.parametrize("dtype", VALUES)
def test_every_dtype_prints_as_in_python(dtype, server):
    values = np.array(VALUES[dtype], dtype)
    source = kernel(f"A: asc.{dtype}[N]", """
    for i in range(N):
        asc.print(i, A[i])
    asc.print(A)
""")
    lines, _ = agree(source, dict(A=values), server)
    assert lines[0] == "0 " + str(values[0])
    assert len(lines) == len(values) + 1


def test_bfloat16_prints_as_its_float32(server):
    source = kernel("A: asc.float32[N]", """
    for i in range(N):
        asc.print(asc.bfloat16(A[i]))
""")
    lines, _ = agree(source, dict(A=np.array([0.1, 3.0, 1e30], F)), server)
    assert lines[0] == "0.100097656" and lines[1] == "3.0"


def test_float64_prints_as_python_prints_a_float(server):
    source = kernel("A: asc.float64[N]", "    print(A[0], A[1], A)")
    lines, _ = agree(source, dict(A=np.array([1 / 3, 1e22])), server, ("host",))
    assert lines == [f"{1 / 3} 1e+22 [{1 / 3}, 1e+22]"]


def test_formats_separators_and_ends(server):
    source = kernel("A: asc.float32[N], I: asc.int32[M]", """
    asc.print("start", N, f"{{braces}} {A[1]:.2f} |{I[0]:>6}|{I[1]:05d}|{A[2]:e}|{A[0]:>12}|")
    print(A[0], I[0], sep=" - ", end="")
    print("!", end=";\\n")
    print()
    print("a", "{b}", sep="{}")
    print(f"{I[1]=} {3 * I[0]:#x} {A[0] > 1}")
    print((I[0], 2, "x"), [A[1], True], None, A.dtype, 1 / 3, A[0] > 0, (7,))
    print(f"{A:.1f}", A[1:3], I)
    print("two\\nlines", A[0])
    print("open", end="")
""")
    lines, _ = agree(source, dict(A=np.array([0.1, 1.25, 2.5, -3], F), I=np.array([10, -7], I32)),
                     server)
    assert lines == [
        "start 4 {braces} 1.25 |    10|-0007|2.500000e+00|0.10000000149011612|",
        "0.1 - 10!;", "", "a{}{b}", "I[1]=-7 0x1e False",
        f"(10, 2, x) [1.25, True] None float32 {1 / 3} True (7,)",
        "[0.1, 1.2, 2.5, -3.0] [1.25, 2.5] [10, -7]", "two", "lines 0.1", "open"]


def test_prints_in_branches_loops_and_helpers_come_in_order(server):
    source = kernel("A: asc.float32[N], n: int", """
    i = 0
    while i < n:
        if A[i] > 1:
            asc.print("big", i, A[i])
        elif i == 0:
            print("first", twice(A[i]))
        else:
            continue
        i += 1
        for j in range(i):
            if j == 2:
                break
            print(" ", j)
    A[0] = 5
    print("end", A[0], i)
    for r in asc.static_range(3):
        print("unrolled", r, A[r])
""", before="def twice(x):\n    print('twice of', x)\n    return x * 2\n")
    lines, _ = agree(source, dict(A=np.array([1, 2, 3, 4, 5], F), n=4), server)
    assert lines[:2] == ["twice of 1.0", "first 2.0"]
    assert lines[-4:] == ["end 5.0 4", "unrolled 0 5.0", "unrolled 1 2.0", "unrolled 2 3.0"]


def test_computation_around_prints_is_as_without(server):
    body = """
    for i in asc.parallel_for(0, N):
        B[i] = A[i] * 2
    {0}asc.print("between", B[3])
    T = B + A
    {0}asc.print(T)
    for i in range(N):
        B[i] = T[i] + 1
        {0}print(i, B[i])
        C[i] = B[i] * B[i]
    {0}print(C)
"""
    args = dict(A=np.arange(40, dtype=F), B=np.zeros(40, F), C=np.zeros(40, F))
    parameters = "A: asc.float32[N], B: asc.float32[N], C: asc.float32[N]"
    lines, _ = agree(kernel(parameters, body.format("")), args, server)
    assert lines[0] == "between 6.0" and lines[-1].endswith(", 13924.0]")
    for driver in ("sim", "host"):
        with_prints = drivers.run(driver, kernel(parameters, body.format("")), args, server)
        without = drivers.run(driver, kernel(parameters, body.format("# "), debug=False), args, server)
        for name in ("B", "C"):
            np.testing.assert_array_equal(with_prints[name], without[name])


def test_parallel_loops_print_in_order_on_each_core(server):
    source = kernel("A: asc.float32[N]", """
    for i in asc.parallel_for(0, N):
        A[i] += 1
        asc.print("at", i, A[i])
""")
    args = dict(A=np.arange(1024, dtype=F))
    want, _ = printed("interpreter", source, args, server)
    lines, _ = printed("sim", source, args, server)
    assert sorted(l[2] for l in lines) == sorted(w[2] for w in want)
    by_core = {}
    for core, line, text in lines:
        assert line == want[0][1]
        by_core.setdefault(core, []).append(int(text.split()[1]))
    assert len(by_core) > 1
    assert all(seen == sorted(seen) for seen in by_core.values())
    assert [l[2] for l in printed("host", source, args, server)[0]] == [w[2] for w in want]


ASSERTS = {
    "    assert A[0] < A[1], f'A[0] is {A[0]:.1f}, A[1] is {A[1]}'":
        "assertion failed: A[0] is 2.5, A[1] is 1.25",
    "    assert A[0] < 0": "assertion failed",
    "    assert A[0] < 0, 'with {braces} and %'": "assertion failed: with {braces} and %",
    "    asc.device_assert(A[0] < n, 'small')": "assertion failed: small",
    "    asc.device_assert(A[0] < n, message=f'n is {n}')": "assertion failed: n is 1",
    "    for i in range(N):\n        print(i)\n        assert A[i] > 2, f'at {i}'\n        print(A[i])":
        "assertion failed: at 1",
    "    check(A[2])": "assertion failed: x is -1.0",
    "    print('before')\n    print(A[n + 5])\n    print('after')":
        "index 6 is out of bounds for axis 0 with size 4",
    "    assert n > 5 and A[n + 5] > 0": "assertion failed",
}


@pytest.mark.parametrize("body", ASSERTS)
def test_asserts_say_message_line_and_values(body, server):
    source = kernel("A: asc.float32[N], n: int", body,
                    before="def check(x):\n    assert x > 0, f'x is {x}'\n")
    _, error = agree(source, dict(A=np.array([2.5, 1.25, -1, 4], F), n=1), server)
    assert error.message == ASSERTS[body]


def test_asserts_that_hold_change_nothing(server):
    source = kernel("A: asc.float32[N]", """
    for i in range(N):
        assert A[i] > 0, f'{A[i - 10]}'
    asc.device_assert(A[0] == 1, "one")
    assert N == 3
    asc.assert_shape(A, (3,))
    print("done")
""")
    assert agree(source, dict(A=np.array([1, 2, 3], F)), server) == (["done"], None)


def test_without_debug_nothing_is_printed_asserted_or_read(server):
    source = kernel("A: asc.float32[N], n: int", """
    print(A[n + 5])
    assert A[n + 6] > 5, f"{A[n]}"
    asc.device_assert(A[n + 6] > 5)
""", debug=False)
    assert agree(source, dict(A=np.ones(4, F), n=1), server) == ([], None)


def test_without_debug_one_warning_names_the_first_print(server):
    request = compile_pb2.CompileRequest(target=_service.TARGETS["sim"])
    request.files.add(content=kernel("n: int", "    x = n\n    print(n)\n    print(x)",
                                     debug=False).encode())
    request.arguments.add(name="n").scalar = 5
    reply = _service.service(server).compile(request, 60)
    assert [(d.severity, d.code, d.range.line) for d in reply.diagnostics] == \
        [(2, "print-ignored", 5)]
    assert "debug=True" in reply.diagnostics[0].message


def test_a_full_log_says_how_many_prints_were_dropped(server):
    source = kernel("n: int", "    for i in range(n):\n        print(i, i)")
    for driver in ("sim", "host"):
        lines, _ = printed(driver, source, dict(n=50_000), server)
        kept = len(lines) - 1
        assert [l[2] for l in lines[:kept]] == [f"{i} {i}" for i in range(kept)]
        assert 40_000 < kept < 50_000
        assert lines[-1][2] == f"({50_000 - kept} prints of core 0 dropped: its print log of 1024 " \
            "KiB is full)"


WRONG = {
    "print(f'{n:q}')": "format 'q'",
    "print(n, file=3)": "print()",
    "print(n, sep=n)": "sep of print() is a string known at compile time",
    "print(asc.exp)": "what is printed must be a number or a tensor",
    "x = f'{n}'": "strings made at run time exist only in asc.print and assert",
    "assert n > 0, n": "expected a string or an f-string",
}


@pytest.mark.parametrize("body", WRONG)
@pytest.mark.parametrize("debug", [True, False])
def test_wrong_prints_are_refused_in_every_mode(body, debug, server):
    source = kernel("n: int", f"    {body}", debug=debug)
    for driver in ("interpreter", "sim", "host"):
        with pytest.raises(drivers.Wrong) as error:
            drivers.run(driver, source, dict(n=1), server)
        assert error.value.kind == "compile"
        assert WRONG[body] in error.value.message, driver
