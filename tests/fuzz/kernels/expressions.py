"""Random expressions whose types the interpreter's own rules give: an expression is a text and what
is known of its value (an Unknown, or a literal), and only one that types is kept."""

from calls import library_call
from kernel import dtypes
from pyasc.interpret import indexing, ops
from pyasc.interpret.values import Unknown, dtype_of, is_weak, shape_of
from terms import HALVES, INTS, E, entry, held, typed, unknown

BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
COMPARE = ("<", "<=", "==", "!=", ">", ">=")
FLOATS = ("0.5", "1.0", "2.0", "-1.0", "0.25", "1.5", "3.0", "-0.0", "4.0")


class Expressions:
    """Mixed into the generator of programs, which has `random`, `scope` and `float_name`."""

    # ---- scalars ----

    def literal(self, want):
        r = self.random
        if want == "bool":
            return self._bool_literal()
        known = [c for c in self.constants if self.fits(c.v, want) and
                 (not self.helper_depth or c.text not in self.parameters)]
        if known and r.random() < .3:
            return r.choice(known)
        if want == "float" or want == "num" and r.random() < .4:
            text = r.choice(FLOATS)
            return E(f"({text})" if text[0] == "-" else text, float(text))
        n = r.choice((0, 1, 2, 3, 5, 7, -1, -2, 10, 100, 127, 255, r.randrange(-40, 40))) \
            if r.random() < .97 else r.choice((2**31 - 1, 2**31, -2**31, 2**40, 32767, 65535))
        return E(f"({n})" if n < 0 else str(n), n)

    def _bool_literal(self):
        value = self.random.random() < .5
        return E(str(value), value)

    @staticmethod
    def fits(v, want):
        if v is None:
            return False
        t = dtype_of(v)
        return want == "num" or want == "int" and t.is_int or want == "float" and t.is_float or \
            want == "bool" and t is dtypes.BOOL

    def scalar(self, depth, want="num"):
        for _ in range(6):
            e = self._scalar(depth, want)
            if e is not None and self.fits(e.v, want) and not e.shape:
                return e
        return self.literal(want)

    def _scalar(self, depth, want):
        r = self.random
        if depth <= 0 or r.random() < .18:
            return self.leaf(want)
        if want == "bool":
            return self.condition(depth)
        choice = r.random()
        if choice < .5:
            return self.binary(depth, want)
        if choice < .57:
            return self.unary(depth, want)
        if choice < .64:
            return self.cast(depth, want)
        if choice < .74:
            c, a, b = self.condition(depth - 1), self.scalar(depth - 1, want), \
                self.scalar(depth - 1, want)
            v = typed(ops.binary, "max", a.v, b.v)
            return v is not None and E(f"({a.text} if {c.text} else {b.text})", held(v)) or None
        if choice < .82:
            a, b = self.scalar(depth - 1, want), self.scalar(depth - 1, want)
            f = r.choice(("min", "max", "asc.minimum", "asc.maximum"))
            v = typed(ops.binary, f[-3:] if f[0] == "m" else f[4:7], a.v, b.v)
            return E(f"{f}({a.text}, {b.text})", v)
        if choice < .88:
            return self.scalar_call(depth, want)
        if choice < .92 and self.scope.walrus:
            e = self.scalar(depth - 1, want)
            if is_weak(e.v):
                return e
            name = self.new_name("w")
            self.pending.append((name, held(e.v)))
            return E(f"({name} := {e.text})", e.v)
        return self.helper_call(depth, want) or self.leaf(want)

    def leaf(self, want):
        r = self.random
        options = []
        scope = self.scope
        names = [n for n, v in scope.scalars.items() if self.fits(v, want) and scope.readable(n)]
        if names:
            options += ["name"] * 3
        tensors = [n for n, v in scope.tensors.items()
                   if self.fits(Unknown(v.t), want) and all(v.shape) and scope.may_read(n)]
        if tensors:
            options += ["element"] * 3
        if scope.loops and want in ("int", "num"):
            options += ["loop"] * 2
        if want in ("int", "num") and r.random() < .2 and scope.sizes:
            options.append("size")
        if not options or r.random() < .15:
            return self.literal(want)
        kind = r.choice(options)
        if kind == "name":
            name = r.choice(names)
            return E(name, scope.scalars[name])
        if kind == "loop":
            name = r.choice(list(scope.loops))
            return E(name, unknown("int64"))
        if kind == "size":
            text, n = r.choice(scope.sizes)
            return E(text, n)
        return self.element(r.choice(tensors))

    def binary(self, depth, want):
        r = self.random
        floats = want == "float" or want == "num" and r.random() < .5
        op = r.choice(("+", "-", "*", "+", "-", "*", "+", "-", "/")) if floats and r.random() < .9 \
            else r.choice(BINARY)
        a = self.scalar(depth - 1, want)
        if op == "**":
            b = self.literal_of((0, 1, 2, 3)) if r.random() < .7 else \
                E(f"({self.scalar(depth - 1, 'int').text} & 3)", None)
            if b.v is None:
                return None
        elif op in ("<<", ">>"):
            b = self.literal_of((0, 1, 3, 7, 8, 31, 40)) if r.random() < .5 else \
                self.masked(depth - 1)
        elif op in ("//", "%"):
            b = self.divisor(depth - 1, a)
        elif op == "/":
            b = self.literal_of((2.0, 4.0, 0.5, 3.0, 2, 4)) if r.random() < .7 else \
                self.divisor(depth - 1, a)
        else:
            b = self.scalar(depth - 1, want)
        if b is None:
            return None
        return E(f"({a.text} {op} {b.text})", typed(ops.binary, op, a.v, b.v))

    def literal_of(self, values):
        v = self.random.choice(values)
        return E(str(v), v)

    def masked(self, depth):
        e = self.scalar(depth, "int")
        v = typed(ops.binary, "&", e.v, 15)
        return None if v is None else E(f"({e.text} & 15)", v)

    def divisor(self, depth, a):
        r = self.random
        if a.t.is_float:
            return self.literal_of((2.0, 4.0, 0.5, 1.5, -2.0))
        if r.random() < .6:
            n = r.choice((1, 2, 3, 5, 7, 10, -2, -3))
            return E(f"({n})" if n < 0 else str(n), n)
        e = self.scalar(depth, "int")
        if r.random() < .04:
            return e  # may be zero: an error that all must tell
        v = typed(ops.binary, "|", e.v, 1)
        return None if v is None else E(f"({e.text} | 1)", v)

    def unary(self, depth, want):
        e = self.scalar(depth - 1, want)
        op = self.random.choice(("-", "+", "~", "abs"))
        if op == "abs":
            return E(f"abs({e.text})", typed(entry("abs"), e.v))
        f = {"-": ops.negate, "+": ops.plus, "~": ops.invert}[op]
        return E(f"({op}{e.text})", typed(f, e.v))

    def cast(self, depth, want):
        r = self.random
        if want == "float" or want == "num" and r.random() < .4:
            t = r.choice((self.float_name, self.float_name, "float32", "float16", "bfloat16"))
            e = self.scalar(depth - 1, "num")
        else:
            t = r.choice(INTS)
            e = self.scalar(depth - 1, "num" if r.random() < .4 else "int")
            if r.random() < .2:
                return E(f"int({e.text})", unknown("int64"))
            if r.random() < .1:
                return E(f"round({e.text})", typed(entry("round", "builtin"), e.v))
        v = typed(ops.cast, e.v, dtypes.BY_NAME[t])
        if v is None or is_weak(e.v):
            return E(f"asc.{t}({e.text})", v)
        return E(r.choice((f"asc.{t}({e.text})", f"asc.cast({e.text}, asc.{t})")), held(v))

    def scalar_call(self, depth, want):
        r = self.random
        if want == "float" or want == "num" and r.random() < .3:
            f = r.choice(("floor", "ceil", "trunc", "abs", "square", "relu", "sign", "rint", "fma",
                          "sqrt", "exp", "tanh", "where", "clip"))
        else:
            f = r.choice(("abs", "square", "sign", "where", "clip", "cdiv", "len"))
        a = self.scalar(depth - 1, want)
        if f == "fma":
            b, c = self.scalar(depth - 1, want), self.scalar(depth - 1, want)
            return E(f"asc.fma({a.text}, {b.text}, {c.text})", typed(entry(f), a.v, b.v, c.v))
        if f == "where":
            c, b = self.condition(depth - 1), self.scalar(depth - 1, want)
            return E(f"asc.where({c.text}, {a.text}, {b.text})", typed(entry(f), c.v, a.v, b.v))
        if f == "clip":
            return E(f"asc.clip({a.text}, -3, 5)", typed(entry(f), a.v, -3, 5))
        if f == "cdiv":
            return E(f"asc.cdiv({a.text}, 3)", typed(entry(f), a.v, 3))
        if f == "len":
            names = [n for n, v in self.scope.tensors.items() if v.shape]
            if not names:
                return None
            name = r.choice(names)
            return E(f"len({name})", self.scope.tensors[name].shape[0])
        if f == "exp":  # far from overflow
            return E(f"asc.exp(asc.minimum({a.text}, 1.0))", typed(entry(f), a.v))
        if f == "sqrt":
            return E(f"asc.sqrt(abs({a.text}))", typed(entry(f), a.v))
        return E(f"asc.{f}({a.text})", typed(entry(f), a.v))

    def condition(self, depth):
        r = self.random
        if depth <= 0 or r.random() < .55:
            want = r.choice(("int", "int", "float", "num"))
            a, b = self.scalar(depth - 1, want), self.scalar(depth - 1, want)
            v = typed(ops.compare, "<", a.v, b.v)
            if v is None:
                return self._bool_literal()
            if r.random() < .15:
                c = self.scalar(depth - 1, want)
                if typed(ops.compare, "<", b.v, c.v) is not None:
                    return E(f"({a.text} {r.choice(COMPARE)} {b.text} {r.choice(COMPARE)} {c.text})",
                             unknown("bool"))
            return E(f"({a.text} {r.choice(COMPARE)} {b.text})", unknown("bool"))
        pick = r.random()
        if pick < .5:
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            if pick < .1:
                v = typed(ops.binary, "&", a.v, b.v)
                return None if v is None else E(f"({a.text} {r.choice('&|^')} {b.text})", v)
            return E(f"({a.text} {r.choice(('and', 'or'))} {b.text})", unknown("bool"))
        if pick < .65:
            return E(f"(not {self.condition(depth - 1).text})", unknown("bool"))
        if pick < .75:
            return E(f"bool({self.scalar(depth - 1).text})", unknown("bool"))
        if pick < .85:
            e = self.scalar(depth - 1, "int")
            return E(f"({e.text} {r.choice(('in', 'not in'))} (1, 2, 7))", unknown("bool"))
        return self.leaf("bool")

    # ---- elements ----

    def element(self, name):
        v = self.scope.tensors[name]
        key = self.index(name)
        return E(f"{name}[{key}]", Unknown(v.t))

    def index(self, name):
        """An index of one element, inside of the tensor but for a few that all must refuse."""
        shape, owned = self.scope.tensors[name].shape, self.scope.owned.get(name, {})
        return ", ".join(owned[axis] if axis in owned else self.place(n)
                         for axis, n in enumerate(shape)) if shape else "..."

    def place(self, n):
        r = self.random
        inside = [(i, low, high) for i, (low, high) in self.scope.loops.items()
                  if low >= 0 and high < n]
        near = [(i, low, high) for i, (low, high) in self.scope.loops.items()
                if high - low < n and not (low >= 0 and high < n)]
        pick = r.random()
        if inside and pick < .65:
            i, low, high = r.choice(inside)
            if r.random() < .2:
                return f"{n - 1} - {i}"
            slack = r.randint(-low, n - 1 - high)
            return i if slack == 0 or r.random() < .6 else f"{i} {'+-'[slack < 0]} {abs(slack)}"
        if near and pick < .7:
            i, low, high = r.choice(near)
            shift = -low + r.randint(0, n - 1 - (high - low))
            return f"{i} {'+-'[shift < 0]} {abs(shift)}"
        if pick < .85:
            return str(r.randint(-n, n - 1))
        e = self.scalar(1, "int")
        if pick < .853:
            return e.text
        return f"{e.text} % {n}" if typed(ops.binary, "%", e.v, n) is not None else "0"

    # ---- tensors ----

    def tensor_leaf(self, shape=None):
        r = self.random
        owned = [n for n in self.scope.owned if self.scope.owned[n] and self.scope.may_read(n) and
                 len(self.scope.owned[n]) < len(self.scope.tensors[n].shape)]
        if owned and r.random() < .4:
            return self.owned_view(r.choice(owned))
        names = [n for n, v in self.scope.tensors.items() if self.scope.may_read_whole(n)]
        if shape is not None:
            names = [n for n in names if self.scope.tensors[n].shape == shape] or names
        if not names:
            return None
        name = r.choice(names)
        e = E(name, self.scope.tensors[name])
        if r.random() < .25:
            return self.sliced(e)
        if r.random() < .1 and len(e.shape) > 1:
            return E(f"{e.text}.T", typed(entry("transpose"), e.v))
        return e

    def sliced(self, e):
        """A view of a tensor."""
        r = self.random
        keys, parts = [], []
        for n in e.shape:
            pick = r.random()
            moving = self.moving_key(n) if pick >= .8 or r.random() < .25 else None
            if moving:
                keys.append(moving[0])
                parts.append(moving[1])
            elif pick < .35 or n == 0:
                keys.append(slice(None))
                parts.append(":")
            elif pick < .8:
                a, b = r.randint(0, n), r.randint(-1, n + 1)
                if r.random() < .15:
                    a, b = r.randint(-n - 2, -1), r.choice((b, None))
                step = r.choice((None, None, 1, 2, 3))
                keys.append(slice(a, b, step))
                parts.append(f"{a or ''}:{'' if b is None else b}" + (f":{step}" if step else ""))
            elif pick < .88:
                a, b = r.choice(((None, None), (n - 1, None), (-1, 0), (r.randint(0, n), r.randint(-n, n))))
                step = r.choice((-1, -1, -2, -3))
                keys.append(slice(a, b, step))
                parts.append(f"{'' if a is None else a}:{'' if b is None else b}:{step}")
            else:
                i = r.randint(-n, n - 1)
                keys.append(i)
                parts.append(str(i))
        if r.random() < .1:
            at = r.randint(0, len(keys))
            keys.insert(at, None)
            parts.insert(at, "None")
        if not parts:
            return e
        v = typed(indexing.load, e.v, tuple(keys))
        if v is None or not shape_of(v):
            return e
        return E(f"{e.text}[{', '.join(parts)}]", v)

    def moving_key(self, n):
        """A key that goes with a loop's variable: (one that gives the same shape, its text)."""
        r = self.random
        inside = [(i, low, high) for i, (low, high) in self.scope.loops.items()
                  if 0 <= low <= high < n]
        given = [(i, v, v) for i, v in self.given if v < n and not self.helper_depth]
        if given and r.random() < .3:
            inside = given  # a slice that starts where only the run knows
        if not inside:
            return None
        i, low, high = r.choice(inside)
        if r.random() < .5:
            return low, r.choice((i, i, f"{n - 1} - {i}"))
        length = r.randint(1, n - high)
        step = r.choice((None, None, None, 2)) if length > 2 else None
        return slice(low, low + length, step), f"{i}:{i} + {length}" + (f":{step}" if step else "")

    def owned_view(self, name):
        """What an iteration of a parallel loop owns of a tensor, or a view of it."""
        r = self.random
        keys, parts = [], []
        for axis, n in enumerate(self.scope.tensors[name].shape):
            if axis in self.scope.owned[name]:
                keys.append(0)
                parts.append(self.scope.owned[name][axis])
            elif r.random() < .7:
                keys.append(slice(None))
                parts.append(":")
            else:
                a, step = r.randint(0, n - 1), r.choice((None, 2))
                keys.append(slice(a, None, step))
                parts.append(f"{a}:" + (f":{step}" if step else ""))
        while parts and parts[-1] == ":" and r.random() < .5:
            parts.pop()
            keys.pop()
        if not parts:
            return E(name, self.scope.tensors[name])
        return E(f"{name}[{', '.join(parts)}]",
                 typed(indexing.load, self.scope.tensors[name], tuple(keys)))

    def tensor(self, depth, want="num", shape=None):
        for _ in range(5):
            e = self._tensor(depth, want, shape)
            if e is not None and e.v is not None and e.shape and self.fits(Unknown(e.t), want) and \
                    self.size(e.shape) <= 4096:
                return e
        return None

    @staticmethod
    def size(shape):
        n = 1
        for d in shape:
            n *= d
        return n

    def _tensor(self, depth, want, shape):
        r = self.random
        if depth <= 0 or r.random() < .2:
            return self.tensor_leaf(shape)
        a = self.tensor(depth - 1, "num", shape)
        if a is None:
            return None
        pick = r.random()
        if pick < .5:
            b = self.tensor(depth - 1, "num", a.shape) if r.random() < .6 else self.scalar(1)
            if b is None:
                return None
            if a.t.is_float or b.t.is_float:
                op = r.choice(("+", "-", "*", "+", "-", "*", "/"))
                if op == "/":
                    b = self.literal_of((2.0, 4.0, 0.5))
            else:
                op = r.choice(("+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>", "**", "/"))
                if op in ("<<", ">>", "**"):
                    b = E(f"({b.text} & 3)", typed(ops.binary, "&", b.v, 3))
                elif op in ("%", "//", "/") and not b.shape:
                    b = self.literal_of((1, 2, 3, 7))
            if b.v is None:
                return None
            if r.random() < .3 and not is_weak(b.v):
                a, b = b, a
            return E(f"({a.text} {op} {b.text})", typed(ops.binary, op, a.v, b.v))
        if pick < .57:
            b = self.tensor(depth - 1, "num", a.shape)
            if b is None:
                return None
            return E(f"({a.text} {r.choice(COMPARE)} {b.text})", typed(ops.compare, "<", a.v, b.v))
        if pick < .64:
            op = r.choice("-+~")
            f = {"-": ops.negate, "+": ops.plus, "~": ops.invert}[op]
            return E(f"({op}{a.text})", typed(f, a.v))
        if pick < .72:
            t = r.choice(INTS + ("float32", "float16", self.float_name, "bool"))
            text = r.choice((f"asc.{t}({a.text})", f"{a.text}.astype(asc.{t})"))
            return E(text, typed(ops.cast, a.v, dtypes.BY_NAME[t]))
        if pick < .8:
            c, b = self.tensor(depth - 1, "bool", a.shape), self.tensor(depth - 1, "num", a.shape)
            if c is None or b is None:
                return None
            return E(f"asc.where({c.text}, {a.text}, {b.text})",
                     typed(entry("where"), c.v, a.v, b.v))
        return self.tensor_call(a)

    def tensor_call(self, a):
        r = self.random
        if r.random() < .4:
            return library_call(self, a)
        f = r.choice(("sum", "max", "min", "any", "all", "sum", "cumsum", "argmax", "flip", "abs",
                      "transpose", "reshape", "concat", "stack", "pad", "tile", "square", "clip",
                      "maximum", "minimum", "matmul", "count_nonzero", "relu", "floor", "sign",
                      "expand_dims", "squeeze", "swapaxes", "sort", "exp", "mean", "argmin", "matmul"))
        rank = len(a.shape)
        axis = r.randint(-rank, rank - 1)
        if f in ("max", "min", "argmax", "argmin", "mean") and not all(a.shape):
            return None
        if f in ("sum", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "mean"):
            keep = r.random() < .5
            v = typed(entry(f), a.v, axis, keep)
            return E(f"asc.{f}({a.text}, {axis}, {keep})", v)
        if f == "cumsum":
            return E(f"asc.cumsum({a.text}, {axis})", typed(entry(f), a.v, axis))
        if f == "flip":
            return E(f"asc.flip({a.text}, {axis})", typed(entry(f), a.v, axis))
        if f == "sort":
            return E(f"asc.sort({a.text}, {axis})", typed(entry(f), a.v, axis))
        if f == "reshape":
            return E(f"{a.text}.reshape(-1)", typed(entry(f), a.v, -1))
        if f in ("concat", "stack"):
            b = self.tensor_leaf(a.shape)
            if b is None:
                return None
            return E(f"asc.{f}(({a.text}, {b.text}), {axis})", typed(entry(f), (a.v, b.v), axis))
        if f == "pad":
            return E(f"asc.pad({a.text}, 1)", typed(entry(f), a.v, 1))
        if f == "tile":
            return E(f"asc.tile({a.text}, 2)", typed(entry(f), a.v, 2))
        if f == "clip":
            return E(f"asc.clip({a.text}, -2, 3)", typed(entry(f), a.v, -2, 3))
        if f in ("maximum", "minimum"):
            b = self.tensor_leaf(a.shape) or a
            return E(f"asc.{f}({a.text}, {b.text})", typed(entry(f), a.v, b.v))
        if f == "matmul":
            b = self.tensor_leaf() if r.random() < .3 else E(f"{a.text}.T", typed(entry("transpose"), a.v))
            if b is None or b.v is None:
                return None
            call = r.choice((f"({a.text} @ {b.text})", f"asc.matmul({a.text}, {b.text})"))
            return E(call, typed(entry(f), a.v, b.v))
        if f == "expand_dims":
            return E(f"asc.expand_dims({a.text}, {axis})", typed(entry(f), a.v, axis))
        if f == "swapaxes":
            return E(f"asc.swapaxes({a.text}, 0, {axis})", typed(entry(f), a.v, 0, axis))
        if f == "exp":
            return E(f"asc.exp(asc.minimum({a.text}, 1.0))", typed(entry(f), a.v))
        return E(f"asc.{f}({a.text})", typed(entry(f), a.v))
