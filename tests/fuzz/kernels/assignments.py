"""Statements of random programs that bind names and store elements."""

from terms import E, INTS, held, typed, unknown
from kernel import dtypes
from pyasc.interpret import ops
from pyasc.interpret.values import Unknown, is_weak

AUGMENTED = ("+", "-", "*", "+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "/", "**")


class Assignments:
    """Mixed into the generator of programs."""

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

    def do_comprehension(self):
        """A list that a comprehension makes, and what Python's functions make of it."""
        r = self.random
        names = [n for n, v in self.scope.tensors.items() if len(v.shape) == 1 and v.shape[0] >= 2 and
                 self.scope.may_read_whole(n) and v.t is not dtypes.BOOL]
        if not names:
            return self.do_list()
        name, c, p, made = r.choice(names), self.new_name("c"), self.new_name("p"), self.new_name()
        t = self.scope.tensors[name].t
        k = r.randint(2, min(4, self.scope.tensors[name].shape[0]))
        element = f"{name}[{r.choice((c, f'{k - 1} - {c}', f'-1 - {c}'))}]"
        self.emit(f"{p} = [{element} {r.choice(('* 2', '+ 1', '- ' + name + '[0]'))} for {c} in range({k})]")
        f = r.choice((f"sum({p})", f"max({p}[0], {p}[-1], {p}[1])", f"min(*{p})", f"{p}[{k - 1}]",
                      f"sum({p}[1:])"))
        if "*" in f:
            f = f"min({p}[0], {p}[1])"
        self.emit(f"{made} = asc.{t.name}({f})")
        self.bind(made, Unknown(t))

    def do_divmod(self):
        a = self.scalar(2, "int")
        b = self.divisor(1, a)
        v = typed(ops.binary, "//", a.v, b.v)
        if v is None or is_weak(v):
            return
        x, y = self.new_name(), self.new_name()
        self.emit(f"{x}, {y} = divmod({a.text}, {b.text})")
        self.bind(x, held(v))
        self.bind(y, held(typed(ops.binary, "%", a.v, b.v)))
