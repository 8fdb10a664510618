"""Random loop nests over affine accesses: what raising takes apart.

A nest is written first, with its accesses as they come; then plain Python runs it once to see which
elements it touches. The tensors get shapes that hold them all, and a loop becomes a parallel one only
where no two of its iterations meet.
"""

import re

from terms import HALVES
from inputs import inputs
from kernel import HEAD, Kernel

FLOAT = ("float32",) * 5 + HALVES
INTEGER = ("int32", "int32", "int64", "int8", "uint8", "int16", "uint32", "uint16", "uint64")
NAMES = ("A", "B", "C", "D", "X", "Y", "Z", "W", "src", "dst", "acc", "q", "out")
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 20, 33)
LARGE = (1, 2, 5, 16, 31, 64, 65, 70, 100, 128, 130, 257, 300)  # several tiles, several cores


class Access:
    """A place in a tensor: one affine text an axis. `mode` is r, w or u (an update that commutes)."""

    def __init__(self, tensor, index, mode):
        self.tensor, self.index, self.mode = tensor, index, mode


class Loop:
    def __init__(self, var, head, body, axis=None):
        self.var, self.head, self.body, self.axis, self.parallel = var, head, body, axis, False


class Statement:
    """`text` has {0}, {1}, ... where the accesses stand."""

    def __init__(self, text, accesses=(), crosses=()):
        self.text, self.accesses, self.crosses = text, list(accesses), set(crosses)


