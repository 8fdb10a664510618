"""Kernels that ask for much: refused with a line and a way out, or compiled within the limits.

Whatever is sent, the compiler takes at most 5 s and 256 MiB. Each text here is short and asks for
exponentially or quadratically much of some part of it.
"""

import os
import re
import resource
import signal
import subprocess
import textwrap
import threading

import pytest

import drivers

SECONDS, MEGABYTES = 5, 256
VECTOR = "x: asc.float32[64], y: asc.float32[64]"
HEAD = "import pyasc as asc\n\n"
DTYPES = {"float32": "f32", "int32": "i32"}


def kernel(body, parameters=VECTOR, before="", options=""):
    return (HEAD + before + f"\n@asc.kernel{options}\ndef k({parameters}):\n"
            + textwrap.indent(body.strip("\n"), "    ") + "\n")


def helpers(levels, calls=2):
    """f0 to f{levels - 1}, each of which calls the one before it twice."""
    text = "def f0(v):\n    return v + 1.0\n\n"
    for i in range(1, levels):
        text += f"def f{i}(v):\n    return " + " + ".join([f"f{i - 1}(v)"] * calls) + "\n\n"
    return text


def nested(headers, body):
    lines = [" " * i + header for i, header in enumerate(headers)]
    return "\n".join(lines + [" " * len(headers) + line for line in body.split("\n")])


def loops(n):
    return [f"for i{i} in range(2):" for i in range(n)]


def staircase(levels, before, after=(), innermost="pass", count="2"):
    """A nest with statements at every level, before the next loop and after it."""
    first, last = [], []
    for i in range(levels):
        words = dict(i=i, next=i + 1)
        first += [" " * i + f"for i{i} in range({count.format(**words)}):"]
        first += [" " * (i + 1) + line.format(**words) for line in before]
        if i + 1 < levels:
            last += [" " * (i + 1) + line.format(**words) for line in after]
    lines = [*first, " " * levels + innermost, *sorted(last, key=lambda line: len(line.lstrip()) - len(line))]
    return "\n".join(lines)


