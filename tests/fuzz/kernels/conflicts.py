"""Whether iterations of a parallel loop meet in an element that one of them writes, also where the values
do not show it: such a race is the kernel's own."""

import itertools

import numpy as np

import kernel  # noqa: F401  (finds the package)
from pyasc.interpret import indexing, runtime
from pyasc.interpret.values import Tensor

READ, WRITE, UPDATE = range(3)


class Conflicts:
    """While open, programs that are made note which iteration touches which bytes; `found` says the rest.
    What whole tensors do without a subscript is not seen."""

    def __init__(self):
        self.found, self.iteration, self.loops = False, (), itertools.count()
        self.touched = {}  # by address: iterations, (loop, number) from outside in, with what they do

    def __enter__(self):
        self.saved = dict(runtime.FUNCTIONS)
        for name in ("__parallel", "__grid"):
            runtime.FUNCTIONS[name] = self._loop(self.saved[name])
        for name, does in (("__load", READ), ("__store", WRITE), ("__augment", UPDATE),
                           ("__begin_augment", UPDATE)):
            runtime.FUNCTIONS[name] = self._access(self.saved[name], does)
        return self

    def __exit__(self, *_):
        runtime.FUNCTIONS.update(self.saved)

    def _loop(self, run):
        def iterations(*args):
            around, loop = self.iteration, next(self.loops)
            for number, item in enumerate(run(*args)):
                self.iteration = (*around, (loop, number))
                yield item
            self.iteration = around
        return iterations

    def _access(self, run, does):
        def access(base, key, *rest):
            if self.iteration and isinstance(base, Tensor):
                self._touch(base, key, does)
            return run(base, key, *rest)
        return access

    def _touch(self, base, key, does):
        a = indexing.view(base, key).a
        at = np.zeros(a.shape, np.int64) + a.__array_interface__["data"][0]
        for axis, (size, stride) in enumerate(zip(a.shape, a.strides)):
            at += (np.arange(size) * stride).reshape([-1 if i == axis else 1 for i in range(a.ndim)])
        for address in at.ravel().tolist():
            others = self.touched.setdefault(address, set())
            for iteration, did in others:
                # Readers do not disturb each other, nor do the steps of a reduction.
                if (did != does or does == WRITE) and _meet(iteration, self.iteration):
                    self.found = True
            others.add((self.iteration, does))


def _meet(a, b):
    """Whether two iterations may run at one time: of one loop they have another number."""
    for x, y in zip(a, b):
        if x != y:
            return x[0] == y[0]
    return False
