"""Loops over the rows, blocks of rows or matrices of tensors whose bodies are tensor operations: programs of
several statements, so that some of them may be taken out of the loop and others not."""

from families import FLOAT, Family


class RowLoop(Family):
    def t_row_loop(self):
        r = self.random
        self.dtype = r.choice(FLOAT) if r.random() < .85 else r.choice(("int32", "int64", "int16"))
        self.isFloat = "int" not in self.dtype
        self.row = tuple(r.choice((1, 2, 3, 4, 5, 7, 8, 16, 17)) for _ in range(r.choice((1, 1, 1, 2, 2, 3))))
        if len(self.row) == 2 and r.random() < .4:
            self.row = (self.row[0],) * 2
        heads, lead = self.make_heads()
        X, Y, W, S, A, V = (self.name() for _ in range(6))
        self.X, self.Y, self.W, self.S, self.A, self.V = X, Y, W, S, A, V
        self.temporaries = []
        statements = r.randint(1, 5) if r.random() < .95 else 12
        body = [s for _ in range(statements) for s in self.statement()]
        if not any(s.lstrip().startswith(Y) for s in body):
            body += self.store()
        before = []
        if r.random() < .1:
            before = [f"{Y}[...] = {self.zero()}"]
        number = lead if self.block is None else lead[:-1] + (lead[-1] // self.block,)
        whole = lead + self.row if self.block is None else lead[:-1] + (lead[-1],) + self.row[1:]
        parameters = [(X, self.dtype, whole), (Y, self.dtype, whole), (W, self.dtype, self.row),
                      (S, self.dtype, number), (A, self.dtype, number), (V, self.dtype, (4,) + self.row)]
        used = "\n".join(body)
        parameters = [p for p in parameters if any(c in used for c in (f"{p[0]}[", f" {p[0]}", f"({p[0]}"))]
        return parameters, before + self.nested(heads, body)

    def var(self):
        name = next(self.variables, None)
        if name is None:
            self.further = getattr(self, "further", 0) + 1
            name = f"v{self.further}"
        return name

    def make_heads(self):
        """Heads of the loops, and the leading sizes; sets `at`, the place of a row, and `number`, of its loops."""
        r = self.random
        self.block = None
        f = [r.choice(("asc.parallel_for", "asc.parallel_for", "range")) for _ in range(2)]
        n, i = self.size(9), self.var()
        self.first = i
        kind = r.random()
        if kind < .45:
            self.at = self.number = i
            return [f"for {i} in {f[0]}({n}):"], (n,)
        if kind < .65:
            m, j = self.size(5), self.var()
            self.at = self.number = f"{i}, {j}"
            if r.random() < .3:
                return [f"for {i}, {j} in asc.parallel_for_grid({n}, {m}):"], (n, m)
            return [f"for {i} in {f[0]}({n}):", f"for {j} in {f[1]}({m}):"], (n, m)
        self.block = T = self.row[0]
        if kind < .82:
            self.at, self.number = f"{i} * {T}:({i} + 1) * {T}", i
            return [f"for {i} in {f[0]}({n}):"], (n * T,)
        self.at, self.number = f"{i}:{i} + {T}", f"{i} // {T}"
        return [f"for {i} in {f[0]}(0, {n * T}, {T}):"], (n * T,)

    # ---- statements ----

    def statement(self):
        r = self.random
        kinds = [self.bind] * 5 + [self.store] * 3 + [self.scalar_store, self.accumulate, self.local, self.inner_loop,
                                                      self.guarded, self.both, self.recurrence, self.recurrence, self.block_sums]
        return r.choice(kinds)()

    def bind(self):
        t = self.var()
        text = f"{t} = {self.tensor()}"
        self.temporaries.append(t)
        return [text]

    def store(self):
        return [f"{self.Y}[{self.at}] = {self.tensor()}"]

    def accumulate(self):
        return [f"{self.Y}[{self.at}] {self.random.choice('+-')}= {self.tensor()}"]

    def scalar_store(self):
        return [f"{self.S}[{self.number}] = {self.scalar()}"]

    def both(self):
        return [f"{self.X}[{self.at}] = {self.X}[{self.at}] + {self.operand()}"]

    def local(self):
        t = self.var()
        shape = f"({', '.join(map(str, self.row))},)"
        lines = [f"{t} = asc.local({shape}, asc.{self.dtype})", f"{t}[...] = {self.tensor()}"]
        if self.random.random() < .5:
            lines.append(f"{t}[{', '.join('0' for _ in self.row)}] = {self.scalar()}")
        self.temporaries.append(t)
        return lines

    def inner_loop(self):
        t, k = self.var(), self.var()
        shape = f"({', '.join(map(str, self.row))},)"
        lines = [f"{t} = asc.local({shape}, asc.{self.dtype})", f"{t}[...] = {self.tensor()}",
                 f"for {k} in range({self.random.choice((1, 2, 4))}):",
                 f"    {t}[...] = {self.random.choice((f'{t} + {self.V}[{k}]', f'{t} - {self.X}[{self.at}]', f'{self.V}[{k}]'))}"]
        self.temporaries.append(t)
        return lines

    def guarded(self):
        return [f"if {self.first} {self.random.choice(('<', '>=', '=='))} {self.random.choice((0, 1, 2, 4))}:",
                "    " + self.random.choice((self.store, self.accumulate, self.scalar_store))()[0]]

    def recurrence(self):
        """A serial loop in the parallel ones: a state that each round reads, numbers and sums beside it."""
        r = self.random
        h, k, t = self.var(), self.var(), self.var()
        shape = f"({', '.join(map(str, self.row))},)"
        lines = [f"{h} = asc.local({shape}, asc.{self.dtype})", f"{h}[...] = {self.tensor()}",
                 f"for {k} in range({r.choice((2, 3, 4))}):"]
        inside = [f"{t} = {r.choice((f'{h} + {self.V}[{k}]', f'abs({h})', f'{h} - asc.max({h}, axis=0)', self.tensor()))}",
                  f"{h}[...] = {r.choice((f'{t} - {self.operand()}', f'asc.maximum({t}, {self.V}[{k}])', f'{t} * {self.scale()}'))}"]
        if r.random() < .4:
            inside.append(f"{self.Y}[{self.at}] += {r.choice((h, t))}")
        if r.random() < .3:
            inside.append(f"{self.S}[{self.number}] += asc.sum({h})")
        self.temporaries.append(h)
        return lines + ["    " + s for s in inside]

    def block_sums(self):
        """Sums of blocks of a vector, block after block."""
        t, k, T = self.var(), self.var(), self.row[0]
        if len(self.row) != 1 or T < 2 or T % 2:
            return self.store()
        return [f"for {k} in range(2):", f"    {self.S}[{self.number}] += asc.sum({self.W}[{k} * {T // 2}:({k} + 1) * {T // 2}])"]

    # ---- expressions ----

    def operand(self):
        r = self.random
        if self.temporaries and r.random() < .5:
            return r.choice(self.temporaries)
        return r.choice((f"{self.X}[{self.at}]", f"{self.X}[{self.at}]", f"{self.Y}[{self.at}]", self.W, f"{self.V}[1]"))

    def scalar(self):
        r = self.random
        return r.choice((f"asc.{r.choice(('sum', 'max', 'min'))}({self.operand()})", f"{self.A}[{self.number}]",
                         self.scale(), f"asc.{self.dtype}({self.first})"))

    def tensor(self):
        r = self.random
        a, b = self.operand(), self.operand()
        rank = len(self.row)
        axis = r.randrange(rank)
        made = [f"{a} + {b}", f"{a} * {b}", f"{a} - {b}", f"{a} * {self.scalar()}", f"{a} + {self.scalar()}",
                f"asc.where({a} > {b}, {a}, {b})", f"asc.maximum({a}, {b})", f"{a}", f"abs({a})",
                f"{a} - asc.max({a}, axis={axis}, keepdims=True)", f"{a} + asc.sum({b}, axis={axis}, keepdims=True)",
                f"asc.flip({a}, {axis})", f"{a} * {self.A}[{self.number}]", f"{a} * asc.{self.dtype}({self.first})"]
        if rank > 1:
            made.append(f"{a}.reshape({', '.join(map(str, (self.row[0] * self.row[1],) + self.row[2:]))})"
                        f".reshape({', '.join(map(str, self.row))})" if r.random() < .5 else f"{a} + asc.max({b}, axis=0)")
        if rank == 2 and self.row[0] == self.row[1]:
            made += [f"{a} @ {b}", f"{a}.T", f"{a} @ {b}.T"]
        if self.isFloat:
            made += [f"asc.softmax({a}, axis={axis})", f"asc.exp({a} * 0.25)", f"asc.tanh({a})",
                     f"{a} - asc.mean({a}, axis={axis}, keepdims=True)", f"asc.layer_norm({a})"]
        if r.random() < .15:
            made = [f"asc.cumsum({a}, axis={axis})", f"asc.sort({a}, axis={axis})"]
        return r.choice(made)
