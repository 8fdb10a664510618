"""Helper functions of random programs, and their calls."""

from terms import E, entry, held, typed, unknown
from kernel import dtypes
from pyasc.interpret import ops
from pyasc.interpret.values import Unknown, dtype_of, shape_of
from scope import Scope


class Helpers:
    """Mixed into the generator of programs."""

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
        elif kind < .42:  # from a loop
            i = self.new_name("i")
            self.emit(f"for {i} in range({r.randint(1, 4)}):")
            scope = self.scope.child()
            scope.loops[i] = (0, 3)
            self.scope, outside = scope, self.scope
            self.emit(f"    if {self.condition(1).text}:")
            self.emit(f"        return asc.{t.name}({self.scalar(1).text})")
            self.scope = outside
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
        if (self.helper_depth or len(self.helpers) >= 2) and not self.made:
            return None
        if self.made and (self.helper_depth or len(self.helpers) >= 2 or r.random() < .5):
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

    def do_polymorphic(self):
        """A helper of tensors that several types and shapes may specialise."""
        r = self.random
        names = [n for n, v in self.scope.tensors.items() if self.scope.may_read_whole(n) and v.shape and
                 all(v.shape)]
        if not names or self.helper_depth or self.scope.trips > 20 or self.scope.parallel:
            return
        name, body, result = r.choice(POLYMORPHIC)
        text = f"def {name}(x, s=2):\n{body}"
        if text not in self.helpers:
            self.helpers.append(text)
        for source in r.sample(names, min(2, len(names))):
            v = self.scope.tensors[source]
            given = E(source, v)
            if r.random() < .3:
                given = self.sliced(given)
            if not given.shape or not all(given.shape):
                continue
            s = r.choice(("", ", 3", ", s=1", f", {self.scalar(1, 'int').text}")) if name != "_turned" else ""
            value = result(given.v, 2)
            if value is None or s.startswith(", ") and not s[2:].replace("s=", "").isdigit():
                s = ""
            if value is None:
                continue
            made = self.new_name("T")
            self.emit(f"{made} = {name}({given.text}{s})")
            if shape_of(value):
                self.scope.tensors[made] = Unknown(dtype_of(value), shape_of(value))
            else:
                self.bind(made, held(value))


def _scaled(x, s):
    return typed(ops.binary, "+", typed(ops.binary, "*", x, s) or x, 1)


def _greatest(x, s):
    return Unknown(x.t) if len(x.shape) == 1 else typed(entry("sum"), x, 0)


# (name, body, the type of its result)
POLYMORPHIC = (
    ("_scaled", "    return x * s + 1", _scaled),
    ("_greatest", "    if len(x.shape) == 1:\n        m = x[0]\n        for i in range(1, len(x)):\n"
     "            m = max(m, x[i])\n        return m\n    return asc.sum(x, 0)", _greatest),
    ("_turned", "    y = asc.zeros(x.shape, x.dtype)\n    for i in range(len(x)):\n"
     "        y[i] = x[len(x) - 1 - i]\n    return y", lambda x, s: Unknown(x.t, x.shape)),
    ("_first", "    y = x.copy()\n    for i in range(len(x)):\n        if i > s:\n            break\n"
     "        y[i] = 1\n    else:\n        y[0] = 0\n    return y", lambda x, s: Unknown(x.t, x.shape)),
)
