"""What a random program may read and write at the place that is being written."""

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 32, 33)  # of axes


class Scope:
    """`owned`: of what a parallel loop's iteration may write, the index it has on each axis; of a tensor
    that the iteration made itself, none."""

    def __init__(self):
        self.scalars, self.tensors, self.loops, self.owned = {}, {}, {}, {}
        self.unreadable, self.frozen, self.writable = set(), set(), set()
        self.sizes, self.walrus, self.parallel, self.trips, self.in_loop = [], True, False, 1, False

    def child(self):
        other = Scope()
        for name in ("scalars", "tensors", "loops", "unreadable", "frozen", "writable"):
            setattr(other, name, getattr(self, name).copy())
        other.owned = {n: dict(o) for n, o in self.owned.items()}
        other.sizes, other.walrus, other.parallel = self.sizes, self.walrus, self.parallel
        other.trips, other.in_loop = self.trips, self.in_loop
        return other

    def readable(self, name):
        return name not in self.unreadable

    def may_read(self, name):
        return name not in self.unreadable

    def may_read_whole(self, name):
        return name not in self.unreadable and not self.owned.get(name)
