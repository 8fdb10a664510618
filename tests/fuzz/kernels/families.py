"""Kernels shaped like what authors write, with other names, sizes and blocks, other orders of loops,
and now and then an index or a bound changed: near to what raising knows, and not quite it."""

import ast
import re

from terms import HALVES
from inputs import inputs
from kernel import HEAD, Kernel

NAMES = ("a", "b", "src", "w", "x", "y", "out", "dst", "left", "right", "P", "Q", "R", "grid", "field")
VARS = ("i", "j", "k", "m", "n", "p", "q", "row", "col", "ii", "jj", "kk", "u", "v", "r", "c", "t", "h")
FLOAT = ("float32",) * 5 + HALVES


class Family:
    """`NAME` in a template stands for a tensor or variable with that name exchanged; `{size}` for a
    number. A template is a method that gives (parameters, lines); a parameter is (name, dtype, shape), or
    (name, kind, value) for a scalar."""

    def __init__(self, random):
        self.random = random
        names, variables = list(NAMES), list(VARS)
        random.shuffle(names)
        random.shuffle(variables)
        self.before = ""  # helpers
        self.names, self.variables = iter(names), iter(variables)
        self.dtype = random.choice(FLOAT) if random.random() < .8 else random.choice(("int32", "int64", "int16"))

    # ---- parts ----

    def name(self):
        return next(self.names)

    def var(self):
        return next(self.variables)

    def size(self, most=20):
        if most >= 20 and self.random.random() < .1:
            return self.random.choice((64, 65, 70, 100, 128, 130))
        return self.random.choice([n for n in (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20, 31, 32, 33, 40)
                                   if n <= most])

    def loop(self, n, parallel=0.3, blocks=0.3):
        """Heads of loops over range(n), one or two of them, and the index."""
        r = self.random
        v = self.var()
        if n > 2 and r.random() < blocks:
            w, b = self.var(), r.choice((2, 3, 4, 5, 8, 16))
            outer = r.choice(("range", "asc.parallel_for")) if r.random() < 2 * parallel else "range"
            stop = r.choice((f"min({v} + {b}, {n})", f"min({n}, {v} + {b})"))
            return [f"for {v} in {outer}(0, {n}, {b}):", f"for {w} in range({v}, {stop}):"], w
        f = "asc.parallel_for" if r.random() < parallel else "range"
        text = str(n)
        if f == "range" and r.random() < .06:
            text = f"{n - 1}, -1, -1"
        return [f"for {v} in {f}({text}):"], v

    def nested(self, heads, body):
        lines, pad = [], ""
        for h in heads:
            lines.append(pad + h)
            pad += "    "
        return lines + [pad + s for s in body]

    def zero(self):
        return "0" if "int" in self.dtype else "0.0"

    def scale(self):
        return self.random.choice(("2", "3", "-1") if "int" in self.dtype else ("0.5", "2.0", "-1.0", "0.25"))

    def shuffled(self, groups):
        """Heads of several loops in another order; a block loop before its own strip."""
        r = self.random
        groups = [list(g) for g in groups]
        out = []
        while any(groups):
            g = r.choice([g for g in groups if g])
            out.append(g.pop(0))
        return out

    # ---- the whole ----

    def generate(self):
        r = self.random
        template = getattr(self, r.choice(sorted(n for n in vars(type(self)) if n.startswith("t_"))))
        parameters, lines = template()
        texts, args = [], {}
        symbols = {}
        symbolic = r.random() < .35
        for name, dtype, shape in parameters:
            if not isinstance(shape, tuple):  # a scalar, by value
                texts.append(f"{name}: {dtype}")
                args[name] = shape
                continue
            dims = [symbols.setdefault(n, f"S{len(symbols)}") if symbolic else str(n) for n in shape]
            texts.append(f"{name}: asc.{dtype}[{', '.join(dims)}]")
            args[name] = inputs(r, shape, dtype)
            if name.startswith("idx"):
                args[name] = args[name] * 0 + r.getrandbits(3)
                limit = self.limit
                flat = args[name].reshape(-1)
                for k in range(flat.size):
                    flat[k] = r.randrange(limit)
        body = "\n".join("    " + s for s in lines)
        if symbolic:
            for n, s in symbols.items():
                body = re.sub(rf"(range\(|parallel_for\(|, |< ){n}(?=[,):])",
                              lambda m, s=s: m[1] + (s if r.random() < .6 else str(n)), body)
        before = f"\n\n{self.before}\n" if self.before else ""
        text = f"{HEAD}{before}\n\n@asc.kernel\ndef k({', '.join(texts)}):\n{body}\n"
        if r.random() < .25 and "while" not in text:  # which might never end
            text = self.mutated(text)
        return Kernel(text, args, "family " + template.__name__[2:])

    def mutated(self, text):
        """One change to an index, bound, operator or statement."""
        r = self.random
        tree = ast.parse(text)
        kernel = tree.body[-1]
        places = [n for n in ast.walk(kernel) if isinstance(n, (ast.Subscript, ast.BinOp, ast.Call,
                                                               ast.AugAssign, ast.Assign)) and
                  not any(n is m for a in kernel.args.args for m in ast.walk(a))]
        r.shuffle(places)
        for n in places:
            if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple) and r.random() < .5:
                n.slice.elts.reverse()
                break
            if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name):
                n.slice = ast.BinOp(n.slice, ast.Sub(), ast.Constant(1))
                break
            if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Mult)) and r.random() < .5:
                n.op = ast.Sub()
                break
            if isinstance(n, ast.Call) and ast.unparse(n.func) == "range" and len(n.args) == 1:
                n.args.insert(0, ast.Constant(1))
                break
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript) and r.random() < .5 \
                    and isinstance(n.value, (ast.BinOp, ast.Name, ast.Subscript)):
                n.value = ast.BinOp(ast.parse(ast.unparse(n.targets[0]), mode="eval").body, ast.Add(),
                                    n.value)
                break
        return ast.unparse(ast.fix_missing_locations(tree)).replace("\n@asc", "\n\n@asc") + "\n"

    # ---- contractions ----

    def t_matmul(self):
        r = self.random
        n, m, k = self.size(17), self.size(17), self.size(17)
        while n * m * k > 1500:
            n, m, k = max(1, n // 2), m, max(1, k - 3)
        A, B, C = self.name(), self.name(), self.name()
        i, j = self.loop(n), self.loop(m)
        q = self.loop(k, parallel=0)
        ta, tb = r.random() < .25, r.random() < .25
        a = f"{A}[{q[1]}, {i[1]}]" if ta else f"{A}[{i[1]}, {q[1]}]"
        b = f"{B}[{j[1]}, {q[1]}]" if tb else f"{B}[{q[1]}, {j[1]}]"
        product = r.choice((f"{a} * {b}", f"{b} * {a}", f"{self.scale()} * {a} * {b}",
                            f"asc.float32({a}) * asc.float32({b})" if self.dtype in HALVES else f"{a} * {b}"))
        shapes = [(A, self.dtype, (k, n) if ta else (n, k)), (B, self.dtype, (m, k) if tb else (k, m)),
                  (C, "float32" if self.dtype in HALVES and r.random() < .5 else self.dtype, (n, m))]
        place = f"{C}[{i[1]}, {j[1]}]"
        pick = r.random()
        if pick < .4:
            heads = self.shuffled((i[0], j[0], q[0]))
            if any("parallel" in h for h in q[0]):
                heads = i[0] + j[0] + q[0]
            return shapes, self.nested(self.parallel_first(heads), [f"{place} += {product}"])
        if pick < .7:
            s = self.var()
            body = [f"{s} = {self.zero()}"] + self.nested(q[0], [f"{s} += {product}"]) + \
                [f"{place} {r.choice(('=', '=', '+='))} {s}"]
            return shapes, self.nested(self.parallel_first(self.shuffled((i[0], j[0]))), body)
        if pick < .85:
            body = [f"{place} = {r.choice((self.zero(), '1'))}"] + self.nested(q[0], [f"{place} += {product}"])
            after = [f"{place} = {place} * {self.scale()}"] if r.random() < .4 else []
            return shapes, self.nested(self.parallel_first(self.shuffled((i[0], j[0]))), body + after)
        first = self.nested(i[0] + j[0], [f"{place} = {self.zero()}"])
        heads = self.parallel_first(self.shuffled((i[0], j[0], q[0])))
        last = self.nested(i[0] + j[0], [f"{place} = max({place}, 0)"]) if r.random() < .5 else []
        return shapes, first + self.nested(heads, [f"{place} += {product}"]) + last

    @staticmethod
    def parallel_first(heads):
        """A loop that is parallel under one that is not stays a plain one half of the times."""
        return heads

    def t_batched(self):
        r = self.random
        g, n, m, k = (self.size(5) for _ in range(4))
        A, B, C = self.name(), self.name(), self.name()
        b, i, j, q = self.loop(g), self.loop(n), self.loop(m), self.loop(k, parallel=0)
        shared = r.random() < .3
        heads = self.shuffled((b[0], i[0], j[0], q[0]))
        right = f"{B}[{q[1]}, {j[1]}]" if shared else f"{B}[{b[1]}, {q[1]}, {j[1]}]"
        return [(A, self.dtype, (g, n, k)), (B, self.dtype, (k, m) if shared else (g, k, m)),
                (C, self.dtype, (g, n, m))], self.nested(
            heads, [f"{C}[{b[1]}, {i[1]}, {j[1]}] += {A}[{b[1]}, {i[1]}, {q[1]}] * {right}"])

    def t_vector_products(self):
        """A matrix and a vector, an outer product, a dot product; axes that only one operand has."""
        r = self.random
        n, m = self.size(), self.size()
        A, x, y = self.name(), self.name(), self.name()
        i, j = self.loop(n), self.loop(m, parallel=.1)
        heads = r.choice((i[0] + j[0], self.shuffled((i[0], j[0]))))
        form = r.choice(("y[i] += A[i,j] * x[j]", "y[j] += A[i,j] * x[i]", "A[i,j] += x[i] * y[j]",
                         "y[i] += A[i,j] * x[i]", "y[0] += A[i,j] * x[j]", "y[i] += x[i] * x[i]",
                         "y[i] -= A[i,j] * x[j]", "y[j] += x[i] * x[j]", "y[i] += A[i,j]",
                         "A[i,j] = A[i,j] + x[j] * y[i]"))
        text = form.replace("A", A + "§").replace("x[", x + "§[").replace("y[", y + "§[").replace("§", "")
        for old, new in (("[i,j]", f"[{i[1]}, {j[1]}]"), ("[i]", f"[{i[1]}]"), ("[j]", f"[{j[1]}]")):
            text = text.replace(old, new)
        most = max(n, m)
        return [(A, self.dtype, (n, m)), (x, self.dtype, (most,)), (y, self.dtype, (most,))], \
            self.nested(heads, [text])

    # ---- stencils and convolutions ----

    def t_stencil(self):
        r = self.random
        n = self.size(40) + 3
        src, dst = self.name(), self.name()
        low, high = r.randint(0, 1), r.randint(0, 2)
        i = self.var()
        taps = [f"{src}[{i}{f' + {d}' if d > 0 else f' - {-d}' if d else ''}]" + r.choice(
            ("", f" * {self.scale()}")) for d in range(-low, high + 1)]
        r.shuffle(taps)
        expression = " + ".join(taps)
        f = r.choice(("range", "asc.parallel_for", "strip"))
        target = r.choice((f"{dst}[{i}]", f"{dst}[{i}]", f"{src}[{i}]")) if f == "range" else f"{dst}[{i}]"
        op = r.choice(("=", "=", "+="))
        if f == "strip":
            o, b = self.var(), r.choice((3, 4, 8))
            heads = [f"for {o} in range({low}, {n - high}, {b}):",
                     f"for {i} in range({o}, min({o} + {b}, {n - high})):"]
        else:
            heads = [f"for {i} in {f}({low}, {n - high}{r.choice(('', '', ', 2'))}):"]
        return [(src, self.dtype, (n,)), (dst, self.dtype, (n,))], self.nested(
            heads, [f"{target} {op} {expression}"])

    def t_stencil_2d(self):
        r = self.random
        n, m = self.size(12) + 2, self.size(12) + 2
        src, dst = self.name(), self.name()
        i, j = self.var(), self.var()
        f = r.choice(("range", "asc.parallel_for"))
        steps = r.choice((1, 1, 2))
        body = [f"{dst}[{i}, {j}] = {src}[{i}, {j}] * {self.scale()} + {src}[{i} - 1, {j}] + "
                f"{src}[{i} + 1, {j}] {r.choice('+-')} {src}[{i}, {j} - 1] + {src}[{i}, {j} + 1]"]
        if r.random() < .3:
            body = [f"{dst}[{i}, {j}] = {self.zero()}", f"for d in range(3):",
                    f"    {dst}[{i}, {j}] += {src}[{i} + d - 1, {j}] * {src}[{i}, {j} + d - 1]"]
        one = self.nested([f"for {i} in {f}(1, {n - 1}):", f"for {j} in range(1, {m - 1}):"], body)
        if steps == 2:
            back = self.nested([f"for {i} in range(1, {n - 1}):", f"for {j} in range(1, {m - 1}):"],
                               [f"{src}[{i}, {j}] = {dst}[{i}, {j}]"])
            one = [f"for t0 in range(2):"] + ["    " + s for s in one + back]
        return [(src, self.dtype, (n, m)), (dst, self.dtype, (n, m))], one

    def t_convolution(self):
        r = self.random
        h, w, kh, kw = self.size(9), self.size(9), r.randint(1, 3), r.randint(1, 3)
        channels, filters = r.randint(1, 3), r.randint(1, 3)
        X, W, Y = self.name(), self.name(), self.name()
        s = r.choice((1, 1, 2))
        i, j = self.loop(h, blocks=.15), self.loop(w, blocks=.15)
        f, c, a, b = self.var(), self.var(), self.var(), self.var()
        if h * w * kh * kw * channels * filters > 1500:
            filters = channels = 1
        heads = self.shuffled(([f"for {f} in range({filters}):"], i[0], j[0], [f"for {c} in range({channels}):"],
                               [f"for {a} in range({kh}):"], [f"for {b} in range({kw}):"]))
        heads = [x.replace("asc.parallel_for", "range") for x in heads] if r.random() < .7 else heads
        at = f"{s} * {i[1]} + {a}" if s > 1 else f"{i[1]} + {a}"
        bt = f"{s} * {j[1]} + {b}" if s > 1 else f"{j[1]} + {b}"
        return [(X, self.dtype, (channels, s * (h - 1) + kh, s * (w - 1) + kw)),
                (W, self.dtype, (filters, channels, kh, kw)), (Y, self.dtype, (filters, h, w))], self.nested(
            heads, [f"{Y}[{f}, {i[1]}, {j[1]}] += {X}[{c}, {at}, {bt}] * {W}[{f}, {c}, {a}, {b}]"])

    def t_pool(self):
        r = self.random
        n, m, k = self.size(9), self.size(9), r.randint(1, 3)
        X, Y = self.name(), self.name()
        i, j, a, b, s = (self.var() for _ in range(5))
        f = r.choice(("max", "min"))
        body = [f"{s} = {X}[{k} * {i}, {k} * {j}]", f"for {a} in range({k}):", f"    for {b} in range({k}):",
                f"        {s} = {f}({s}, {X}[{k} * {i} + {a}, {k} * {j} + {b}])", f"{Y}[{i}, {j}] = {s}"]
        return [(X, self.dtype, (n * k, m * k)), (Y, self.dtype, (n, m))], self.nested(
            [f"for {i} in asc.parallel_for({n}):", f"for {j} in range({m}):"], body)

    # ---- rows ----

    def t_softmax(self):
        r = self.random
        self.dtype = r.choice(FLOAT)
        n, m = self.size(9), self.size(20)
        X, Y = self.name(), self.name()
        i, j, top, total = (self.var() for _ in range(4))
        start = r.choice((f"{X}[{i}, 0]", "-1e4"))
        body = [f"{top} = {start}", f"for {j} in range({m}):", f"    {top} = max({top}, {X}[{i}, {j}])",
                f"{total} = 0.0", f"for {j} in range({m}):"]
        if r.random() < .5:
            body += [f"    {Y}[{i}, {j}] = asc.exp({X}[{i}, {j}] - {top})", f"    {total} += {Y}[{i}, {j}]",
                     f"for {j} in range({m}):", f"    {Y}[{i}, {j}] = {Y}[{i}, {j}] / {total}"]
        else:
            body += [f"    {total} += asc.exp({X}[{i}, {j}] - {top})", f"for {j} in range({m}):",
                     f"    {Y}[{i}, {j}] = asc.exp({X}[{i}, {j}] - {top}) / {total}"]
        f = r.choice(("asc.parallel_for", "range"))
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (n, m))], self.nested([f"for {i} in {f}({n}):"], body)

    def t_row_statistics(self):
        r = self.random
        n, m = self.size(9), self.size(33)
        X, Y, Z = self.name(), self.name(), self.name()
        i, j, s, q = (self.var() for _ in range(4))
        heads, v = self.loop(m, parallel=0)
        update = r.choice((f"{s} += {X}[{i}, {v}]", f"{s} += {X}[{i}, {v}] * {X}[{i}, {v}]",
                           f"{s} = max({s}, {X}[{i}, {v}])", f"{s} = min({X}[{i}, {v}], {s})",
                           f"{s} = {s} + abs({X}[{i}, {v}])", f"{s} -= {X}[{i}, {v}]"))
        body = [f"{s} = {r.choice((self.zero(), X + f'[{i}, 0]'))}"] + self.nested(heads, [update])
        if r.random() < .4:
            body += [f"{q} = {self.zero()}", f"for {j} in range({m}):",
                     f"    {q} += ({X}[{i}, {j}] - {s}) * {self.scale()}", f"{Z}[{i}] = {q}"]
        else:
            body += [f"for {j} in range({m}):", f"    {X}[{i}, {j}] = {X}[{i}, {j}] - {s}"] \
                if r.random() < .4 else []
        body.append(f"{Y}[{i}] {r.choice(('=', '+='))} {s}")
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (n,)), (Z, self.dtype, (n,))], self.nested(
            [f"for {i} in {r.choice(('asc.parallel_for', 'range'))}({n}):"], body)

    def t_columns(self):
        r = self.random
        n, m = self.size(), self.size()
        X, Y = self.name(), self.name()
        i, j = self.loop(n, parallel=0), self.loop(m, parallel=0)
        text = r.choice(("Y[j] += X[i,j]", "Y[j] = max(Y[j], X[i,j])", "Y[j] = min(X[i,j], Y[j])",
                         "Y[i] += X[i,j]", "Y[j] = Y[j] + X[i,j] * X[i,j]", "Y[j] *= X[i,j]",
                         "Y[0] += X[i,j]", "Y[i] = X[i,j]", "Y[j] = X[i,j] - Y[j]"))
        text = text.replace("X", X + "§").replace("Y", Y + "§").replace("§", "")
        text = text.replace("[i,j]", f"[{i[1]}, {j[1]}]").replace("[j]", f"[{j[1]}]").replace("[i]", f"[{i[1]}]")
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (max(n, m),))], self.nested(
            self.shuffled((i[0], j[0])), [text])

    # ---- order ----

    def t_scan(self):
        r = self.random
        n, m = self.size(33) + 1, self.size(6)
        X, Y, i, c = self.name(), self.name(), self.var(), self.var()
        pick = r.random()
        if pick < .3:
            return [(X, self.dtype, (n,)), (Y, self.dtype, (n,))], self.nested(
                [f"for {i} in range(1, {n}):"],
                [f"{Y}[{i}] = {Y}[{i} - 1] {r.choice('+-')} {X}[{i}]"])
        if pick < .5:
            s = self.var()
            return [(X, self.dtype, (n,)), (Y, self.dtype, (n,))], [f"{s} = {self.zero()}"] + self.nested(
                [f"for {i} in range({n}):"], [f"{s} += {X}[{i}]", f"{Y}[{i}] = {s}"])
        if pick < .7:
            return [(X, self.dtype, (n, m)), (Y, self.dtype, (n, m))], self.nested(
                self.shuffled(([f"for {i} in range(1, {n}):"], [f"for {c} in range({m}):"])),
                [f"{X}[{i}, {c}] = {X}[{i} - 1, {c}] + {Y}[{i}, {c}]"])
        if pick < .85:
            return [(X, self.dtype, (n,)), (Y, self.dtype, (n,))], self.nested(
                [f"for {i} in range({n - 2}, -1, -1):"], [f"{X}[{i}] = {X}[{i} + 1] * {self.scale()} + {Y}[{i}]"])
        d = r.randint(1, 3)
        return [(X, self.dtype, (n + d,)), (Y, self.dtype, (n,))], self.nested(
            [f"for {i} in range({n}):"], [f"{X}[{i} + {d}] = {X}[{i}] + {Y}[{i}]"])

    def t_transpose(self):
        r = self.random
        n, m = self.size(), self.size()
        X, Y = self.name(), self.name()
        if r.random() < .4:
            b = r.choice((2, 4, 5))
            n, m = b * max(1, n // b), b * max(1, m // b)
            i, j, u, v, tile = (self.var() for _ in range(5))
            f = r.choice(("asc.shared_memory", "asc.local"))
            body = [f"{tile} = {f}(({b}, {b}), asc.{self.dtype})", f"for {u} in range({b}):",
                    f"    for {v} in range({b}):", f"        {tile}[{u}, {v}] = {X}[{i} + {u}, {j} + {v}]",
                    f"for {u} in range({b}):", f"    for {v} in range({b}):",
                    f"        {Y}[{j} + {v}, {i} + {u}] = {tile}[{u}, {v}]"]
            return [(X, self.dtype, (n, m)), (Y, self.dtype, (m, n))], self.nested(
                [f"for {i} in asc.parallel_for(0, {n}, {b}):", f"for {j} in asc.parallel_for(0, {m}, {b}):"], body)
        i, j = self.loop(n), self.loop(m)
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (m, n))], self.nested(
            self.shuffled((i[0], j[0])),
            [f"{Y}[{j[1]}, {i[1]}] {r.choice(('=', '=', '+='))} {X}[{i[1]}, {j[1]}] * {self.scale()}"])

    def t_gather(self):
        r = self.random
        n, m = self.size(), self.size()
        self.limit = n
        X, Y, i = self.name(), self.name(), self.var()
        body = r.choice((f"{Y}[{i}] = {X}[idx[{i}]]", f"{X}[idx[{i}]] += {Y}[{i}]",
                         f"{X}[idx[{i}]] = {Y}[{i}]", f"{Y}[{i}] += {X}[idx[{i}]] * {X}[{i} % {n}]",
                         f"asc.atomic_add({X}, idx[{i}], {Y}[{i}])", f"asc.atomic_max({X}, idx[{i}], {Y}[{i}])"))
        if self.dtype in HALVES:
            self.dtype = "float32"
        return [(X, self.dtype, (n,)), (Y, self.dtype, (m,)), ("idx", "int32", (m,))], self.nested(
            [f"for {i} in {'asc.parallel_for' if 'atomic' in body else 'range'}({m}):"], [body])

    def t_elementwise(self):
        r = self.random
        n, m = self.size(), self.size()
        X, Y, Z = self.name(), self.name(), self.name()
        i, j = self.loop(n), self.loop(m)
        x, y, z = (f"{t}[{i[1]}, {j[1]}]" for t in (X, Y, Z))
        t = self.var()
        body = [f"{t} = {x} {r.choice('+-*')} {y}"]
        body += r.choice(([f"if {t} > 0:", f"    {z} = {t}", "else:", f"    {z} = {t} * {self.scale()}"],
                          [f"{z} = {t} if {t} < {x} else {y}"], [f"{z} = max({t}, 0)", f"{y} = {z} + {t}"],
                          [f"if {x} > {y}:", f"    {z} += {t}"], [f"{z} = asc.where({x} > 0, {t}, {y})"],
                          [f"{z} = min(max({t}, -2), 2)", f"{x} = {t}"]))
        return [(X, self.dtype, (n, m)), (Y, self.dtype, (n, m)), (Z, self.dtype, (n, m))], self.nested(
            self.shuffled((i[0], j[0])), body)

    def t_argmax(self):
        n, m = self.size(9), self.size(20)
        X, Y, i, j, best, at = self.name(), self.name(), self.var(), self.var(), self.var(), self.var()
        op = self.random.choice((">", "<", ">="))
        return [(X, self.dtype, (n, m)), (Y, "int64", (n,))], self.nested(
            [f"for {i} in asc.parallel_for({n}):"],
            [f"{best} = {X}[{i}, 0]", f"{at} = 0", f"for {j} in range(1, {m}):",
             f"    if {X}[{i}, {j}] {op} {best}:", f"        {best} = {X}[{i}, {j}]", f"        {at} = {j}",
             f"{Y}[{i}] = {at}"])

    def t_sort(self):
        n = self.size(9) + 1
        X, i, j = self.name(), self.var(), self.var()
        return [(X, self.dtype, (n,))], self.nested(
            [f"for {i} in range({n}):", f"for {j} in range({n - 1} - {i}):",
             f"if {X}[{j}] > {X}[{j} + 1]:"],
            [f"{X}[{j}], {X}[{j} + 1] = {X}[{j} + 1], {X}[{j}]"])

    def t_two_products(self):
        n, m, k, p = (self.size(6) for _ in range(4))
        A, B, C, T, Y = (self.name() for _ in range(5))
        i, j, q = self.loop(n), self.loop(m), self.loop(k, parallel=0)
        u, v, w = self.loop(n), self.loop(p), self.loop(m, parallel=0)
        first = self.nested(i[0] + j[0] + q[0], [f"{T}[{i[1]}, {j[1]}] += {A}[{i[1]}, {q[1]}] * {B}[{q[1]}, {j[1]}]"])
        middle = self.random.choice(([], self.nested(
            i[0] + j[0], [f"{T}[{i[1]}, {j[1]}] = max({T}[{i[1]}, {j[1]}], 0)"])))
        last = self.nested(u[0] + v[0] + w[0], [f"{Y}[{u[1]}, {v[1]}] += {T}[{u[1]}, {w[1]}] * {C}[{w[1]}, {v[1]}]"])
        local = self.random.random() < .5
        made = [f"{T} = asc.zeros(({n}, {m}), asc.{self.dtype})"] if local else []
        return [(A, self.dtype, (n, k)), (B, self.dtype, (k, m)), (C, self.dtype, (m, p)),
                (Y, self.dtype, (n, p))] + ([] if local else [(T, self.dtype, (n, m))]), \
            made + first + middle + last
