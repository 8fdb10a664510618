"""Random programs: statements of every kind over scalars and tensors, well-typed as far as the
interpreter's rules can tell while they are written."""

import numpy as np

from assignments import Assignments
from control import Control
from expressions import Expressions
from terms import HALVES, INTS, E, unknown
from helpers import Helpers
from inputs import inputs
from kernel import HEAD, Kernel
from scope import SIZES, Scope
from whole_tensors import WholeTensors


class Program(Assignments, Control, WholeTensors, Helpers, Expressions):
    """One kernel. `random` decides everything."""
    family, scalars = "program", .25  # the share of parameters that are scalars

    def shape(self):
        r = self.random
        shape = tuple(r.choice(SIZES) for _ in range(r.choice((1, 1, 1, 2, 2, 3))))
        if r.random() < .1:
            shape = (r.choice((1, 2, 3, 5, 8)),) * 2
        if r.random() < .04:
            shape = (0, *shape[1:])
        return shape[:1] if int(np.prod(shape)) > 2000 else shape

    def __init__(self, random):
        self.random, self.count, self.pending, self.helpers = random, 0, [], []
        self.scope, self.lines, self.level = Scope(), [], 1
        self.float_name = random.choice(("float32",) * 6 + HALVES + ("float64",) * (random.random() < .3))
        self.budget = random.randint(4, 14)
        self.helper_depth, self.made = 0, []  # the helpers that scalars may call
        # Known by name: at compile time, and which of those are parameters; at run time, with the value.
        self.constants, self.parameters, self.given = [], set(), []
        self.results = None  # types, where the kernel may return early

    # ---- the whole ----

    def generate(self):
        r = self.random
        parameters, args = [], {}
        symbols = {}
        for k in range(r.randint(1, 4)):
            name = f"{r.choice('ABXYuvpq')}{k}"
            dtype = r.choice((self.float_name,) * 4 + ("int32", "int64", "int32", "bool") + INTS + HALVES)
            if r.random() >= self.scalars:
                shape = self.shape()
                style = r.random()
                if style < .4:
                    dims = []
                    for n in shape:
                        near = [(s, n - m) for s, m in symbols.items() if 0 < abs(n - m) < 4 and m > 0]
                        if near and r.random() < .5:
                            s, more = r.choice(near)
                            dims.append(f"{s} {'+-'[more < 0]} {abs(more)}")
                            continue
                        known = [s for s, m in symbols.items() if m == n]
                        s = r.choice(known) if known else f"N{len(symbols)}"
                        symbols[s] = n
                        dims.append(s)
                    annotation = f"asc.{dtype}[{', '.join(dims)}]"
                elif style < .8:
                    annotation = f"asc.{dtype}[{', '.join(map(str, shape))}]"
                else:
                    annotation = r.choice(("asc.tensor", "asc.tensor", ""))
                parameters.append(f"{name}: {annotation}" if annotation else name)
                args[name] = inputs(r, shape, dtype)
                self.scope.tensors[name] = unknown(dtype, shape)
                if r.random() < .6:
                    self.scope.writable.add(name)
            else:
                self.scalar_parameter(name, parameters, args)
        if not self.scope.writable and self.scope.tensors:
            self.scope.writable.add(r.choice(sorted(self.scope.tensors)))
        self.scope.sizes += [(s, n) for s, n in symbols.items()]
        self.scope.sizes += [(f"{n}.shape[{a}]", s) for n, v in self.scope.tensors.items()
                             for a, s in enumerate(v.shape)]
        if r.random() < .12:
            self.results = [r.choice(("int32", "float32", "bool", "int64")) for _ in range(r.randint(1, 2))]
        heads = self.module_constants()
        while self.budget > 0:
            self.statement()
        self.returns()
        parameters.sort(key=lambda p: " = " in p)
        before = "\n\n".join(self.helpers)
        text = HEAD + heads + \
            (f"\n\n{before}\n" if before else "") + \
            f"\n\n@asc.kernel\ndef k({', '.join(parameters)}):\n" + "\n".join(self.lines) + "\n"
        return Kernel(text, args, self.family)

    def scalar_parameter(self, name, parameters, args):
        r = self.random
        kind = r.choice(("int", "int", "float", "bool", "asc.constexpr", "asc.constexpr", "typed", ""))
        value = r.randrange(0, 9)
        if kind == "float" or kind == "asc.constexpr" and r.random() < .3:
            value = r.choice((0.5, 2.0, -1.5))
        elif kind == "bool" or kind == "asc.constexpr" and r.random() < .2:
            value = r.random() < .5
        held_as = {int: "int64", float: "float32", bool: "bool"}[type(value)]
        if kind == "typed":
            held_as = r.choice(INTS + ("float32", "float16"))
            kind, value = f"asc.{held_as}", np.dtype(held_as).type(value)
        text = f"{name}: {kind}" if kind else name
        if r.random() < .2 and kind in ("int", "float", "bool", "asc.constexpr"):
            text += f" = {value}"  # by default, or what is passed is the same
        if " = " not in text or r.random() < .5:
            args[name] = value
        parameters.append(text)
        if kind == "asc.constexpr":
            if type(value) is int:
                self.scope.sizes.append((name, value))
            self.constants.append(E(name, value))
            self.parameters.add(name)
            return
        if held_as == "int64":
            self.given.append((name, value))
            self.scope.frozen.add(name)
        self.scope.scalars[name] = unknown(held_as)

    def module_constants(self):
        r = self.random
        if r.random() > .15:
            return ""
        n, x = r.choice((1, 2, 3, 5)), r.choice((0.5, 2.0, -1.25))
        self.scope.sizes.append(("SIZE", n))
        self.constants += [E("SIZE", n), E("SCALE", x), E("(SIZE * 2 + 1)", 2 * n + 1)]
        if r.random() < .3:
            self.constants += [E("math.pi", 3.141592653589793)]
        return f"import math\n\nSIZE = {n}\nSCALE = {x}\n"

    def returns(self):
        r = self.random
        if self.results is not None:
            self.emit(f"return {self.typed_results()}")
            return
        values = []
        for _ in range(r.choice((0, 1, 1, 2, 3))):
            e = self.tensor(2) if r.random() < .4 else self.scalar(2)
            if e is not None:
                values.append(e.text)
        self.pending.clear()
        if values:
            self.emit(f"return {', '.join(values)}")
        elif not self.lines:
            self.emit("pass")

    def emit(self, text):
        self.lines.append("    " * self.level + text)

    def new_name(self, start="t"):
        self.count += 1
        return f"{start}{self.count}"

    # ---- statements ----

    def block(self, scope, most=3):
        """Statements one level deeper, in `scope`."""
        saved, self.scope = self.scope, scope
        self.level += 1
        before = len(self.lines)
        for _ in range(self.random.randint(1, most)):
            if self.budget > -4:
                self.statement()
        if len(self.lines) == before:
            self.emit("pass")
        self.level -= 1
        self.scope = saved

    def statement(self):
        r = self.random
        self.budget -= 1
        deep = self.level >= 5
        kinds = ["assign"] * 4 + ["store"] * 4 + ["augment"] * 2 + ["augment_name"] * 2 + \
            ["if"] * (0 if deep else 3) + ["loop"] * (0 if deep else 4) + ["tuple"] + \
            ["tensor"] * 2 + ["slice"] * 2 + ["chain", "annotated", "pass", "swap"] + \
            ["while"] * (0 if deep or self.scope.trips > 60 else 1) + ["choice_name"] + \
            ["walrus_if"] * (not deep) + ["parallel"] * (0 if deep or self.helper_depth else 2) + \
            ["local", "copy", "say", "helper_tensor", "unpack", "rows", "products", "none", "list", "view", "view",
             "blocks", "comprehension", "divmod", "polymorphic", "early"]
        getattr(self, "do_" + r.choice(kinds))()
        self.pending.clear()


