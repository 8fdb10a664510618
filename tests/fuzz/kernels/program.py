"""Random programs: statements of every kind over scalars and tensors, well-typed as far as the
interpreter's rules can tell while they are written."""

import numpy as np

from expressions import E, HALVES, INTS, Expressions, entry, held, typed, unknown
from kernel import HEAD, Kernel, dtypes, to_array
from pyasc.interpret import ops
from pyasc.interpret.values import Unknown, is_weak

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 32, 33)
AUGMENTED = ("+", "-", "*", "+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "/", "**")
STEPS = 500  # of the innermost loops together


def inputs(random, shape, dtype):
    """Numbers that sums and products keep exact, and now and then an extreme one."""
    n = int(np.prod(shape))
    rng = np.random.default_rng(random.getrandbits(64))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        info = np.iinfo(dtype)
        x = rng.integers(max(-9, info.min), 10, n)
        if n and random.random() < .3:
            x = x.astype(object)
            for i in rng.integers(0, n, 1 + n // 5):
                x[i] = random.choice((int(info.min), int(info.max), int(info.max) // 2, 0))
            x = np.array(x.tolist(), dtype)
        return x.astype(dtype).reshape(shape)
    x = rng.integers(-8, 9, n) / random.choice((1, 1, 2, 4))
    if n and random.random() < .08:
        x[rng.integers(0, n, 1 + n // 8)] = random.choice((np.nan, np.inf, -np.inf, -0.0))
    return to_array(x.reshape(shape), dtype)


class Scope:
    def __init__(self):
        self.scalars, self.tensors, self.loops, self.owned = {}, {}, {}, {}
        self.unreadable, self.frozen, self.writable = set(), set(), set()
        self.sizes, self.walrus, self.parallel, self.trips, self.in_loop = [], True, False, 1, False

    def child(self):
        other = Scope()
        for name in ("scalars", "tensors", "loops", "unreadable", "frozen", "writable"):
            setattr(other, name, getattr(self, name).copy())
        other.owned = {n: dict(o) for n, o in self.owned.items()}
        other.sizes, other.walrus, other.parallel = self.sizes, self.walrus, self.parallel
        other.trips, other.in_loop = self.trips, self.in_loop
        return other

    def readable(self, name):
        return name not in self.unreadable

    def may_read(self, name):
        return name not in self.unreadable

    def may_read_whole(self, name):
        return name not in self.unreadable and name not in self.owned


class Program(Expressions):
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
        self.helper_depth = 0

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
                        known = [s for s, m in symbols.items() if m == n]
                        s = r.choice(known) if known else f"N{len(symbols)}"
                        symbols[s] = n
                        dims.append(s)
                    annotation = f"asc.{dtype}[{', '.join(dims)}]"
                elif style < .85:
                    annotation = f"asc.{dtype}[{', '.join(map(str, shape))}]"
                else:
                    annotation = "asc.tensor"
                parameters.append(f"{name}: {annotation}")
                args[name] = inputs(r, shape, dtype)
                self.scope.tensors[name] = unknown(dtype, shape)
                if r.random() < .6:
                    self.scope.writable.add(name)
            else:
                kind = r.choice(("int", "int", "float", "bool", "asc.constexpr"))
                value = r.randrange(0, 9) if kind in ("int", "asc.constexpr") else \
                    r.choice((0.5, 2.0, -1.5)) if kind == "float" else r.random() < .5
                parameters.append(f"{name}: {kind}")
                args[name] = value
                if kind == "asc.constexpr":
                    self.scope.sizes.append((name, value))
                else:
                    self.scope.scalars[name] = unknown(
                        {"int": "int64", "float": "float32", "bool": "bool"}[kind])
        if not self.scope.writable and self.scope.tensors:
            self.scope.writable.add(r.choice(sorted(self.scope.tensors)))
        self.scope.sizes += [(s, n) for s, n in symbols.items()]
        self.scope.sizes += [(f"{n}.shape[{a}]", s) for n, v in self.scope.tensors.items()
                             for a, s in enumerate(v.shape)]
        while self.budget > 0:
            self.statement()
        self.returns()
        before = "\n\n".join(self.helpers)
        text = HEAD + ("import math\n" if r.random() < .05 else "") + \
            (f"\n\n{before}\n" if before else "") + \
            f"\n\n@asc.kernel\ndef k({', '.join(parameters)}):\n" + "\n".join(self.lines) + "\n"
        return Kernel(text, args, self.family)

    def returns(self):
        r = self.random
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
            ["local", "copy", "say", "helper_tensor", "unpack", "rows", "products", "none", "list"]
        getattr(self, "do_" + r.choice(kinds))()
        self.pending.clear()

    def do_pass(self):
        if self.random.random() < .2:
            self.emit(self.random.choice(("pass", '"""Said."""')))

    def do_say(self):
        """What has an effect in debug mode only, or none."""
        r = self.random
        c = self.condition(1)
        names = [n for n in self.scope.tensors if self.scope.may_read_whole(n)]
        options = [f"assert {c.text} or True, f'{{{c.text}}}'", "asc.barrier()",
                   f"asc.print('x', {c.text})", f"asc.device_assert({c.text} or True)",
                   "asc.static_assert(1 + 1 == 2)"]
        if names:
            options += [f"asc.prefetch({r.choice(names)})"]
            n = r.choice(names)
            options += [f"asc.assert_shape({n}, {self.scope.tensors[n].shape})"]
        self.emit(r.choice(options))

    def bind(self, name, v):
        self.scope.scalars[name] = v

    def do_assign(self):
        r = self.random
        e = self.scalar(3)
        mine = [n for n in self.scope.scalars if n not in self.scope.frozen]
        if mine and r.random() < .4:
            name = r.choice(mine)
            have = self.scope.scalars[name]
            if r.random() < .8 and e.t is not have.t:
                # Mostly of one type; sometimes the variable widens.
                e = E(f"asc.{have.t.name}({e.text})", have)
            both = dtypes.promote(have.t, e.t)
            if both is not None and (both is have.t or not self.scope.in_loop):
                self.emit(f"{name} = {e.text}")
                self.bind(name, Unknown(both))
            return
        name = self.new_name()
        self.emit(f"{name} = {e.text}")
        self.bind(name, held(e.v))

    def do_chain(self):
        e = self.scalar(2)
        a, b = self.new_name(), self.new_name()
        self.emit(f"{a} = {b} = {e.text}")
        self.bind(a, held(e.v))
        self.bind(b, held(e.v))

    def do_annotated(self):
        t = self.random.choice(INTS + ("float32", self.float_name))
        e = self.scalar(2, "float" if "float" in t else "int")
        if is_weak(e.v):
            e = self.literal_of((0, 1, 2, 5)) if "int" in t else e
        name = self.new_name()
        self.emit(f"{name}: asc.{t} = {e.text}")
        self.bind(name, unknown(t))

    def do_tuple(self):
        a, b = self.scalar(2), self.scalar(2)
        x, y = self.new_name(), self.new_name()
        if self.random.random() < .3:
            t = self.new_name("p")
            self.emit(f"{t} = ({a.text}, {b.text})")
            self.emit(f"{x}, {y} = {t}[0], {t}[-1]")
        elif self.random.random() < .3:
            c = self.scalar(1)
            z = self.new_name()
            self.emit(f"({x}, {z}), {y} = ({a.text}, {c.text}), {b.text}")
            self.bind(z, held(c.v))
        else:
            self.emit(f"{x}, {y} = {a.text}, {b.text}")
        self.bind(x, held(a.v))
        self.bind(y, held(b.v))

    def do_swap(self):
        mine = [n for n in self.scope.scalars if n not in self.scope.frozen]
        for a in mine:
            for b in mine:
                if a < b and self.scope.scalars[a].t is self.scope.scalars[b].t:
                    self.emit(f"{a}, {b} = {b}, {a}")
                    return

    def do_unpack(self):
        r = self.random
        names = [n for n, v in self.scope.tensors.items()
                 if len(v.shape) == 1 and v.shape[0] <= 4 and v.shape[0] and
                 self.scope.may_read_whole(n)]
        if names:
            name = r.choice(names)
            v = self.scope.tensors[name]
            made = [self.new_name() for _ in range(v.shape[0])]
            self.emit(f"{', '.join(made)}{',' * (len(made) == 1)} = {name}")
            for n in made:
                self.bind(n, Unknown(v.t))

    def do_choice_name(self):
        """One name on both branches."""
        a, b = self.scalar(2), self.scalar(2)
        both = dtypes.promote(held(a.v).t, held(b.v).t)
        if both is None:
            return
        name = self.new_name()
        self.emit(f"if {self.condition(2).text}:")
        self.emit(f"    {name} = {a.text}")
        self.emit("else:")
        self.emit(f"    {name} = {b.text}")
        self.bind(name, Unknown(both))

    def do_augment_name(self):
        r = self.random
        mine = [n for n in self.scope.scalars if n not in self.scope.frozen]
        if not mine:
            return self.do_assign()
        name = r.choice(mine)
        have = self.scope.scalars[name]
        if have.t is dtypes.BOOL:
            self.emit(f"{name} {r.choice('&|^')}= {self.condition(1).text}")
            return
        op, e = self.right_of(have, r)
        if e is None:
            return
        v = typed(ops.binary, op, have, e.v)
        if v is None:
            return
        if v.t is not have.t:
            both = dtypes.promote(have.t, v.t)
            if both is None or self.scope.in_loop:
                return
            v = Unknown(both)
        if r.random() < .25 and op != "**":
            self.emit(f"{name} = {name} {op} {e.text}")
        else:
            self.emit(f"{name} {op}= {e.text}")
        self.bind(name, v)

    def right_of(self, have, r):
        """An augmented operator and its right side, of the type of the left."""
        if have.t.is_float:
            op = r.choice(("+", "-", "*", "+", "/"))
            e = self.literal_of((2.0, 0.5, 4.0)) if op == "/" else self.scalar(2, "float")
            if op == "*" and r.random() < .7:
                e = self.literal_of((0.5, 2.0, -1.0)) if r.random() < .9 else e
                e = E(f"({e.text})", e.v)
        else:
            op = r.choice(AUGMENTED[:-2])
            if op in ("//", "%"):
                e = self.divisor(1, E("", have))
            elif op in ("<<", ">>"):
                e = self.literal_of((0, 1, 3, 9))
            else:
                e = self.scalar(2, "int")
        if e is not None and not is_weak(e.v) and e.t is not have.t and r.random() < .8:
            e = E(f"asc.{have.t.name}({e.text})", have)
        return op, e

    def targets(self):
        return [n for n in sorted(self.scope.writable)
                if all(self.scope.tensors[n].shape) and self.scope.tensors[n].shape and
                (not self.scope.parallel or n in self.scope.owned)]

    def stored(self, t, e):
        """e as it may be stored in a tensor of type t."""
        if e.t.is_float and not t.is_float or is_weak(e.v) and t.is_int and (
                isinstance(e.v, float) or not t.low <= e.v <= t.high):
            if is_weak(e.v):
                return E("1", 1)
            return E(f"asc.{t.name}({e.text})", Unknown(t, e.shape or None))
        return e

    def do_store(self):
        names = self.targets()
        if not names:
            return self.do_assign()
        name = self.random.choice(names)
        t = self.scope.tensors[name].t
        e = self.stored(t, self.scalar(3, "float" if t.is_float and self.random.random() < .7 else "num"))
        self.emit(f"{name}[{self.index(name)}] = {e.text}")

    def do_augment(self):
        r = self.random
        names = [n for n in self.targets() if self.scope.tensors[n].t is not dtypes.BOOL]
        if not names:
            return self.do_assign()
        name = r.choice(names)
        have = Unknown(self.scope.tensors[name].t)
        op, e = self.right_of(have, r)
        v = typed(ops.binary, op, have, e.v) if e else None
        if v is None or v.t.is_float and not have.t.is_float:
            return
        self.emit(f"{name}[{self.index(name)}] {op}= {e.text}")

    # ---- branches ----

    def do_if(self):
        r = self.random
        self.emit(f"if {self.condition(2).text}:")
        self.pending.clear()
        self.block(self.scope.child())
        for _ in range(r.choice((0, 0, 0, 1))):
            self.emit(f"elif {self.condition(2).text}:")
            self.pending.clear()
            self.block(self.scope.child(), 2)
        if r.random() < .4:
            self.emit("else:")
            self.block(self.scope.child())

    def do_walrus_if(self):
        e = self.scalar(2, "int")
        if is_weak(e.v):
            return
        name = self.new_name("w")
        self.emit(f"if ({name} := {e.text}) {self.random.choice(('>', '<=', '!='))} 3:")
        self.bind(name, held(e.v))
        self.block(self.scope.child(), 2)

    # ---- loops ----

    def bounds(self, most):
        """(text of range's arguments, least and greatest value, steps, surely runs)."""
        r = self.random
        scope = self.scope
        pick = r.random()
        sizes = [(s, n) for s, n in scope.sizes if n <= most]
        ints = [(n, v) for n, v in scope.loops.items() if 0 <= v[0] and v[1] <= most]
        if sizes and pick < .4:
            s, n = r.choice(sizes)
            return s, 0, n - 1, n, n > 0
        if ints and pick < .55:
            i, (_, high) = r.choice(ints)
            if r.random() < .5:
                return i, 0, high - 1, high, False
            n = min(most, high + r.randint(0, 4))
            return f"{i}, {n}", 0, n - 1, n, False
        if pick < .6:
            e = self.scalar(1, "int")
            n = min(most, r.randint(1, 6))
            return f"{e.text} % {n}", 0, n - 1, n, False
        a, n = r.choice((0, 0, 0, 1, 2, -1, -3)), r.randint(0 if r.random() < .1 else 1, most)
        step = r.choice((1, 1, 1, 2, 3, -1, -2, -1))
        values = range(a, a + n, step) if step > 0 else range(a + n, a, step)
        if step == 1 and a == 0:
            text = str(n)
        elif step == 1:
            text = f"{a}, {a + n}"
        else:
            text = f"{values.start}, {values.stop}, {values.step}"
        if not values:
            return text, 0, -1, 0, False
        return text, min(values), max(values), len(values), True

    def do_loop(self):
        r = self.random
        most = max(1, min(17, STEPS // self.scope.trips))
        static = r.random() < .12
        if static:
            most = min(most, 4)
        i = self.new_name("i")
        pick = r.random()
        scope = self.scope.child()
        if static and pick < .5:
            head, low, high, n, surely = self.static_items(i, scope)
        else:
            text, low, high, n, surely = self.bounds(most)
            if static:
                try:
                    if not all(p.strip().lstrip("-").isdigit() for p in text.split(",")):
                        static = False
                except ValueError:
                    static = False
            f = "asc.static_range" if static else r.choice(("range",) * 5 + ("asc.range",))
            more = ", unroll=4" if f == "asc.range" and r.random() < .6 else ""
            if f == "range" and r.random() < .05:
                head = f"for {i} in reversed(range({text})):"
            else:
                head = f"for {i} in {f}({text}{more}):"
            scope.loops[i] = (low, high)
        scope.trips *= max(n, 1)
        scope.in_loop = scope.in_loop or not static
        self.emit(head)
        self.block(scope)
        self.jump(scope, static)
        self.orelse()
        if surely and not static and high >= low and i in scope.loops and self.jumpless:
            self.scope.scalars[i] = unknown("int64")
            self.scope.frozen.add(i)

    def static_items(self, i, scope):
        r = self.random
        pick = r.random()
        if pick < .3:
            a, b = self.scalar(1, "num"), self.scalar(1, "num")
            t = dtypes.promote(held(a.v).t, held(b.v).t)
            if held(a.v).t is held(b.v).t and t is not None:
                scope.scalars[i] = Unknown(t)
                scope.frozen.add(i)
            return f"for {i} in ({a.text}, {b.text}):", 0, -1, 2, True
        if pick < .5:
            j = self.new_name("j")
            scope.loops[i] = (0, 2)
            scope.loops[j] = (1, 9)
            return f"for {i}, {j} in enumerate((4, 1, 9)):", 0, 2, 3, True
        if pick < .7:
            j = self.new_name("j")
            scope.loops[i] = (0, 2)
            scope.loops[j] = (1, 3)
            return f"for {i}, {j} in zip((0, 2), (3, 1)):", 0, 2, 2, True
        if pick < .85:
            scope.loops[i] = (0, 5)
            return f"for {i} in reversed((1, 5, 0)):", 0, 5, 3, True
        scope.loops[i] = (0, 6)
        return f"for {i} in [2 * c for c in range(4) if c != 2]:", 0, 6, 3, True

    def jump(self, scope, static):
        """break or continue in the loop that was just written, now and then."""
        r = self.random
        self.jumpless = True
        if r.random() < .25:
            saved, self.scope = self.scope, scope
            self.level += 1
            self.emit(f"if {self.condition(1).text}:")
            word = r.choice(("break", "continue"))
            self.emit(f"    {word}")
            self.jumpless = word != "break" or True
            self.scope = saved.child()
            self.scope.loops, self.scope.trips = dict(scope.loops), scope.trips
            self.scope.in_loop = True
            if r.random() < .6:
                self.statement()
            self.level -= 1
            self.scope = saved

    def orelse(self):
        if self.random.random() < .12:
            self.emit("else:")
            self.block(self.scope.child(), 2)

    def do_while(self):
        r = self.random
        c = self.new_name("c")
        scope = self.scope.child()
        n = r.randint(1, 6)
        pick = r.random()
        self.emit(f"{c} = {0 if pick < .6 else n}")
        extra = f" and {self.condition(1).text}" if r.random() < .3 else ""
        self.pending.clear()
        if pick < .6:
            self.emit(f"while {c} < {n}{extra}:")
            self.emit(f"    {c} += 1")
        elif pick < .8:
            self.emit(f"while {c}{extra}:")
            self.emit(f"    {c} -= 1")
        else:
            self.emit("while True:")
            self.emit(f"    {c} -= 1")
            self.emit(f"    if {c} < 0{extra.replace(' and ', ' or ')}:")
            self.emit("        break")
        scope.scalars[c] = unknown("int32")
        scope.frozen.add(c)
        scope.trips *= n
        scope.in_loop = True
        self.block(scope)
        self.jump(scope, False)
        if pick < .8:
            self.orelse()
        self.scope.scalars[c] = unknown("int32")

    def do_parallel(self):
        r = self.random
        targets = [n for n in sorted(self.scope.writable) if self.scope.tensors[n].shape and
                   all(self.scope.tensors[n].shape) and n not in self.scope.unreadable and
                   (not self.scope.parallel or n in self.scope.owned) and
                   any(a not in self.scope.owned.get(n, {}) for a in range(len(self.scope.tensors[n].shape)))]
        if not targets:
            return
        most = max(1, STEPS // self.scope.trips)
        name = r.choice(targets)
        shape = self.scope.tensors[name].shape
        axes = [a for a in range(len(shape)) if a not in self.scope.owned.get(name, {}) and shape[a] <= most]
        if not axes:
            return
        axis = r.choice(axes)
        n = shape[axis]
        scope = self.scope.child()
        scope.parallel = scope.in_loop = True
        for other in self.scope.writable:
            if other != name:
                scope.writable.discard(other)
        scope.frozen |= set(scope.scalars)
        i = self.new_name("i")
        scope.owned.setdefault(name, {})[axis] = i
        scope.loops[i] = (0, n - 1)
        scope.trips *= n
        sizes = [s for s, m in self.scope.sizes if m == n]
        stop = r.choice(sizes) if sizes and r.random() < .6 else str(n)
        free = [a for a in axes if a != axis]
        if free and r.random() < .4 and n * shape[free[0]] <= most:
            j = self.new_name("i")
            scope.owned[name][free[0]] = j
            scope.loops[j] = (0, shape[free[0]] - 1)
            scope.trips *= shape[free[0]]
            self.emit(f"for {i}, {j} in asc.parallel_for_grid({stop}, {shape[free[0]]}):")
        else:
            pick = r.random()
            if pick < .6:
                self.emit(f"for {i} in asc.parallel_for({stop}):")
            elif pick < .8:
                a = r.randint(0, n - 1)
                self.emit(f"for {i} in asc.parallel_for({a}, {stop}):")
            else:
                self.emit(f"for {i} in asc.parallel_for(0, {stop}, {r.randint(1, 3)}):")
        total = None
        ints = [s for s, v in self.scope.scalars.items()
                if v.t.is_int and s not in self.scope.frozen and not self.scope.parallel]
        if ints and r.random() < .3:
            total = r.choice(ints)
            scope.unreadable.add(total)
        self.block(scope)
        if total:
            saved, self.scope = self.scope, scope
            self.level += 1
            t = scope.scalars[total].t.name
            e = self.scalar(1, "int")
            if r.random() < .7:
                self.emit(f"{total} += asc.{t}({e.text})")
            else:
                f = r.choice(("max", "min"))
                self.emit(f"{total} = {f}({total}, asc.{t}({e.text}))")
            self.level -= 1
            self.scope = saved

    # ---- tensors ----

    def do_tensor(self):
        if self.scope.trips > 20:
            return self.do_store()
        e = self.product() if self.random.random() < .15 else self.tensor(2)
        if e is None or e.v is None or not e.shape:
            return self.do_assign()
        name = self.new_name("T")
        self.emit(f"{name} = {e.text}")
        self.scope.tensors[name] = Unknown(e.t, e.shape)

    def product(self):
        """A product of matrices that fit."""
        r = self.random
        names = [n for n, v in self.scope.tensors.items() if len(v.shape) == 2 and
                 self.scope.may_read_whole(n) and self.size(v.shape) <= 400]
        if not names:
            return None
        a = E(name := r.choice(names), self.scope.tensors[name])
        others = [n for n in names if self.scope.tensors[n].shape[0] == a.shape[1]]
        if others and r.random() < .5:
            b = E(name := r.choice(others), self.scope.tensors[name])
        else:
            b = E(f"{a.text}.T", typed(entry("transpose"), a.v))
        return E(f"({a.text} @ {b.text})", typed(entry("matmul"), a.v, b.v))

    def do_slice(self):
        r = self.random
        names = self.targets()
        if not names or self.scope.trips > 20 or self.scope.parallel:
            return self.do_store()
        name = r.choice(names)
        whole = E(name, self.scope.tensors[name])
        target = self.sliced(whole) if r.random() < .6 else E(f"{name}[:]", whole.v)
        if target is whole:
            target = E(f"{name}[:]", whole.v)
        e = self.tensor(2, "num", target.shape) if r.random() < .7 else self.scalar(2)
        if e is None:
            return
        e = self.stored(whole.t, e)
        if e.shape and not self._fits(target, e):
            return
        if r.random() < .3 and whole.t is not dtypes.BOOL:
            v = typed(ops.binary, "+", Unknown(whole.t, target.shape), e.v)
            if v is None or v.t.is_float and not whole.t.is_float or v.shape != target.shape:
                return
            self.emit(f"{target.text} {r.choice('+-*')}= {e.text}")
        else:
            self.emit(f"{target.text} = {e.text}")

    @staticmethod
    def _fits(target, e):
        have = list(e.shape)
        while len(have) > len(target.shape) and have[0] == 1:
            have.pop(0)
        return len(have) <= len(target.shape) and all(
            a in (1, b) for a, b in zip(reversed(have), reversed(target.shape)))

    def do_local(self):
        r = self.random
        if self.scope.trips > 60 or self.scope.parallel:
            return
        shape = tuple(r.choice(SIZES[:8]) for _ in range(r.choice((1, 1, 2))))
        t = r.choice((self.float_name, "float32", "int32", "int64", r.choice(INTS), "bool"))
        name = self.new_name("L")
        f = r.choice(("zeros", "ones", "full", "shared_memory", "local"))
        text = f"{shape}" if len(shape) > 1 or r.random() < .5 else str(shape[0])
        self.emit(f"{name} = asc.{f}({text}, {'1, ' if f == 'full' else ''}asc.{t})")
        if f in ("shared_memory", "local"):
            self.emit(f"{name}[:] = {r.choice((0, 1))}")
        self.scope.tensors[name] = unknown(t, shape)
        self.scope.writable.add(name)

    def do_copy(self):
        r = self.random
        names = [n for n in self.scope.tensors if self.scope.may_read_whole(n)]
        if not names or self.scope.parallel or self.scope.trips > 20:
            return
        source = r.choice(names)
        v = self.scope.tensors[source]
        same = [n for n in sorted(self.scope.writable) if n != source and
                self.scope.tensors[n].shape == v.shape and self.scope.tensors[n].t is v.t]
        if same and r.random() < .6:
            self.emit(f"asc.copy({source}, {r.choice(same)})")
            return
        name = self.new_name("T")
        self.emit(f"{name} = {source}.copy()" if r.random() < .5 else f"{name} = asc.copy({source})")
        self.scope.tensors[name] = Unknown(v.t, v.shape)
        self.scope.writable.add(name)

    def do_rows(self):
        """A loop over the elements or rows of a tensor."""
        r = self.random
        names = [n for n, v in self.scope.tensors.items() if v.shape and all(v.shape) and
                 v.shape[0] <= 9 and self.scope.may_read_whole(n)]
        if not names or self.level >= 5 or self.scope.trips > 30:
            return
        name = r.choice(names)
        v = self.scope.tensors[name]
        row = self.new_name("R")
        scope = self.scope.child()
        scope.trips *= v.shape[0]
        scope.in_loop = True
        scope.unreadable.add(name)
        scope.writable.discard(name)
        if len(v.shape) == 1:
            scope.scalars[row] = Unknown(v.t)
            scope.frozen.add(row)
        else:
            scope.tensors[row] = Unknown(v.t, v.shape[1:])
        self.emit(f"for {row} in {name}:")
        self.block(scope, 2)

    def do_products(self):
        """@= and **=."""
        r = self.random
        names = [n for n in self.targets() if self.scope.tensors[n].t is not dtypes.BOOL and
                 not self.scope.parallel and self.scope.trips <= 20]
        square = [n for n in names if len(self.scope.tensors[n].shape) == 2 and
                  len(set(self.scope.tensors[n].shape)) == 1]
        if square and r.random() < .8:
            name = r.choice(square)
            self.emit(f"{name} @= {name}" if r.random() < .3 else f"{name} = {name} @ {name}.T"
                      if r.random() < .5 else f"{name}[:] = asc.matmul({name}, {name}, "
                      f"transpose_y={r.random() < .5})")
        elif names:
            name = r.choice(names)
            self.emit(f"{name}[{self.index(name)}] **= {r.choice((0, 1, 2, 3))}")

    def do_none(self):
        r = self.random
        name = self.new_name("z")
        self.emit(f"{name} = {r.choice(('None', '2'))}")
        e = self.scalar(2)
        made = self.new_name()
        self.emit(f"{made} = {e.text} if {name} {r.choice(('is', 'is not'))} None else {e.text}")
        self.bind(made, held(e.v))

    def do_list(self):
        a, b = self.scalar(2), self.scalar(1)
        name, made = self.new_name("p"), self.new_name()
        self.emit(f"{name} = [{a.text}, {b.text}]")
        self.emit(f"{made} = {name}[{self.random.choice((0, -2))}]")
        self.bind(made, held(a.v))

    # ---- helpers ----

    def helper(self, types):
        """Writes a helper of scalars of these types, used by its name and what it returns."""
        r = self.random
        saved = self.scope, self.lines, self.level, self.budget
        self.scope, self.lines, self.level = Scope(), [], 1
        self.scope.walrus = True
        self.helper_depth += 1
        self.budget = r.randint(0, 4)
        names = [self.new_name("a") for _ in types]
        for n, t in zip(names, types):
            self.scope.scalars[n] = Unknown(t)
        while self.budget > 0:
            self.statement()
        kind = r.random()
        result = self.scalar(2)
        t = held(result.v).t
        if kind < .3:  # early
            other = self.scalar(1)
            self.emit(f"if {self.condition(1).text}:")
            self.emit(f"    return asc.{t.name}({other.text})")
        self.emit(f"return asc.{t.name}({result.text})")
        body = self.lines
        self.scope, self.lines, self.level, self.budget = saved
        self.helper_depth -= 1
        self.pending.clear()
        name = self.new_name("h")
        last = names[-1]
        parameters = ", ".join(names[:-1] + [f"{last}=2" if types[-1].is_int else last])
        self.helpers.append(f"def {name}({parameters}):\n" + "\n".join(body))
        return name, names, t

    def helper_call(self, depth, want):
        r = self.random
        if self.helper_depth or len(self.helpers) >= 2 and not getattr(self, "made", None):
            return None
        self.made = getattr(self, "made", [])
        if self.made and (len(self.helpers) >= 2 or r.random() < .5):
            name, names, types, t = r.choice(self.made)
            args = [self.scalar(depth - 1, "float" if u.is_float else "bool" if u is dtypes.BOOL else "int")
                    for u in types]
        else:
            args = [self.scalar(depth - 1) for _ in range(r.randint(1, 3))]
            types = [held(a.v).t for a in args]
            name, names, t = self.helper(types)
            self.made.append((name, names, types, t))
        texts = [a.text for a in args]
        if r.random() < .15 and types[-1].is_int and len(texts) > 1:
            texts.pop()
        elif r.random() < .2:
            texts[-1] = f"{names[-1]}={texts[-1]}"
        return E(f"asc.{t.name}({name}({', '.join(texts)}))", Unknown(t))

    def do_helper_tensor(self):
        """A helper that writes a tensor and returns several values."""
        r = self.random
        names = [n for n in self.targets() if len(self.scope.tensors[n].shape) == 1]
        if not names or self.helper_depth or self.scope.parallel or self.scope.trips > 20 or \
                len(self.helpers) > 3:
            return
        target = r.choice(names)
        v = self.scope.tensors[target]
        name = self.new_name("h")
        e = self.stored(v.t, E("s * 2", unknown("int32")))
        self.helpers.append(
            f"def {name}(x, s):\n    for i in range(len(x)):\n        x[i] {r.choice(('=', '+=', '='))} "
            f"{e.text if v.t is not dtypes.BOOL else 's > i'}\n    return s + 1, x[0]")
        if v.t is dtypes.BOOL:
            self.helpers.pop()
            return
        a, b = self.new_name(), self.new_name()
        self.emit(f"{a}, {b} = {name}({target}, asc.int32({self.scalar(1, 'int').text}))")
        self.bind(a, unknown("int32"))
        self.bind(b, Unknown(v.t))


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
        kinds = ["tensor"] * 5 + ["slice"] * 8 + ["copy"] * 2 + ["local", "products", "store", "assign"]
        if self.level < 3:
            kinds += ["if", "loop", "parallel", "helper_tensor"]
        getattr(self, "do_" + self.random.choice(kinds))()
        self.pending.clear()
