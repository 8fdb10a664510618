"""Branches and loops of random programs."""

from terms import held, unknown
from kernel import dtypes
from pyasc.interpret.values import Unknown, is_weak

STEPS = 500  # of the innermost loops together


class Control:
    """Mixed into the generator of programs."""

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
        given = [(n, v) for n, v in self.given if v <= most and not self.helper_depth]
        if given and r.random() < .3:
            n, v = r.choice(given)
            return r.choice((n, f"0, {n}", f"{n}, {v + 3}, 2")), 0, max(v - 1, v + 2), v + 1, False
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
        if pick < .15:
            self.emit(f"while ({c} := {c} + 1) < {n}{extra}:")
        elif pick < .6:
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
        sums = self.reductions(scope, name) if not self.scope.parallel and r.random() < .4 else []
        self.block(scope)
        saved, self.scope = self.scope, scope
        self.level += 1
        for place, t, op in sums:
            self.reduce(place, t, op)
        self.level -= 1
        self.scope = saved

    def reductions(self, scope, owned):
        """Places that all iterations of a parallel loop update, and nothing else in it touches:
        (text, type, operator)."""
        r = self.random
        found = []
        names = [s for s, v in self.scope.scalars.items()
                 if v.t is not dtypes.BOOL and s not in self.scope.frozen]
        tensors = [n for n in sorted(self.scope.writable) if n != owned and n not in self.scope.unreadable and
                   self.scope.tensors[n].shape and all(self.scope.tensors[n].shape) and
                   self.scope.tensors[n].t is not dtypes.BOOL]
        for _ in range(r.choice((1, 1, 2))):
            if names and (not tensors or r.random() < .6):
                name = r.choice(names)
                names.remove(name)
                place, t = name, self.scope.scalars[name].t
            elif tensors:
                name = r.choice(tensors)
                tensors.remove(name)
                place, t = None, self.scope.tensors[name].t
            else:
                break
            scope.unreadable.add(name)
            op = r.choice(("+", "+", "+", "max", "min", "*") + (("&", "|", "^") if t.is_int else ()))
            found.append((place or name, t, op))
        return found

    def reduce(self, place, t, op):
        r = self.random
        if place in self.scope.tensors:
            place = f"{place}[{self.index(place)}]"
        e = self.scalar(2, "float" if t.is_float else "int")
        pad = ""
        pick = r.random()
        if pick < .2:
            self.emit(f"if {self.condition(1).text}:")
            pad = "    "
        elif pick < .35:
            j = self.new_name("j")
            self.emit(f"for {j} in range({r.randint(1, 3)}):")
            pad = "    "
        if op in ("max", "min"):
            self.emit(f"{pad}{place} = {op}({place}, asc.{t.name}({e.text}))")
        else:
            self.emit(f"{pad}{place} {op}= asc.{t.name}({e.text})")
        self.pending.clear()

    def do_early(self):
        """return, in a kernel that returns scalars."""
        if self.results is None or self.scope.parallel or self.helper_depth:
            return
        c = self.condition(2)
        if c.text in ("True", "False"):
            return
        self.emit(f"if {c.text}:")
        self.pending.clear()
        self.emit(f"    return {self.typed_results()}")

    def typed_results(self):
        return ", ".join(f"asc.{t}({self.scalar(1).text})" for t in self.results)
