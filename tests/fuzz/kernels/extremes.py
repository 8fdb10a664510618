"""Operators and functions on the values where they are hard: infinities, NaN, signed zeros, halves, the ends
of the integers, each with each, of two types, on tensors and on elements."""

import numpy as np

from kernel import HEAD, Kernel, dtypes, to_array
from pyasc.interpret import ops
from terms import HALVES, INTS, entry, typed, unknown

FLOATS = HALVES + ("float32", "float32", "float64")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 1e-8, 65504.0, -1e30, 3e38, float("inf"),
           float("-inf"), float("nan"))
ONE = ("-{x}", "+{x}", "abs({x})", "asc.sign({x})", "asc.square({x})", "asc.relu({x})", "asc.floor({x})",
       "asc.ceil({x})", "asc.trunc({x})", "asc.rint({x})", "asc.isnan({x})", "asc.isinf({x})", "asc.signbit({x})",
       "asc.sqrt({x})", "asc.exp({x})", "asc.log({x})", "asc.log1p({x})", "asc.rsqrt({x})", "asc.tanh({x})",
       "asc.sigmoid({x})", "asc.erf({x})", "asc.reciprocal({x})", "asc.gelu({x})", "asc.silu({x})",
       "asc.softplus({x})", "asc.cbrt({x})", "asc.exp2({x})", "asc.logical_not({x})", "asc.atan({x})")
TWO = ("{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / {y}", "{x} // {y}", "{x} % {y}", "{x} < {y}", "{x} == {y}",
       "{x} != {y}", "{x} >= {y}", "asc.minimum({x}, {y})", "asc.maximum({x}, {y})", "asc.hypot({x}, {y})",
       "asc.copysign({x}, {y})", "asc.atan2({x}, {y})", "asc.fmod({x}, {y})", "asc.where({x} > {y}, {x}, {y})",
       "asc.clip({x}, -2, {y})", "asc.logical_and({x}, {y})", "asc.logical_xor({x}, {y})")
WHOLE = ("{x} & {y}", "{x} | {y}", "{x} ^ {y}", "{x} << ({y} & 63)", "{x} >> ({y} & 63)", "~{x}",
         "{x} ** ({y} & 3)", "{x} << 40", "{x} >> 70")


class Extremes:
    family = "extremes"

    def __init__(self, random):
        self.random = random

    def values(self, dtype, count):
        r = self.random
        if dtype == "bool":
            return np.array([r.random() < .5 for _ in range(count)])
        if dtype in INTS:
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            some = [0, 1, 2, 3, 7, high, high - 1, high // 2, low, low + 1, low // 2, max(low, -1), max(low, -5)]
            return np.array([r.choice(some) for _ in range(count)], dtype)
        with np.errstate(over="ignore"):
            return to_array(np.array([r.choice(NUMBERS) for _ in range(count)]), dtype)

    def generate(self):
        r = self.random
        for _ in range(100):
            t = r.choice(FLOATS + INTS + ("bool",))
            u = t if r.random() < .6 else r.choice(FLOATS + INTS + ("bool",))
            if typed(ops.binary, "max", unknown(t), unknown(u)) is None:
                continue
            texts = [r.choice(self.forms(t, u)) for _ in range(r.randint(1, 3))]
            return self.kernel(t, u, texts)

    @staticmethod
    def forms(t, u):
        whole = t in INTS and u in INTS
        forms = ONE + TWO + TWO + (WHOLE * 3 if whole else ())
        if t[0] == "u" or u[0] == "u":
            forms = tuple(f for f in forms if "-2" not in f)
        if "bool" in (t, u):
            return tuple(f for f in forms if not f.startswith("-") and " - " not in f and "~" not in f and
                         "clip" not in f)
        return forms

    def kernel(self, t, u, texts):
        r = self.random
        n = r.choice((7, 16, 33, 60))
        args = {"x": self.values(t, n), "y": self.values(u, n)}
        casts = [f"asc.{c}({{x}})" for c in r.sample(INTS + ("float16", "float32", "bool"), 2)]
        texts = texts + (casts if r.random() < .4 else [])
        if r.random() < .5:
            results = [f.format(x="x", y="y") for f in texts]
            body = [f"return {', '.join(results)}"]
        else:
            # Division of a scalar by zero is an error.
            body = []
            for k, f in enumerate(texts):
                body.append(f"o{k} = asc.zeros({n}, {self.result(f, t, u)})")
            body.append(f"for i in {r.choice(('range', 'asc.parallel_for'))}({n}):")
            for k, f in enumerate(texts):
                e = f.format(x="x[i]", y="y[i]")
                if "//" in e or "%" in e:
                    body.append("    if y[i] != 0:")
                    body.append(f"        o{k}[i] = {e}")
                else:
                    body.append(f"    o{k}[i] = {e}")
            body.append("return " + ", ".join(f"o{k}" for k in range(len(texts))))
        lines = "\n".join("    " + b for b in body)
        return Kernel(f"{HEAD}\n\n@asc.kernel\ndef k(x: asc.{t}[{n}], y: asc.{u}[{n}]):\n{lines}\n", args, self.family)

    @staticmethod
    def result(form, t, u):
        """The dtype of a form's value, as a text: that of the form on empty tensors."""
        scope = {"asc": _Library(), "x": _Value(unknown(t)), "y": _Value(unknown(u)), "abs": lambda v: v.call("abs")}
        value = eval(form.format(x="x", y="y"), scope)
        return f"asc.{value.v.t.name}" if isinstance(value, _Value) and value.v is not None else "asc.float32"


class _Value:
    """An unknown scalar that operators give types to."""

    def __init__(self, v):
        self.v = v

    def call(self, name, *args):
        return _Value(typed(entry(name), self.v, *(a.v if isinstance(a, _Value) else a for a in args)))


def _operator(symbol, comparison=False):
    def method(self, other):
        f = ops.compare if comparison else ops.binary
        return _Value(typed(f, symbol, self.v, other.v if isinstance(other, _Value) else other))
    return method


for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"),
                       ("and", "&"), ("or", "|"), ("xor", "^"), ("lshift", "<<"), ("rshift", ">>"), ("pow", "**")):
    setattr(_Value, f"__{_name}__", _operator(_symbol))
for _name, _symbol in (("lt", "<"), ("eq", "=="), ("ne", "!="), ("ge", ">="), ("gt", ">")):
    setattr(_Value, f"__{_name}__", _operator(_symbol, True))
_Value.__neg__ = lambda self: _Value(typed(ops.negate, self.v))
_Value.__pos__ = lambda self: _Value(typed(ops.plus, self.v))
_Value.__invert__ = lambda self: _Value(typed(ops.invert, self.v))


class _Library:
    def __getattr__(self, name):
        if name in dtypes.BY_NAME:
            return lambda x: _Value(typed(ops.cast, x.v, dtypes.BY_NAME[name]))
        return lambda *args: _Value(typed(entry(name), *(a.v if isinstance(a, _Value) else a for a in args)))
