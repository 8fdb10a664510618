"""Runs a kernel on every driver and says how the answers differ."""

import ast
import re
import signal
import sys

import numpy as np

from conflicts import Conflicts
from kernel import Kernel, drivers, dtype_name, numbers
from pyasc import errors
from pyasc.interpret import bind
from pyasc.interpret.dtypes import FLOAT32, FLOAT64
from pyasc.interpret.expressions import Expressions
from pyasc.interpret.library import linalg, reduction
from pyasc.interpret.values import Unknown

CPU_SECONDS, SECONDS = 20, 60  # of the interpreter, and of a call of the service


class Hang(Exception):
    pass


class Broken(Exception):
    """The service or interpreter itself failed: a crash, a time-out, an error that is no answer."""


class Answer:
    """What a driver said: `outputs` by name, or `error`, a drivers.Wrong."""

    def __init__(self, outputs=None, error=None):
        self.outputs, self.error = outputs, error


def _alarm(signum, frame):
    raise Hang()


def interpret(kernel, **options):
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        return Answer(drivers.run("interpreter", kernel.text, kernel.args, **options))
    except drivers.Wrong as error:
        return Answer(error=error)
    except Hang:
        raise Broken("the interpreter did not end") from None
    except Exception as error:
        raise Broken(f"the interpreter failed: {type(error).__name__}: {error}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def serve(driver, kernel, server):
    try:
        return Answer(drivers.run(driver, kernel.text, kernel.args, server, seconds=SECONDS))
    except drivers.Wrong as error:
        if error.kind == "failed":
            raise Broken(f"{driver}: {error}") from None
        return Answer(error=error)
    except (errors.ServiceError, AssertionError, ValueError) as error:
        drivers._service.service(server).close()  # a worker that still works on it ends
        raise Broken(f"{driver}: {error}") from None


# ---- comparing ----

FLOATS = ("float16", "bfloat16", "float32", "float64")


def with_floats(kernel, dtype):
    """The same kernel with all its floats in `dtype`. In float64 it shows what there is beyond rounding."""
    text = kernel.text
    for have in FLOATS:
        text = re.sub(rf"\b(asc|np)\.{have}\b", f"asc.{dtype}", text)
    args = {}
    for name, a in kernel.args.items():
        if isinstance(a, np.ndarray) and (a.dtype.kind == "f" or a.dtype == np.dtype("V2")):
            with np.errstate(over="ignore"):
                a = numbers(a).astype(dtype)
        elif isinstance(a, np.floating):
            a = np.dtype(dtype).type(a)
        args[name] = a
    return Kernel(text, args)


class Float32:
    """Notes whether a kernel that is translated computes in float32: what integers become, whatever
    the other floats are."""

    def __enter__(self):
        self.seen, self.expr = False, Expressions.expr
        note = self

        def expr(translator, node, *args, **kwargs):
            value, code = note.expr(translator, node, *args, **kwargs)
            if isinstance(node, (ast.BinOp, ast.Call)) and value.__class__ is Unknown and \
                    value.t is FLOAT32:
                note.seen = True
            elif isinstance(value, np.float32):
                note.seen = True  # folded
            return value, code
        Expressions.expr = expr
        return self

    def __exit__(self, *_):
        Expressions.expr = self.expr


class DefaultFloat64:
    """Floats that no text names are float64 too: what integers become, sums, normal numbers."""

    def __enter__(self):
        self.modules = [m for name, m in sys.modules.items() if name.startswith("pyasc.interpret")
                        and getattr(m, "FLOAT32", None) is FLOAT32]
        self._set(FLOAT64)

    def __exit__(self, *_):
        self._set(FLOAT32)

    def _set(self, dtype):
        for module in self.modules:
            module.FLOAT32 = dtype
        bind.PYTHON["float"] = dtype


class OtherOrder:
    """Sums and products over axes run from one end, element by element."""

    def __init__(self, step):
        self.step = step

    def __enter__(self):
        self.fold = reduction.fold

        def fold(combine, a, axis, keepdims):
            r = self.fold(combine, a, axis, True)
            if np.size(a) and a.dtype.kind == "f":
                axes = [i % a.ndim for i in np.atleast_1d(axis)] if a.ndim else []
                kept = [i for i in range(a.ndim) if i not in axes]
                rows = a.transpose(*kept, *axes).reshape(*(a.shape[i] for i in kept), -1)
                r = combine.accumulate(rows[..., ::self.step], axis=-1)[..., -1].reshape(r.shape)
            return r if keepdims else np.squeeze(r, axis)
        reduction.fold = fold
        self.contract = linalg.contract
        linalg.contract = lambda a, b: fold(np.add, a[..., None] * b[..., None, :, :], -2, False)

    def __exit__(self, *_):
        reduction.fold, linalg.contract = self.fold, self.contract


# Bits of a float: whole numbers up to 2 to their power are exact.
SIGNIFICAND = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
MADE = re.compile(r"\basc\.(?:local|shared_memory|empty|aligned_alloc)\(")


class Expectation:
    """What drivers must answer. Where another precision gives the same as the kernel's own types, every
    value on the way was exact, and so must the answer be; elsewhere floats have a bound. The other
    precision is float64, and for what is in float64 itself, float32. Sums have no order: what hangs on
    theirs is rounding too, and is looked at where a driver differs."""

    def __init__(self, kernel):
        self.kernel, self.args = kernel, kernel.args
        with Float32() as float32:
            self.answer = interpret(kernel)
        self.float32 = float32.seen
        self.exact = self.settled = True
        # What differs from the answer by rounding: `default` where all floats are float64, `narrow`
        # where those of float64 are float32.
        self.others, self.default, self.narrow, self.reordered = [], None, None, False
        if self.answer.error is not None:
            return
        self._compare(kernel, "float64")
        if kernel.uses_float64():
            self.narrow = self._compare(kernel, "float32")
        self.exact = self.exact and self._in_exact_range()
        self.settled = self.settled and self._initialised(kernel) and self._ordered(kernel)

    def _in_exact_range(self):
        """Whether floats are small enough for any order of a sum of whole numbers to be exact."""
        for array in filter(_is_float, self.answer.outputs.values()):
            a = np.abs(np.atleast_1d(numbers(array)).astype(np.float64))
            if np.any(a[np.isfinite(a)] > 2.0 ** SIGNIFICAND[dtype_name(np.asarray(array))]):
                return False
        return True

    def _compare(self, kernel, dtype):
        """Compares with the outputs in another precision."""
        other_kernel = with_floats(kernel, dtype)
        other, seen = self.answer.outputs, self.float32
        if not _alike(other_kernel, kernel):
            with Float32() as float32:
                other = _outputs(other_kernel)
            seen = float32.seen
        self._note(other)
        if dtype == "float32":
            return other
        self.others.append(other)
        # What integers made stays float32 in the wide run, and shows nothing.
        made = seen or "randn(" in kernel.text or other and any(
            _is_float(a) and np.asarray(a).dtype != np.float64 for a in other.values())
        if made:
            self.exact = False
            with DefaultFloat64():
                # Another text, since the interpreter remembers what it made of one.
                self.default = _outputs(Kernel(other_kernel.text + "# all\n", other_kernel.args))
            self._note(self.default)
            self.others.append(self.default)
        return other

    def _note(self, other):
        """What outputs say of the kernel that are to be the same but for rounding; None where there is
        an error instead."""
        if not other or other.keys() != self.answer.outputs.keys():
            self.exact = self.exact and not any(map(_is_float, self.answer.outputs.values()))
            return
        for name, a in self.answer.outputs.items():
            a, w = numbers(a), numbers(other[name])
            same = np.shape(a) == np.shape(w) and bool(np.all(equal(a, w)))
            self.exact = self.exact and same
            # A branch, index or conversion that hangs on rounding decides nothing.
            self.settled = self.settled and (same or _is_float(a))

    def _reorder(self):
        """Whether it was not yet tried, and sums in another order say more of the kernel."""
        if self.reordered:
            return False
        self.reordered, found = True, False
        for step in (1, -1):
            with OtherOrder(step):
                other = _outputs(self.kernel)
            if other is not None and any(not np.all(equal(numbers(other[n]), numbers(a)))
                                         for n, a in self.answer.outputs.items()):
                self._note(other)
                self.others.append(other)
                found = True
        return found

    def _ordered(self, kernel):
        """Whether parallel iterations give the same in another order; those that do not are races."""
        return "parallel_for" not in kernel.text or self._same(kernel, shuffle=1) and \
            self._same(kernel, shuffle=2)

    def _same(self, kernel, **options):
        try:
            other = interpret(kernel, **options).outputs
        except Broken:
            return False
        return other is not None and all(np.all(self._agree(n, numbers(other[n]), a))
                                         for n, a in self.answer.outputs.items())

    def _meets(self):
        """Whether parallel iterations meet in an element, if only in one value of it."""
        with Conflicts() as conflicts:
            # Another text, since the interpreter remembers what it made of one.
            _outputs(Kernel(self.kernel.text + "\n# watched\n", self.kernel.args))
        return conflicts.found

    def _initialised(self, kernel):
        """Whether nothing is read before it is written: what such memory holds has no meaning."""
        texts = [MADE.sub(f"asc.{fill}(", kernel.text) for fill in ("zeros", "ones")]
        return texts[0] == kernel.text or all(self._same(Kernel(t, kernel.args)) for t in texts)

    def mismatch(self, driver, answer):
        """Why `answer` is wrong, as (class, text), or None."""
        mine, other = self.answer.error, answer.error
        if mine is not None and other is not None:
            if mine.kind == other.kind and (mine.line == other.line or mine.kind == "compile"):
                return None
            if mine.kind == "run" and other.kind == "compile":
                return None  # proved, where the interpreter has to run into it; or refused
            return "errors", f"the interpreter says {mine}, {driver} says {other}"
        if other is not None and other.code == "core-race" and (
                not self._ordered(self.kernel) or self._meets()):
            return None  # the kernel's own race
        if other is not None:
            return ("refused", str(other)) if other.kind == "compile" else \
                ("run-error", f"{driver} says {other}, and the interpreter nothing")
        if mine is not None and self._is_dead(mine, driver, answer):
            return None
        if mine is not None:
            return f"accepted-{mine.kind}", f"the interpreter says {mine}, {driver} nothing"
        names = {*answer.outputs, *self.answer.outputs}
        for name in sorted(names):
            # What one of them knows that nothing writes is as it was.
            want, got = (o.get(name, self.args.get(name))
                         for o in (self.answer.outputs, answer.outputs))
            if want is None or got is None:
                return "outputs", f"{driver} gives {sorted(answer.outputs)}, the interpreter " \
                                  f"{sorted(self.answer.outputs)}"
            found = self._differs(name, np.asarray(got), np.asarray(want), driver)
            if found:
                return found
        return None

    def _is_dead(self, error, driver, answer):
        """Whether the statement in which the interpreter sees an error before it runs may as well not be
        there: the compiler proves that it is never reached, and does not look into it."""
        if error.kind != "compile":
            return False
        text = without_statement(self.kernel.text, error.line)
        if text is None:
            return False
        without = Expectation(Kernel(text, self.args))
        return without.answer.error is None and without.mismatch(driver, answer) is None

    def _differs(self, name, got, want, driver):
        if got.dtype != want.dtype or got.shape != want.shape:
            return "type", f"{name}: {driver} gives {got.dtype}{got.shape}, the interpreter " \
                           f"{want.dtype}{want.shape}"
        if not self.settled:
            return None
        same = self._agree(name, numbers(got), want)
        if np.all(same):
            return None
        if self._reorder():
            return self._differs(name, got, want, driver)
        a, b = numbers(got), numbers(want)
        at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
        x, y = np.atleast_1d(a)[at], np.atleast_1d(b)[at]
        where = f"[{', '.join(map(str, at))}]" if np.ndim(a) else ""
        kind = "value" if self.exact or not _is_float(want) else "rounding"
        return kind, f"{name}{where}: {driver} gives {x!r}, the interpreter {y!r} " \
                     f"({int((~same).sum())} of {np.size(same)} differ)"

    def _agree(self, name, got, want):
        """Where a driver's answer is right."""
        same = equal(got, numbers(want))
        if self.exact or not _is_float(want):
            return same
        return same | self._near(name, got, numbers(want), np.asarray(want).dtype)

    def _near(self, name, a, b, dtype):
        """Within the rounding of the type, of float32 sums, and what another precision shows the
        rounding of the whole to be."""
        unit = {"float16": 2.0 ** -9, "float32": 2.0 ** -17, "float64": 2.0 ** -44}.get(
            dtype.name, 2.0 ** -6)
        a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            finite = np.abs(b[np.isfinite(b)])
            scale = float(finite.max()) if finite.size else 0.0
            if dtype == np.float64 and np.any(_gap(self.default, name, b)):
                unit = 2.0 ** -17  # functions of float32 made some of it
            limit = least = unit * (np.abs(b) + 1 + min(scale, 2.0 ** 10) / 16)
            for other in self.others:
                limit = np.maximum(limit, least + 8 * _gap(other, name, b))
            if dtype == np.float64:
                limit = limit + 8 * 2.0 ** -29 * _gap(self.narrow, name, b)
            return np.abs(a - b) <= limit


def without_statement(text, line):
    """The text with `pass` for the statement that begins at a line of it, or None; others keep theirs."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= getattr(
                node, "body", [node])[0].lineno and not isinstance(node, ast.FunctionDef):
            first, end = node.lineno, node.end_lineno
            head = lines[first - 1]
            space = head[:len(head) - len(head.lstrip())]
            made = [space + "pass"]
            if head.lstrip().startswith("elif"):
                made = [space + "else:", space + "    pass"]
            return "\n".join(lines[:first - 1] + made + [""] * (end - first + 1 - len(made)) +
                             lines[end:])
    return None


def _outputs(kernel):
    try:
        return interpret(kernel).outputs
    except Broken:
        return None


def _gap(outputs, name, b):
    """How far another precision is away."""
    if outputs is None or name not in outputs or np.shape(outputs[name]) != b.shape:
        return 0.0
    return np.nan_to_num(np.abs(numbers(outputs[name]).astype(np.float64) - b), nan=0, posinf=0)


def _alike(a, b):
    return a.text == b.text and all(getattr(x, "dtype", None) == getattr(b.args[n], "dtype", None)
                                    for n, x in a.args.items())


def _is_float(a):
    a = np.asarray(a)
    return a.dtype.kind == "f" or a.dtype == np.dtype("V2")


def equal(a, b):
    with np.errstate(all="ignore"):
        same = np.asarray(a == b)
        if np.asarray(a).dtype.kind == "f":
            same = same | (np.isnan(a) & np.isnan(b))
        return same


def examine(kernel, server, only=("sim", "host")):
    """[(class, driver, text)] of what is wrong, refusals included; and the interpreter's answer."""
    try:
        expected = Expectation(kernel)
    except Broken as broken:
        return [("interpreter-broken", "interpreter", str(broken))], None
    found = []
    for driver in only:
        if driver == "sim" and kernel.uses_float64():
            continue
        try:
            answer = serve(driver, kernel, server)
        except Broken as broken:
            found.append(("broken", driver, str(broken)))
            continue
        wrong = expected.mismatch(driver, answer)
        if wrong:
            found.append((wrong[0], driver, wrong[1]))
    return found, expected
