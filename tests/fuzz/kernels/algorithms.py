"""More kernels as authors write them: reductions over parallel loops, padding by conditions, searches and
other loops of unknown length, rows and blocks as views, helpers, scalar parameters."""

from families import FLOAT, Family


class Algorithm(Family):
    def t_parallel_reduction(self):
        r = self.random
        n, m = self.size(), self.size(9)
        X, Y, s, i, j = self.name(), self.name(), self.var(), self.var(), self.var()
        ops = ["+", "+", "max", "min", "*"] + (["&", "|", "^"] if "int" in self.dtype else [])
        op, other = r.choice(ops), r.choice(ops)
        value = r.choice((f"{X}[{i}, {j}]", f"{X}[{i}, {j}] * {X}[{i}, {j}]", f"abs({X}[{i}, {j}])"))
        if op == "*":
            value = f"({X}[{i}, {j}] - {X}[{i}, {j}] + {r.choice(('1', '2', '-1'))})"
        update = f"{s} = {op}({s}, {value})" if op in ("max", "min") else f"{s} {op}= {value}"
        place = f"{Y}[{r.choice(('0', j, f'{i} % {m}'))}]"
        second = f"{place} = {other}({place}, {X}[{i}, {j}])" if other in ("max", "min") else \
            f"{place} {'+' if other == '*' else other}= {X}[{i}, {j}]"
        body = [update] + ([second] if r.random() < .5 else [])
        if r.random() < .3:
            body = [f"if {X}[{i}, {j}] > 0:"] + ["    " + b for b in body]
        heads = [f"for {i} in asc.parallel_for({n}):", f"for {j} in {r.choice(('range', 'asc.parallel_for'))}({m}):"]
        if r.random() < .3:
            heads = [f"for {i}, {j} in asc.parallel_for_grid({n}, {m}):"]
        start = f"asc.{self.dtype}({r.choice(('0', '1', '3'))})"
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (m,))], \
            [f"{s} = {start}"] + self.nested(heads, body) + [f"return {s}"]

    def t_padded(self):
        """A window whose places outside of the image are left out by a condition."""
        r = self.random
        h, w, k = self.size(9), self.size(9), r.choice((1, 2, 3))
        X, W, Y = self.name(), self.name(), self.name()
        i, j, a, b, s, p, q = (self.var() for _ in range(7))
        pad = r.choice((0, 1, k // 2))
        test = r.choice((f"0 <= {p} < {h} and 0 <= {q} < {w}",
                         f"{p} >= 0 and {p} < {h} and {q} >= 0 and {q} < {w}",
                         f"not ({p} < 0 or {p} >= {h} or {q} < 0 or {q} >= {w})"))
        product = f"{X}[{p}, {q}] * {W}[{a}, {b}]"
        if r.random() < .6:
            inner = [f"if {test}:", f"    {s} += {product}"]
        else:
            inner = [f"{s} += {product} if {test} else {self.zero()}"]
        body = [f"{s} = {self.zero()}", f"for {a} in {r.choice(('range', 'asc.static_range'))}({k}):",
                f"    for {b} in range({k}):", f"        {p} = {i} + {a} - {pad}", f"        {q} = {j} + {b} - {pad}"] + \
            ["        " + t for t in inner] + [f"{Y}[{i}, {j}] = {s}"]
        return [(X, self.dtype, (h, w)), (W, self.dtype, (k, k)), (Y, self.dtype, (h, w))], self.nested(
            [f"for {i} in asc.parallel_for({h}):", f"for {j} in range({w}):"], body)

    def t_loops_of_unknown_length(self):
        r = self.random
        self.dtype = r.choice(("int32", "int64", "int16"))
        n = self.size(9)
        X, Y, i, a, b, c = (self.name(), self.name(), *(self.var() for _ in range(4)))
        bodies = (
            [f"{a}, {b} = abs({X}[{i}]) % 50, abs({Y}[{i}]) % 40", f"while {b}:",
             f"    {a}, {b} = {b}, {a} % {b}", f"{Y}[{i}] = {a}"],
            [f"{a} = abs({X}[{i}]) % 20 + 1", f"{c} = 0", f"while {a} != 1 and {c} < 30:",
             f"    {a} = {a} // 2 if {a} % 2 == 0 else 3 * {a} + 1", f"    {c} += 1", f"{Y}[{i}] = {c}"],
            [f"{a} = {X}[{i}]", f"{c} = 0", "while True:", f"    {a} >>= 1", f"    {c} += 1",
             f"    if {a} == 0 or {a} == -1:", "        break", f"    if {c} > 20:", "        break",
             f"{Y}[{i}] = {c}"],
            [f"{b} = {n}", f"{a} = 0", f"while {a} < {b}:", f"    {c} = ({a} + {b}) // 2",
             f"    if {X}[{c}] < {Y}[{i}]:", f"        {a} = {c} + 1", "    else:", f"        {b} = {c}",
             f"{Y}[{i}] = {a}"],
            [f"for {c} in range({n}):", f"    if {X}[{c}] == {Y}[{i}]:", f"        {Y}[{i}] = {c}", "        break",
             f"    elif {X}[{c}] > 5:", "        continue", "else:", f"    {Y}[{i}] = -1"],
        )
        return [(X, self.dtype, (n,)), (Y, self.dtype, (n,))], self.nested(
            [f"for {i} in {r.choice(('range', 'asc.parallel_for'))}({n}):"], r.choice(bodies))

    def t_rows(self):
        """Rows of a matrix as tensors."""
        r = self.random
        self.dtype = r.choice(FLOAT)
        n, m = self.size(9), self.size(33)
        X, W, Y, i, t = self.name(), self.name(), self.name(), self.var(), self.var()
        bodies = (
            [f"{Y}[{i}] = asc.softmax({X}[{i}])"],
            [f"{t} = {X}[{i}, :] - asc.max({X}[{i}])", f"{Y}[{i}, :] = {t} * {W}"],
            [f"{t} = {X}[{i}]", f"{Y}[{i}] = {t} * {W} + {Y}[{i}]"],
            [f"{Y}[{i}] += {X}[{i}] * asc.sum({W} * {X}[{i}])"],
            [f"{t} = asc.mean({X}[{i}])", f"{Y}[{i}] = ({X}[{i}] - {t}) * {self.scale()}"],
            [f"{Y}[{i}, ::-1] = {X}[{i}]"],
            [f"{Y}[{i}] = asc.where({X}[{i}] > {W}, {X}[{i}], {W})", f"{Y}[{i}, 0] = asc.sum({Y}[{i}])"],
            [f"{t} = asc.local({m}, asc.{self.dtype})", f"{t}[:] = {X}[{i}] + {W}", f"{t}[0] = {self.zero()}",
             f"{Y}[{i}] = {t}"],
            [f"{Y}[{i}] = asc.cumsum({X}[{i}])"],
            [f"{X}[{i}], {Y}[{i}] = {Y}[{i}] * 2, {X}[{i}] + {W}"],
        )
        return [(X, self.dtype, (n, m)), (W, self.dtype, (m,)), (Y, self.dtype, (n, m))], self.nested(
            [f"for {i} in {r.choice(('range', 'asc.parallel_for'))}({n}):"], r.choice(bodies))

    def t_blocks(self):
        """Blocks of a matrix as tensors, through a tile of fast memory or not."""
        r = self.random
        b = r.choice((2, 4, 8, 16))
        n, m = b * r.randint(1, 4), b * r.randint(1, 3)
        X, Y, i, j, t = self.name(), self.name(), self.var(), self.var(), self.var()
        source, target = f"{X}[{i}:{i} + {b}, {j}:{j} + {b}]", f"{Y}[{i}:{i} + {b}, {j}:{j} + {b}]"
        f = r.choice(("asc.parallel_for", "range"))
        bodies = (
            [f"{target} = {source} * {self.scale()}"],
            [f"{t} = asc.shared_memory(({b}, {b}), asc.{self.dtype})", f"{t}[:] = {source}",
             f"{target} = {t} + {t}"],
            [f"{target} = {source}.T"],
            [f"{target} += asc.sum({source}, 0)"],
            [f"asc.copy({source}, {target})"],
            [f"{t} = {source}", f"{target} = {t} @ {t}"],
            [f"{Y}[{i}, {j}] = asc.max({source})"],
        )
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (n, m))], self.nested(
            [f"for {i} in {f}(0, {n}, {b}):", f"for {j} in {f}(0, {m}, {b}):"], r.choice(bodies))

    def t_with_helpers(self):
        r = self.random
        n, m = self.size(), self.size(9)
        X, Y, i, j = self.name(), self.name(), self.var(), self.var()
        helper, call = r.choice((
            ("def act(x, slope=2):\n    if x > 0:\n        return x\n    return x * slope", "act({})"),
            ("def act(x, low=-2, high=2):\n    return min(max(x, low), high)", "act({}, high=1)"),
            ("def at(t, i, j):\n    return t[i, j] + t[i, 0]", "at({T}, {i}, {j})"),
            ("def total(row):\n    s = row[0]\n    for v in row:\n        s += v\n    return s", "total({T}[{i}])"),
            ("def total(row):\n    s = 0\n    for k in range(len(row)):\n        if row[k] > 5:\n"
             "            return s\n        s += row[k]\n    return s", "total({T}[{i}])"),
            ("def twice(f):\n    return f + f\n\n\ndef both(a, b):\n    return twice(a) - b, twice(b)", "both({}, 1)[0]"),
        ))
        self.before = helper
        call = call.replace("{}", f"{X}[{i}, {j}]").format(T=X, i=i, j=j)
        if "total" in call:
            call = f"asc.{self.dtype}({call})"
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (n, m))], self.nested(
            [f"for {i} in {r.choice(('range', 'asc.parallel_for'))}({n}):", f"for {j} in range({m}):"],
            [f"{Y}[{i}, {j}] {r.choice(('=', '+='))} {call}"])

    def t_scalars(self):
        """Scalar parameters in bounds, conditions and arithmetic."""
        r = self.random
        n = self.size()
        X, Y, i = self.name(), self.name(), self.var()
        count, low = r.randint(0, n), r.randint(0, max(0, n - 1))
        scale = ("alpha", "int" if "int" in self.dtype else "float", None)
        bodies = (
            ([f"for {i} in asc.parallel_for(count):"], [f"{Y}[{i}] = alpha * {X}[{i}] + {Y}[{i}]"]),
            ([f"for {i} in range(low, count):"], [f"{Y}[{i}] += {X}[{i} - low] * alpha"]),
            ([f"for {i} in asc.parallel_for({n}):"], [f"if {i} < count:", f"    {Y}[{i}] = {X}[{i}] * alpha"]),
            ([f"for {i} in range({n}):", f"if low <= {i} < count:"], [f"{Y}[{i}] = max({X}[{i}], alpha)"]),
            ([f"for {i} in range(0, count, 3):"], [f"{X}[{i}] = {X}[{i}] + {Y}[count - 1 - {i}]"]),
        )
        heads, body = r.choice(bodies)
        if "int" in self.dtype:
            body = [re_cast(b, self.dtype) for b in body]
        return [(X, self.dtype, (n,)), (Y, self.dtype, (n,)), ("count", "int", count), ("low", "int", low),
                (scale[0], scale[1], r.choice((2, 3, -1)) if scale[1] == "int" else r.choice((2.0, 0.5)))], \
            self.nested(heads, body)

    def t_map(self):
        """One store an element: what may run on one buffer, and what nearly may."""
        r = self.random
        n, m = self.size(), self.size(9)
        X, Y = self.name(), self.name()
        i, j = self.loop(n), self.loop(m)
        x = f"{X}[{i[1]}, {j[1]}]"
        other = r.choice((x, x, f"{X}[{i[1]}, 0]", f"{X}[{n} - 1 - {i[1]}, {j[1]}]", f"{Y}[{i[1]}, {j[1]}]"))
        value = r.choice((f"{x} * {self.scale()}", f"max({x}, 0)", f"{x} + {x} * {x}", f"{x} - {other}",
                          f"{other} + 1", f"{x} if {x} > {other} else {other}"))
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (n, m))], self.nested(
            self.shuffled((i[0], j[0])), [f"{Y}[{i[1]}, {j[1]}] {r.choice(('=', '=', '+='))} {value}"])

    def t_attention(self):
        r = self.random
        self.dtype = r.choice(FLOAT)
        n, m, d = self.size(5), self.size(7), self.size(5)
        Q, K, V, O = self.name(), self.name(), self.name(), self.name()
        i, j, c, s, t, w = (self.var() for _ in range(6))
        if r.random() < .4:
            return [(Q, self.dtype, (n, d)), (K, self.dtype, (m, d)), (V, self.dtype, (m, d)),
                    (O, self.dtype, (n, d))], [f"{s} = asc.softmax({Q} @ {K}.T * 0.5)", f"{O}[:] = {s} @ {V}"]
        return [(Q, self.dtype, (n, d)), (K, self.dtype, (m, d)), (V, self.dtype, (m, d)),
                (O, self.dtype, (n, d))], self.nested(
            [f"for {i} in asc.parallel_for({n}):"],
            [f"{w} = asc.local({m}, asc.float32)", f"for {j} in range({m}):", f"    {s} = 0.0",
             f"    for {c} in range({d}):", f"        {s} += {Q}[{i}, {c}] * {K}[{j}, {c}]",
             f"    {w}[{j}] = asc.exp(min({s} * 0.125, 4.0))", f"{t} = asc.sum({w})", f"for {c} in range({d}):",
             f"    {s} = 0.0", f"    for {j} in range({m}):", f"        {s} += {w}[{j}] * {V}[{j}, {c}]",
             f"    {O}[{i}, {c}] = {s} / {t}"])


def re_cast(line, dtype):
    head, value = line.split(" = ", 1) if " = " in line else line.split(" += ", 1) if " += " in line else (line, None)
    if value is None:
        return line
    return f"{head} {'+=' if ' += ' in line else '='} asc.{dtype}({value})"