class Nest:
    def __init__(self, random):
        self.random = random

    def generate(self):
        for _ in range(30):
            kernel = self.attempt()
            if kernel is not None:
                return kernel
        raise RuntimeError("no nest was small enough")

    def attempt(self):
        r = self.random
        names = list(NAMES)
        r.shuffle(names)
        integer = r.random() < .35
        kinds = INTEGER if integer else FLOAT
        self.dtype = r.choice(kinds)
        self.inputs, self.outputs, self.types, self.ranks = [], [], {}, {}
        axes = r.randint(1, 4)
        large = r.random() < .08
        self.most = 5000 if large else 700  # steps
        self.extents = [r.choice(LARGE if large else SIZES) for _ in range(axes)]
        while self._product(self.extents) > self.most:
            k = r.randrange(axes)
            self.extents[k] = max(1, self.extents[k] // 2)
        for k in range(r.randint(2, 4)):
            name = names.pop()
            (self.inputs if k and (k > 1 or r.random() < .7) else self.outputs).append(name)
            self.types[name] = self.dtype if r.random() < .85 else r.choice(kinds)
            most = min(3, axes)
            self.ranks[name] = tuple(r.sample(range(axes), r.randint(min(1, most), most)))
        if not self.inputs:
            self.inputs.append(self.outputs[0])
        self.names = [n for n in "abcdefgxyzts" if n not in names]
        r.shuffle(self.names)
        self.count = 0
        self.body = []
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            self.body += self.nest()
        self.trace = self.run()
        if self.trace is None:
            return None
        self.place()
        self.mark_parallel()
        return self.kernel()

    @staticmethod
    def _product(values):
        n = 1
        for v in values:
            n *= v
        return n

    # ---- the loops ----

    def nest(self):
        r = self.random
        axes = list(range(len(self.extents)))
        r.shuffle(axes)
        axes = axes[:r.randint(1, len(axes))] if r.random() < .35 else axes
        loops, self.vars = [], {}
        for axis in axes:
            loops += self.axis_loops(axis)
        order = self.permuted(loops)
        if r.random() < .12 and len(order) > 1:
            self.triangle(order)
        return self.fill(order, 0)

    def permuted(self, loops):
        """The loops in another order; an inner loop of a strip stays behind its block loop."""
        r = self.random
        if r.random() < .35:
            return loops
        out, left = [], list(loops)
        while left:
            free = [x for x in left if all(b in [y[0] for y in out] for b in x[2])]
            pick = r.choice(free)
            left.remove(pick)
            out.append(pick)
        return out

    def fresh(self):
        self.count += 1
        base = self.random.choice(("i", "j", "k", "m", "ii", "row", "col", "p"))
        return f"{base}{self.count}"

    def size(self, n):
        """The text of a size, later perhaps a symbol."""
        return f"<{n}>" if n > 1 and self.random.random() < .6 else str(n)

    def axis_loops(self, axis):
        """[(variable, head, those before it, index text, guard)] of one axis."""
        r = self.random
        n = self.extents[axis]
        v = self.fresh()
        pick = r.random()
        if pick < .5 or n < 3:
            self.vars[axis] = v
            pick = r.random()
            if pick < .72:
                head = f"range({self.size(n)})"
            elif pick < .8:
                head = f"range({r.randint(0, min(2, n - 1))}, {self.size(n)})"
            elif pick < .86:
                head = f"range({n - 1}, -1, -1)"
            elif pick < .92:
                head = f"range({r.choice((0, 1))}, {self.size(n)}, {r.randint(2, 3)})"
            elif pick < .96:
                head = f"range({self.size(n)} - {r.randint(0, min(2, n - 1))})"
            else:
                head = f"range(-{r.randint(1, 2)}, {n - 1})"
            return [(v, head, (), None)]
        b = r.choice((2, 3, 4, 5, 8, 16))
        w = self.fresh()
        pick = r.random()
        if pick < .6:
            self.vars[axis] = w
            stop = self.size(n)
            ends = [f"{v} + {b}", stop]
            r.shuffle(ends)
            return [(v, f"range(0, {stop}, {b})", (), None),
                    (w, f"range({v}, min({', '.join(ends)}))", (v,), None)]
        if pick < .75:
            self.vars[axis] = w
            return [(v, f"range({-(-n // b)})", (), None),
                    (w, f"range({v} * {b}, min({v} * {b} + {b}, {self.size(n)}))", (v,), None)]
        self.vars[axis] = f"{v} + {w}"
        guard = None if n % b == 0 else f"{v} + {w} < {n}"
        return [(v, f"range(0, {self.size(n)}, {b})", (), None), (w, f"range({b})", (v,), guard)]

    def triangle(self, order):
        """One bound that depends on a loop outside."""
        r = self.random
        k = r.randrange(1, len(order))
        v, head, before, guard = order[k]
        found = re.fullmatch(r"range\((<?\d+>?)\)", head)
        if not found:
            return
        outer = r.choice(order[:k])[0]
        stop = found[1]
        order[k] = (v, r.choice((f"range({outer})", f"range({outer} + 1)", f"range({outer}, {stop})",
                                 f"range(min({outer} + {r.randint(1, 3)}, {stop}))",
                                 f"range(max({outer} - {r.randint(0, 2)}, 0), {stop})")), before, guard)

    def fill(self, order, depth):
        """Statements for the loops from `depth` on."""
        r = self.random
        self.open = [x[0] for x in order[:depth]]
        if depth == len(order):
            made = []
            for _ in range(r.choice((1, 1, 1, 2, 3))):
                made.append(self.statement())
            return self.guarded(order, made)
        v, head, _, _ = order[depth]
        rest = len(order) - depth
        body, after = [], []
        if depth and r.random() < .15:
            body.append(self.statement())
        reduced = None
        if rest <= 2 and r.random() < .3:
            reduced = self.reduction()
            body.append(Statement(f"{reduced[0]} = {reduced[2]}"))
        if reduced:
            inner = self.reduce_in(order, depth, reduced)
            self.open = [x[0] for x in order[:depth]]
            place = self.access(r.choice(self.outputs), "w")
            after.append(Statement(f"{{0}} {r.choice(('=', '=', '+='))} {reduced[0]}", [place]))
        else:
            inner = [Loop(v, head, self.fill(order, depth + 1))]
        if depth and r.random() < .12:
            self.open = [x[0] for x in order[:depth]]
            after.append(self.statement())
        return body + inner + after

    def guarded(self, order, made):
        guards = [g for *_, g in order if g]
        for s in made:
            s.guards = guards
        return made

    def reduction(self):
        name = f"{self.random.choice(('s', 'total', 'best', 'v'))}{self.count}"
        self.count += 1
        op = self.random.choice(("+", "+", "+", "max", "min"))
        start = {"+": "0" if "int" in self.dtype else "0.0"}.get(op, f"asc.{self.dtype}(1)")
        return name, op, start

    def reduce_in(self, order, depth, reduced):
        name, op, _ = reduced
        self.open = [x[0] for x in order]
        value, accesses = self.value()
        text = f"{name} += {value}" if op == "+" else f"{name} = {op}({name}, {value})"
        s = Statement(text, accesses)
        s.scalar = name
        body = self.guarded(order, [s])
        for v, head, *_ in reversed(order[depth:]):
            body = [Loop(v, head, body)]
        return body

    # ---- statements ----

    def access(self, tensor, mode):
        """An access by the tensor's own axes where their loops are open, changed now and then."""
        r = self.random
        texts = []
        for axis in self.ranks[tensor]:
            v = self.vars.get(axis)
            seen = v is not None and all(x in self.open for x in re.findall(r"[a-z]+\d+", v))
            if not seen or r.random() < .05:
                v = r.choice(self.open) if self.open and r.random() < .6 else str(r.randint(0, 2))
            pick = r.random()
            if pick < .08:
                v = f"{v} + {r.randint(1, 2)}"
            elif pick < .15:
                v = f"{v} - {r.randint(1, 2)}"
            elif pick < .18 and self.open:
                v = f"{v} + {r.choice(self.open)}"
            elif pick < .20:
                v = f"2 * ({v})"
            elif pick < .22:
                v = f"{r.randint(0, 9)} - ({v})"
            elif pick < .23:
                v = f"({v}) // 2"
            texts.append(v)
        if len(texts) > 1 and r.random() < .06:
            r.shuffle(texts)
        return Access(tensor, texts, mode)

    def value(self):
        """(text with places, accesses) of what is computed."""
        r = self.random
        pick = r.random()
        readable = self.inputs * 3 + self.outputs
        one = self.access(r.choice(readable), "r")
        two = self.access(r.choice(readable), "r")
        if pick < .35:
            return "{1} * {2}", [None, one, two]
        if pick < .55:
            return "{1}", [None, one]
        if pick < .65:
            return f"{{1}} {r.choice('+-')} {{2}}", [None, one, two]
        if pick < .7:
            three = self.access(r.choice(readable), "r")
            return f"{{1}} * {{2}} {r.choice('+-*')} {{3}}", [None, one, two, three]
        if pick < .76:
            return f"{r.choice(('max', 'min'))}({{1}}, {{2}})", [None, one, two]
        if pick < .82:
            k = r.choice((2, 3)) if "int" in self.dtype else r.choice((0.5, 2.0, -1.0, 0.25))
            return f"{{1}} * {k} + {{2}}" if k != -1.0 else "-{1} + {2}", [None, one, two]
        if pick < .88:
            return "{1} if {1} > {2} else {2}", [None, one, two]
        if pick < .92 and self.open:
            v = r.choice(self.open)
            if "uint64" in self.types.values():
                v = f"asc.uint64({v})"
            return f"{{1}} + {v}", [None, one]
        if pick < .96:
            return f"abs({{1}}) - {r.randint(0, 3)}", [None, one]
        return str(r.choice((0, 1))), [None]

    def statement(self):
        r = self.random
        target = r.choice(self.outputs)
        value, accesses = self.value()
        pick = r.random()
        if pick < .42:
            text, mode = f"{{0}} += {value}", "u"
        elif pick < .78:
            text, mode = f"{{0}} = {value}", "w"
        elif pick < .84:
            text, mode = f"{{0}} = {{0}} + ({value})", "w"
        elif pick < .92:
            text, mode = f"{{0}} = {r.choice(('max', 'min'))}({{0}}, {value})", "w"
        elif pick < .96:
            text, mode = f"{{0}} -= {value}", "w"
        else:
            text, mode = f"{{0}} = ({value}) * {2 if 'int' in self.dtype else 0.5}", "w"
        accesses[0] = self.access(target, mode)
        if mode == "w" and "{0}" in text[4:]:
            accesses[0].mode = "rw"
        t, used = self.types[target], [self.types[a.tensor] for a in accesses]
        if "int" in t and any(t != u for u in used) or t == "bool":
            text = re.sub(r"^(\{0\} [-+]?= )(.*)$", rf"\1asc.{t}(\2)", text)
        s = Statement(text, accesses)
        if self.open and r.random() < .12:
            v = r.choice(self.open)
            other = r.choice(self.open)
            c = r.choice((f"{v} > {r.randint(0, 3)}", f"{v} % 2 == 0", f"{v} < {other}",
                          f"{v} + 1 < {r.randint(1, 9)}", f"{v} >= {other}", f"{v} != 2"))
            if r.random() < .25:
                s.accesses.append(self.access(r.choice(self.inputs), "r"))
                c = f"{{{len(s.accesses) - 1}}} > 0"
            s.guard = c
        return s

    # ---- what it touches ----

    def run(self):
        """[(statement, access number, index, {variable: value})] of every step; None when too long."""
        trace, lines, statements = [], [], []

        def write(body, level):
            pad = "    " * level
            for s in body:
                if isinstance(s, Loop):
                    lines.append(f"{pad}for {s.var} in {self.plain(s.head)}:")
                    write(s.body, level + 1)
                    continue
                here = level
                for g in self.conditions(s):
                    if "{" not in g:
                        lines.append("    " * here + f"if {self.plain(g)}:")
                        here += 1
                for k, a in enumerate(s.accesses):
                    if a is not None:
                        lines.append("    " * here + f"note({len(statements)}, {k}, "
                                     f"({', '.join(a.index)},), locals())")
                lines.append("    " * here + "pass")
                statements.append(s)
            if not body:
                lines.append(pad + "pass")
        write(self.body, 1)

        def note(statement, k, index, variables):
            if len(trace) > 6 * self.most:
                raise OverflowError
            trace.append((statements[statement], k, index,
                          {n: x for n, x in variables.items() if n != "note"}))
        scope = {"note": note}
        exec("def go():\n" + "\n".join(lines), scope)
        try:
            scope["go"]()
        except OverflowError:
            return None
        return trace

    @staticmethod
    def conditions(s):
        return getattr(s, "guards", []) + ([s.guard] if getattr(s, "guard", None) else [])

    @staticmethod
    def plain(text):
        return re.sub(r"<(\d+)>", r"\1", text)

    def place(self):
        """Shapes and shifts that put every access inside."""
        r = self.random
        low, high = {}, {}
        for s, k, index, _ in self.trace:
            name = s.accesses[k].tensor
            for axis, at in enumerate(index):
                key = (name, axis)
                low[key], high[key] = min(low.get(key, at), at), max(high.get(key, at), at)
        self.shift, self.shapes = {}, {}
        for name in self.inputs + self.outputs:
            shape = []
            for axis, natural in enumerate(self.ranks[name]):
                first, last = low.get((name, axis), 0), high.get((name, axis), 0)
                shift = -first if first < 0 else 0
                self.shift[name, axis] = shift
                n = last + shift + 1
                if n < self.extents[natural] and r.random() < .8:
                    n = self.extents[natural]
                shape.append(n + (r.randint(0, 2) if r.random() < .1 else 0))
            self.shapes[name] = tuple(shape)

    def mark_parallel(self):
        """Makes loops parallel whose iterations touch nothing that another writes."""
        r = self.random

        def visit(body, outside):
            for s in body:
                if isinstance(s, Loop):
                    wanted = r.random() < (.5 if not outside else .15)
                    head = self.plain(s.head)
                    if wanted and "-1)" not in head and ", -" not in head and self.free(s):
                        s.parallel = True
                    visit(s.body, outside + [s])
        visit(self.body, [])

    def free(self, loop):
        inside = set()

        def gather(body):
            for s in body:
                if isinstance(s, Loop):
                    gather(s.body)
                else:
                    inside.add(s)
        gather(loop.body)
        made = {s.text.split(" ")[0] for s in inside if not s.text.startswith("{")}
        used = {s.scalar for s in inside if hasattr(s, "scalar")}
        starts = {s.text.split(" ")[0] for s in inside
                  if re.match(r"\w+ = ", s.text) and not hasattr(s, "scalar")}
        if not used <= starts or made - starts - used:
            return False
        outer = None
        touched = {}
        for s, k, index, variables in self.trace:
            if s not in inside:
                continue
            if outer is None:
                outer = self.outer_of(loop)
            where = tuple(variables[v] for v in outer)
            a = s.accesses[k]
            touched.setdefault((where, a.tensor, index), []).append(
                (variables[loop.var], a.mode != "r"))
        return all(len({v for v, _ in seen}) == 1 or not any(w for _, w in seen)
                   for seen in touched.values())

    def outer_of(self, loop):
        def find(body, path):
            for s in body:
                if isinstance(s, Loop):
                    if s is loop:
                        return path
                    found = find(s.body, path + [s.var])
                    if found is not None:
                        return found
            return None
        return find(self.body, [])

    # ---- text ----

    def kernel(self):
        r = self.random
        symbols = {}
        names = self.inputs + [n for n in self.outputs if n not in self.inputs]
        r.shuffle(names)
        parameters, args = [], {}
        for name in names:
            shape = self.shapes[name]
            if r.random() < .45:
                dims = []
                for n in shape:
                    dims.append(symbols.setdefault(n, f"{r.choice('NMKHWL')}{len(symbols)}"))
            else:
                dims = [str(n) for n in shape]
            parameters.append(f"{name}: asc.{self.types[name]}[{', '.join(dims)}]")
            args[name] = inputs(r, shape, self.types[name])
        lines = []

        def sizes(text):
            return re.sub(r"<(\d+)>", lambda m: symbols.get(int(m[1]), m[1]), text)

        def index(a):
            parts = []
            for axis, text in enumerate(a.index):
                shift = self.shift[a.tensor, axis]
                parts.append(text if not shift else f"{text} + {shift}")
            return f"{a.tensor}[{', '.join(parts)}]"

        def write(body, level):
            if not body:
                lines.append("    " * level + "pass")
            for s in body:
                pad = "    " * level
                if isinstance(s, Loop):
                    head = sizes(s.head)
                    if s.parallel:
                        head = "asc.parallel_for" + head[len("range"):]
                    lines.append(f"{pad}for {s.var} in {head}:")
                    write(s.body, level + 1)
                    continue
                places = [index(a) if a is not None else "" for a in s.accesses]
                for g in self.conditions(s):
                    lines.append(f"{pad}if {sizes(g).format(*places)}:")
                    pad += "    "
                lines.append(pad + s.text.format(*places))
        write(self.body, 1)
        text = f"{HEAD}\n\n@asc.kernel\ndef k({', '.join(parameters)}):\n" + "\n".join(lines) + "\n"
        return Kernel(text, args, "nest")