TOO_LARGE = "kernel-too-large"
# name: (source, the code that refuses it and a word of the message; or None: it compiles)
CASES = {
    # What is inlined.
    "helpers_that_double": (kernel("y[0] = f39(x[0])", before=helpers(40)),
                            (TOO_LARGE, r"'f\d+' was inlined \d+ times")),
    "helpers_that_double_a_little": (kernel("y[0] = f11(x[0])", before=helpers(12)), None),
    # What is unrolled.
    "unrolled_product": (kernel(nested([f"for {v} in asc.static_range(64):" for v in "abc"],
                                       "y[a] += x[b] * x[c]")),
                         (TOO_LARGE, r"this loop was unrolled into \d+ iterations")),
    "unrolled_to_the_limit": (kernel("for a in asc.static_range(4096):\n"
                                     "    y[a % 64] += x[a // 64]"), None),
    "unrolled_tensors": (kernel("for a in asc.static_range(4096):\n    y[:] = y + x"),
                         (TOO_LARGE, "unrolled into")),
    "unrolled_breaks": (kernel("for a in asc.static_range(4096):\n    if x[a % 64] > 3.0:\n"
                               "        break\n    y[0] += 1.0"), (TOO_LARGE, "inside of more than")),
    "unrolled_loops": (kernel("for a in asc.static_range(4096):\n    for i in range(64):\n"
                              "        y[i] += x[i]"), (TOO_LARGE, "unrolled into")),
    # Loops are split so that slices fit, a whole part and a tail each.
    "split_loops": (kernel(nested([f"for i{i} in range(0, 64, {5 + i % 3}):" for i in range(12)],
                                  "y[i11:min(i11 + 7, 64)] = x[i11:min(i11 + 7, 64)]")), None),
    "split_nest": (kernel(nested([f"for i{i} in range(0, 64, {5 + i % 3}):" for i in range(6)],
                                 "\n".join(f"y[i{i}:min(i{i} + {5 + i % 3}, 64)] = "
                                           f"x[i{i}:min(i{i} + {5 + i % 3}, 64)]"
                                           for i in range(6)))), None),
    # What grows at compile time.
    "tuple_of_tuples": (kernel("t = (1.0, 2.0)\n" + "t = (t, t)\n" * 40 + "y[0] = 1.0"),
                        (TOO_LARGE, "a tuple or list of")),
    "tuple_added": (kernel("t = (1.0, 2.0)\n" + "t += t\n" * 40 + "y[0] = 1.0"),
                    (TOO_LARGE, "a tuple or list of")),
    "tuple_repeated": (kernel("t = (1.0, 2.0) * 4096 * 4096\ny[0] = 1.0"),
                       (TOO_LARGE, "a tuple or list of")),
    "string_added": (kernel("t = 'ab'\n" + "t = t + t\n" * 40 + "y[0] = 1.0"),
                     (TOO_LARGE, "a string")),
    "string_formatted": (kernel("t = 'ab'\n" + "t = f'{t}{t}'\n" * 40 + "y[0] = 1.0"),
                         (TOO_LARGE, "a string")),
    "comprehension_of_many": (kernel("t = [a * b for a in range(4000) for b in range(4000)]"),
                              (TOO_LARGE, "a tuple or list of")),
    "comprehension_of_none": (kernel("t = [a for a in range(4000) for b in range(4000) if a < 0]"),
                              (TOO_LARGE, "this comprehension took")),
    "split_into_many": (kernel("a = asc.split(asc.zeros((1000000,)), 1000000, 0)"),
                        (TOO_LARGE, "a list of 1000000 tensors")),
    "list_written_out": (kernel("t = [" + ",\n".join(map(str, range(50000))) + "]\ny[0] = t[7]"),
                         (TOO_LARGE, "a tuple or list of 50000")),
    "power": (kernel("y[0] = 2 ** 100000"), ("integer-too-large", "power")),
    "power_of_power": (kernel("y[0] = 9 ** 9 ** 9 ** 9"), ("integer-too-large", "power")),
    "shift": (kernel("y[0] = 1 << 100000000000"), ("integer-too-large", "shifted")),
    "zeros": (kernel("y[0] = asc.zeros((1 << 50,))[0]"), ("tensor-too-large", "too large")),
    "concat_that_doubles": (kernel("t = x\n" + "t = asc.concat([t, t])\n" * 40 + "y[:] = t[0:64]"),
                            ("tensor-too-large", "too large")),
    # Deep nests: what is live at each level hangs on all levels inside.
    "sum_at_every_level": (kernel("s = 0.0\n" + staircase(24, ["s += x[i{i}]"]) + "\ny[0] = s"), None),
    "sums_of_sums": (kernel(staircase(24, ["s{i} = 0.0"], ["s{i} += s{next}"], "s23 += x[i23]")
                            + "\ny[0] = s0"), None),
    "break_at_every_level": (kernel("n = 0\n" + staircase(
        24, ["n += i{i}", "if n > {i}: break"], count="int(x[{i}])") + "\ny[0] = n"), None),
    "deep_triangle": (kernel(nested(["for i0 in range(64):"] + [
        f"for i{i} in range(i{i - 1}, 64):" for i in range(1, 24)], "y[i23] += x[i0]")), None),
    "branch_at_every_level": (kernel(nested([h for i in range(24) for h in (
        f"for i{i} in range(2):", f"if x[i{i}] > 0:")], "y[i23] += x[i0]")), None),
    "deep_parallel_nest": (kernel(nested([f"for i{i} in asc.parallel_for(2):" for i in range(24)],
                                         "y[0] += x[i23]")), None),
    "deep_nest_of_sixty": (kernel(nested(loops(60), "y[i59] += x[i0]")), None),
    # What proofs about indices take.
    "divisions": (kernel("for i in range(64):\n    y[i] = x[(i" + "".join(
        f" // {2 + j % 3} + i % {3 + j % 5}" for j in range(100)) + ") % 64]"), None),
    "divisions_in_divisions": (kernel("for i in range(64):\n    y[i] = x[" + "(" * 40 + "i" + "".join(
        f" // {2 + j % 3} + i) % {3 + j % 5}" for j in range(40)) + "]"), None),
    "index_that_doubles": (kernel("for i in range(64):\n    a = i\n"
                                  + "    a = a // 2 + a % 3\n" * 40 + "    y[a % 64] = x[i]"), None),
    "minimum_of_many": (kernel("for i in range(64):\n    y[i] = x[min(" + ", ".join(
        f"i * {k % 7} + {k % 11}" for k in range(500)) + ") % 64]"), None),
    "long_comparison_chain": (kernel("i = int(x[0])\ny[0] = 1.0 if " + " < ".join(
        f"x[i + {j}]" for j in range(450)) + " else 0.0"), (TOO_LARGE, "too large")),
    "early_returns": (kernel("".join(f"if x[{i % 64}] > {i}.0:\n    y[0] = 1.0\n    return\n"
                                     for i in range(3000))), (TOO_LARGE, "inside of more than")),
    "statements": (kernel("y[0] = x[0] + 1.0\n" * 3000), None),
    "too_many_statements": (kernel("y[0] = x[0] + 1.0\n" * 40000), (TOO_LARGE, "too large")),
    "scalar_chain": (kernel("s = x[0]\n" + "s = s * 1.5 + x[1]\n" * 4000 + "y[0] = s"), None),
    "tensor_chain": (kernel("t = x\n" + "t = t + x\n" * 300 + "y[:] = t"), None),
    "loops_in_a_row": (kernel("for i in range(64):\n    y[i] += x[i]\n" * 200), None),
    "prints": (kernel("asc.print(x[0])\n" * 500, options="(debug=True)"), None),
}