class TensorProgram(Program):
    """Statements over few tensors of one shape and their views, so that what one writes is often what
    another reads: copies, temporaries and products that may or may not be fused."""
    family, scalars = "tensors", .1

    def __init__(self, random):
        super().__init__(random)
        self.one = super().shape() if random.random() < .7 else \
            (random.choice((64, 65, 100, 130)), random.choice((1, 3, 20)))[:random.randint(1, 2)]

    def shape(self):
        return self.one if self.random.random() < .85 else super().shape()

    def statement(self):
        self.budget -= 1
        kinds = ["tensor"] * 5 + ["slice"] * 8 + ["copy"] * 2 + ["local", "products", "store", "assign",
                                                                 "view", "view", "blocks", "polymorphic"]
        if self.level < 3:
            kinds += ["if", "loop", "parallel", "helper_tensor"]
        getattr(self, "do_" + self.random.choice(kinds))()
        self.pending.clear()


class Elementwise(Program):
    """A kernel of scalars, called with arrays whose shapes broadcast."""
    family = "elementwise"

    def generate(self):
        r = self.random
        whole = tuple(r.choice(SIZES) for _ in range(r.choice((1, 1, 2, 3))))
        parameters, args = [], {}
        for k in range(r.randint(1, 3)):
            name = f"{r.choice('abxyu')}{k}"
            dtype = r.choice((self.float_name,) * 3 + ("int32", "bool") + INTS)
            shape = tuple(1 if r.random() < .15 else n for n in whole)[r.choice((0, 0, 0, -1)):]
            if not k:
                shape = whole
            parameters.append(f"{name}: asc.{dtype}")
            args[name] = inputs(r, shape, dtype)
            self.scope.scalars[name] = unknown(dtype)
        if r.random() < .3:
            self.scalar_parameter("s", parameters, args)
        self.budget = r.randint(0, 7)
        while self.budget > 0:
            self.statement()
        self.results = [r.choice(("int32", "float32", "bool", "int64", "int8")) for _ in range(r.choice((1, 1, 2)))]
        for _ in range(r.choice((0, 0, 1, 2))):
            self.do_early()
        self.emit(f"return {self.typed_results()}")
        parameters.sort(key=lambda p: " = " in p)
        before = "\n\n".join(self.helpers)
        text = HEAD + (f"\n\n{before}\n" if before else "") + \
            f"\n\n@asc.kernel\ndef k({', '.join(parameters)}):\n" + "\n".join(self.lines) + "\n"
        return Kernel(text, args, self.family)

    def statement(self):
        self.budget -= 1
        kinds = ["assign"] * 4 + ["augment_name"] * 3 + ["tuple", "swap", "choice_name", "walrus_if", "divmod",
                                                         "chain", "annotated", "none", "list"]
        if self.level < 4:
            kinds += ["if", "if", "loop", "while"]
        getattr(self, "do_" + self.random.choice(kinds))()
        self.pending.clear()
