"""Statements of random programs over whole tensors and their views."""

from terms import E, INTS, entry, typed, unknown
from kernel import dtypes
from pyasc.interpret import ops
from pyasc.interpret.values import Unknown
from scope import SIZES


class WholeTensors:
    """Mixed into the generator of programs."""

    def do_tensor(self):
        if self.scope.trips > 40:
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
        if not names or self.scope.trips > 70:
            return self.do_store()
        name = r.choice(names)
        whole = E(name, self.scope.tensors[name])
        if self.scope.owned.get(name):
            target = self.owned_view(name)
            if not target.shape or target.v is None:
                return self.do_store()
        else:
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
        if self.scope.trips > 60:
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
        if self.scope.parallel:
            self.scope.owned[name] = {}

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

    def do_view(self):
        """A name for a view, and a store through it."""
        r = self.random
        names = [n for n in self.targets() if not self.scope.owned.get(n)]
        if not names or self.scope.parallel or self.scope.trips > 70:
            return self.do_store()
        view = self.sliced(E(name := r.choice(names), self.scope.tensors[name]))
        if view.text == name or not all(view.shape):
            return
        made = self.new_name("V")
        self.emit(f"{made} = {view.text}")
        e = self.stored(view.t, self.scalar(2))
        self.emit(f"{made}[{', '.join(self.place(n) for n in view.shape)}] = {e.text}")

    def do_blocks(self):
        """A tensor block by block, the last of which its end cuts."""
        r = self.random
        names = [n for n in self.targets() if not self.scope.owned.get(n) and not self.scope.parallel and
                 self.scope.trips <= 20 and self.scope.tensors[n].t is not dtypes.BOOL]
        if not names or self.level >= 4:
            return self.do_store()
        name = r.choice(names)
        v = self.scope.tensors[name]
        others = [n for n, o in self.scope.tensors.items() if o.shape == v.shape and o.t is v.t and
                  self.scope.may_read_whole(n)] + [name]
        n, i = v.shape[0], self.new_name("i")
        b = r.choice((1, 2, 3, 4, 8))
        f = r.choice(("range", "range", "asc.parallel_for"))
        sizes = [s for s, m in self.scope.sizes if m == n]
        stop = r.choice(sizes) if sizes and r.random() < .7 else str(n)
        self.emit(f"for {i} in {f}(0, {stop}, {b}):")
        rows = f"{i}:{i} + {b}"
        x, y = f"{name}[{rows}]", f"{r.choice(others)}[{rows}]"
        k = "2" if v.t.is_int else "0.5"
        self.emit("    " + r.choice((f"{x} = {y} * {k}", f"{x} += {y}", f"{x} = asc.maximum({x}, {y})",
                                     f"{x} = {k}", f"{name}[{rows}] -= asc.{v.t.name}({i})")))