# LLVM takes longer over thousands of statements in a row (docs/limits.md).
NOT_ON_HOST = {"unrolled_to_the_limit", "statements", "scalar_chain", "prints"}


def compile_alone(source, target, folder):
    """Exit code, what was said, CPU seconds and peak MiB of all processes of the compile."""
    path = folder / "k.py"
    path.write_text(source)
    parameters = re.search(r"def k\((.*)\):", source).group(1)
    arguments = [f"--arg={name}={DTYPES[dtype]}[{dims.replace(' ', '')}]" for name, dtype, dims in
                 re.findall(r"(\w+): asc\.(\w+)\[([^\]]*)\]", parameters)]

    def limit():
        # What goes wrong here must not take the machine along.
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (8 * SECONDS, 8 * SECONDS))

    child = subprocess.Popen(
        [str(drivers.BUILD / "bin" / "pyasc"), "compile", str(path), "--local", "--target", target,
         "-o", str(folder / "out"), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=limit, start_new_session=True)
    # For what sleeps: a busy machine makes minutes of a few CPU seconds.
    hang = threading.Timer(300, os.killpg, (child.pid, signal.SIGKILL))
    hang.start()
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    hang.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return (child.returncode, said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@pytest.mark.parametrize("target", ["sim", "host"])
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_that_asks_for_much_stays_within_the_limits(name, target, tmp_path):
    source, refused = CASES[name]
    if target == "host" and (refused or name in NOT_ON_HOST):
        pytest.skip("refused before the target counts, or a known limit of the host")
    code, said, seconds, megabytes = compile_alone(source, target, tmp_path)
    for _ in range(2):
        # Neighbours on the same cores cost CPU time, too: what counts is what it can do.
        if seconds > SECONDS:
            seconds = min(seconds, compile_alone(source, target, tmp_path)[2])
    if refused is None:
        assert code == 0, said[:2000]
    else:
        assert code == 1, (code, said[:2000])
        assert f"[{refused[0]}]" in said and re.search(refused[1], said), said[:2000]
        assert re.match(r".*k\.py:\d+:\d+: error: ", said), said[:2000]
        assert said.count("error:") <= 3, said[:2000]
    assert seconds <= SECONDS, f"{seconds:.1f} s"
    assert megabytes <= MEGABYTES, f"{megabytes:.0f} MiB"
