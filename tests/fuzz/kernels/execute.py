"""Runs a kernel on every driver and says how the answers differ."""

import re
import signal

import numpy as np

from kernel import Kernel, drivers, numbers
from pyasc import errors

SECONDS = 20


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
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return Answer(drivers.run("interpreter", kernel.text, kernel.args, **options))
    except drivers.Wrong as error:
        return Answer(error=error)
    except Hang:
        raise Broken("the interpreter did not end") from None
    except Exception as error:
        raise Broken(f"the interpreter failed: {type(error).__name__}: {error}") from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


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

WIDE = (("asc.float32", "asc.float64"), ("asc.float16", "asc.float64"), ("asc.bfloat16", "asc.float64"))


def widened(kernel):
    """The same kernel with all its floats in float64: what it gives beyond rounding."""
    text = kernel.text
    for have, want in WIDE:
        text = text.replace(have, want)
    args = {}
    for name, a in kernel.args.items():
        if isinstance(a, np.ndarray) and (a.dtype.kind == "f" or a.dtype == np.dtype("V2")):
            a = numbers(a).astype(np.float64)
        args[name] = a
    return Kernel(text, args)


MADE = re.compile(r"\basc\.(?:local|shared_memory|empty|aligned_alloc)\(")


class Expectation:
    """What drivers must answer. Where float64 gives the same as the kernel's own types, every value on
    the way was exact, and so must the answer be; elsewhere floats have a bound."""

    def __init__(self, kernel):
        self.args = kernel.args
        self.answer = interpret(kernel)
        self.exact, self.settled = True, True
        self.wide = None
        if self.answer.error is not None:
            return
        try:
            wide = interpret(widened(kernel))
        except Broken:
            wide = Answer()
        self.settled = self._initialised(kernel) and self._ordered(kernel)
        self.wide = wide.outputs if wide.outputs and wide.outputs.keys() == \
            self.answer.outputs.keys() else None
        if self.wide is None:
            self.exact = not any(_is_float(a) for a in self.answer.outputs.values())
            return
        for name, a in self.answer.outputs.items():
            a, w = numbers(a), numbers(self.wide[name])
            same = np.shape(a) == np.shape(w) and bool(np.all(_equal(a, w)))
            # What integers made stays float32, and shows nothing.
            same = same and (not _is_float(a) or w.dtype == np.float64)
            self.exact = self.exact and same
            # A branch, index or conversion that hangs on rounding decides nothing.
            self.settled = self.settled and (same or _is_float(a))

    def _ordered(self, kernel):
        """Whether parallel iterations give the same in another order; those that do not are races."""
        return "parallel_for" not in kernel.text or self._same(kernel, shuffle=1) and \
            self._same(kernel, shuffle=2)

    def _same(self, kernel, **options):
        try:
            other = interpret(kernel, **options).outputs
        except Broken:
            return False
        return other is not None and all(
            np.all(_equal(numbers(a), numbers(other[n])) | _is_float(a) & (not self.exact))
            for n, a in self.answer.outputs.items())

    def _initialised(self, kernel):
        """Whether nothing is read before it is written: what such memory holds has no meaning."""
        text = MADE.sub("asc.zeros(", kernel.text)
        return text == kernel.text or self._same(Kernel(text, kernel.args))

    def mismatch(self, driver, answer):
        """Why `answer` is wrong, as (class, text), or None."""
        mine, other = self.answer.error, answer.error
        if mine is not None and other is not None:
            if mine.kind == other.kind and (mine.line == other.line or mine.kind == "compile"):
                return None
            if mine.kind == "run" and other.kind == "compile":
                return None  # proved, where the interpreter has to run into it; or refused
            return "errors", f"the interpreter says {mine}, {driver} says {other}"
        if other is not None:
            return ("refused", str(other)) if other.kind == "compile" else \
                ("run-error", f"{driver} says {other}, and the interpreter nothing")
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

    def _differs(self, name, got, want, driver):
        if got.dtype != want.dtype or got.shape != want.shape:
            return "type", f"{name}: {driver} gives {got.dtype}{got.shape}, the interpreter " \
                           f"{want.dtype}{want.shape}"
        if not self.settled:
            return None
        a, b = numbers(got), numbers(want)
        same = _equal(a, b)
        if not self.exact and _is_float(want):
            wide = None if self.wide is None else numbers(self.wide[name])
            same = same | self._near(a, b, wide, want.dtype)
        if np.all(same):
            return None
        at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
        x, y = np.atleast_1d(a)[at], np.atleast_1d(b)[at]
        where = f"[{', '.join(map(str, at))}]" if np.ndim(a) else ""
        kind = "value" if self.exact or not _is_float(want) else "rounding"
        return kind, f"{name}{where}: {driver} gives {x!r}, the interpreter {y!r} " \
                     f"({int((~same).sum())} of {np.size(same)} differ)"

    @staticmethod
    def _near(a, b, wide, dtype):
        """Within the rounding of the type, of float32 sums, and what float64 shows the rounding of the
        whole to be."""
        unit = {"float16": 2.0 ** -9, "float32": 2.0 ** -17, "float64": 2.0 ** -44}.get(
            dtype.name, 2.0 ** -6)
        a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            finite = np.abs(b[np.isfinite(b)])
            scale = float(finite.max()) if finite.size else 0.0
            limit = unit * (np.abs(b) + 1 + min(scale, 2.0 ** 10) / 16)
            if wide is not None and wide.shape == b.shape:
                limit = limit + 8 * np.nan_to_num(np.abs(wide.astype(np.float64) - b), nan=0,
                                                  posinf=0)
            return np.abs(a - b) <= limit


def _is_float(a):
    a = np.asarray(a)
    return a.dtype.kind == "f" or a.dtype == np.dtype("V2")


def _equal(a, b):
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
