"""What generated code calls: the operators by name, loops, printing, checks."""

import itertools
import random
import threading

import numpy as np

from . import dtypes, indexing, library, ops
from .errors import Fault
from .values import Tensor, is_sequence, load_scalar


class Run(threading.local):
    """What belongs to one run of a kernel, for each thread."""

    def __init__(self):
        self.prints, self.shuffle, self.echo, self.partial = [], None, None, ""


RUN = Run()


# ---- casts ----

def _cast(t):
    np_type, native = t.np, t is not dtypes.BFLOAT16

    def cast(x):
        if native and x.__class__ is np_type:
            return x
        if x.__class__ is Tensor and x.t is t:
            return x
        return ops.cast(x, t)
    return cast


def _convert(t):
    """An explicit cast of a tensor, which copies even when the type is the same."""
    return lambda x: ops.cast(x, t)


def cast_items(items, types):
    return type(items)(v if t is None else cast_items(v, t) if isinstance(t, tuple) else
                       v if v.__class__ is Tensor and v.t is t else ops.cast(v, t)
                       for v, t in zip(items, types))


# ---- loops ----

def indices(r):
    start, stop, step = (int(p) for p in r.parts)
    if step == 0:
        raise Fault("bad-range", "the step of range() must not be zero")
    return map(np.int64, range(start, stop, step))


def _shuffled(items):
    if RUN.shuffle is None:
        return items
    items = list(items)
    RUN.shuffle.shuffle(items)
    return items


def parallel(r):
    return _shuffled(indices(r))


def grid(r):
    return _shuffled(itertools.product(*(map(np.int64, range(int(n))) for n in r.parts)))


def rows(tensor):
    for i in range(tensor.a.shape[0]):
        yield indexing.load(tensor, i)


def items(value, n):
    """The parts of what is unpacked into n names."""
    parts = tuple(rows(value)) if value.__class__ is Tensor else tuple(value)
    if len(parts) != n:
        raise Fault("unpack-mismatch", f"cannot unpack {len(parts)} values into {n} names")
    return parts


# ---- attributes ----

def attribute(value, name):
    if name == "shape":
        return tuple(np.int64(d) for d in value.a.shape)
    if name == "size":
        return np.int64(value.a.size)
    if name == "T":
        return value.view(lambda a: a.T)
    if name == "mT":
        return value.view(lambda a: np.swapaxes(a, -1, -2))
    raise Fault("unknown-attribute", f"no attribute '{name}'")


# ---- printing ----

def format_value(value, spec=""):
    """A value as asc.print shows it: numbers as Python prints them (the shortest decimal that reads
    back as the same number of that type), tensors as nested lists."""
    if value.__class__ is Tensor:
        a = value.read()
        if a.ndim == 0:
            return format_value(load_scalar(value.t, value.a[()]), spec)
        return "[" + ", ".join(format_value(value.view(lambda x, i=i: x[i, ...]), spec)
                               for i in range(a.shape[0])) + "]"
    if isinstance(value, dtypes.BFloat16):
        value = value.value
    if isinstance(value, dtypes.DType):
        return value.name
    if is_sequence(value):
        inner = ", ".join(format_value(v) for v in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if spec:
        plain = value.item() if isinstance(value, np.generic) else value
        try:
            return format(plain, spec)
        except ValueError as error:
            raise Fault("unsupported-message", f"format '{spec}': {error}") from None
    return str(value)


def print_line(place, separator, end, *parts):
    """What has no end yet waits for it, so that prints are lines on every driver."""
    RUN.place = place
    *lines, RUN.partial = (RUN.partial + separator.join(parts) + end).split("\n")
    for line in lines:
        say(line, place)


def say(line, place):
    RUN.prints.append(line)
    if RUN.echo is not None:
        RUN.echo(line, place)


def end_prints():
    if RUN.partial:
        say(RUN.partial, RUN.place)
    RUN.partial = ""


def fail(has_message, message):
    raise Fault("assertion-failed", "assertion failed" + (f": {message}" if has_message else ""))


FUNCTIONS = {
    "__load": indexing.load, "__store": indexing.store, "__augment": indexing.augment,
    "__begin_augment": indexing.begin_augment, "__end_augment": indexing.end_augment,
    "__index": ops.index64, "__slice": slice, "__matmul": library.linalg.matmul,
    "__multiply_wide": ops.multiply_wide, "__negate": ops.negate, "__plus": ops.plus,
    "__invert": ops.invert, "__not": ops.logical_not, "__identical": ops.identical,
    "__not_identical": ops.not_identical, "__contains": ops.contains,
    "__not_contains": ops.not_contains, "__indices": indices, "__parallel": parallel,
    "__grid": grid, "__rows": rows, "__items": items, "__attribute": attribute,
    "__format": format_value, "__join": "".join, "__print": print_line, "__fail": fail,
    "__cast_items": cast_items,
}
FUNCTIONS.update({"__" + op: f for op, f in ops.BY_SYMBOL.items()})
FUNCTIONS.update({"__" + op: f for op, f in ops.COMPARISONS.items()})
for _t in dtypes.ALL:
    FUNCTIONS[f"__cast_{_t.name}"] = _cast(_t)
    FUNCTIONS[f"__convert_{_t.name}"] = _convert(_t)


# Reached by the translator itself, never called through the table.
library.table.entry((library.ASC, library.BUILTIN), "print", pure=False)(
    lambda *values, sep=None, end=None: None)
library.table.entry(library.ASC, "device_assert", pure=False)(
    lambda condition, message=None: None)
