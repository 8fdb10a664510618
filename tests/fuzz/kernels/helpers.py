"""Helper functions of random programs, and their calls."""

from expressions import E, held, unknown
from kernel import dtypes
from pyasc.interpret.values import Unknown
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
