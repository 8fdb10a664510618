"""The table of library functions: name, where it is reached from, and a Python function.

A function takes values as kernels hold them, and Unknowns while types are found: then it checks its
arguments and gives the type of its result. Its Python signature is the operation's.
"""

import inspect
import math

from .. import dtypes, ops
from ..dtypes import FLOAT32
from ..errors import Fault
from ..values import shape_text as shape_text_of
from ..values import (Unknown, describe, dtype_of, is_extent, is_number, is_scalar, is_sequence,
                      is_tensor, is_weak, shape_of)

ASC, MATH, BUILTIN, METHOD, NUMPY = "asc", "math", "builtin", "method", "numpy"
ALL = (ASC, MATH, NUMPY)
ARRAYS = (ASC, NUMPY)


class Entry:
    """`pure`: the result depends on the arguments alone. `folds`: that of constants is a constant,
    or "literals": that of literals and integers alone."""

    def __init__(self, name, function, pure, folds):
        self.name, self.function, self.pure, self.folds = name, function, pure, folds
        self.signature = inspect.signature(function)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def usage(self):
        return f"{self.name}{self.signature}"

    def bind(self, args, kwargs):
        """Refuses a call that does not fit the signature."""
        try:
            self.signature.bind(*args, **kwargs)
            return
        except TypeError:
            pass
        for name in kwargs:
            if name not in self.signature.parameters:
                raise Fault("unknown-argument", f"{self.name}() has no argument '{name}'; it is "
                                                f"called as {self.usage()}")
        raise Fault("argument-count", f"{self.name}() does not take these arguments; it is called as "
                                      f"{self.usage()}")


TABLE = {}  # (reach, name) -> Entry


def entry(reach, *names, pure=True, folds=True):
    """Registers a function under `names` for each reach."""
    def register(function):
        for name in names:
            made = Entry(name, function, pure, folds)
            for where in (reach,) if isinstance(reach, str) else reach:
                assert (where, name) not in TABLE, name
                TABLE[(where, name)] = made
        return function
    return register


# ---- arguments ----

def expect_tensor(x, what):
    if not is_tensor(x):
        more = "; parameters that are arrays are annotated asc.float32[N] or asc.tensor" \
            if is_scalar(x) else ""
        raise Fault("type-mismatch", f"{what} must be a tensor, not {describe(x)}{more}")


def expect_number(x, what):
    if not is_number(x):
        raise Fault("type-mismatch", f"{what} must be a number or a tensor, not {describe(x)}")


def constant_int(x, what):
    if is_scalar(x) and x.__class__ is not Unknown and not dtype_of(x).is_float:
        return int(x)
    raise Fault("not-static", f"{what} must be an integer known at compile time, not {describe(x)}")


def size_argument(x, what):
    """An axis of a shape; None for one that is constant, and not known here."""
    return None if is_extent(x) else constant_int(x, what)


def constant_bool(x, what):
    if x is None:
        return False
    if is_scalar(x) and x.__class__ is not Unknown and not dtype_of(x).is_float:
        return bool(x)
    raise Fault("not-static", f"{what} must be True or False at compile time")


def axis_of(x, rank):
    axis = constant_int(x, "an axis")
    if not -rank <= axis < rank:
        raise Fault("bad-axis", f"axis {axis} is out of bounds for a tensor with {rank} "
                                f"{'axis' if rank == 1 else 'axes'}")
    return axis % rank


def axes_of(x, rank):
    """Axes named by an argument, all when it is None, in order."""
    if x is None:
        return list(range(rank))
    out = [axis_of(a, rank) for a in (x if is_sequence(x) else (x,))]
    if len(set(out)) != len(out):
        raise Fault("bad-axis", "an axis is named twice")
    return sorted(out)


def shape_argument(x):
    shape = []
    for d in x if is_sequence(x) else (x,):
        n = size_argument(d, "an axis of a shape")
        if n is not None and n < -1:
            raise Fault("shape-mismatch", f"an axis cannot have the negative size {n}")
        shape.append(n)
    return tuple(shape)


def new_shape(x):
    shape = shape_argument(x)
    if any(d is not None and d < 0 for d in shape):
        raise Fault("shape-mismatch", "an axis cannot have a negative size")
    return checked_size(shape)


def checked_size(shape):
    """A shape, unless a tensor of it is too large for any driver."""
    if math.prod(d for d in shape if d) > 2**40:
        raise Fault("tensor-too-large", f"the tensor {shape_text_of(shape)} is too large")
    return shape


def dtype_argument(x):
    if isinstance(x, dtypes.DType):
        return x
    if isinstance(x, str) and x in dtypes.BY_NAME:
        return dtypes.BY_NAME[x]
    if isinstance(x, Entry) and x.name in ("int", "float", "bool"):
        return {"int": dtypes.INT64, "float": FLOAT32, "bool": dtypes.BOOL}[x.name]
    raise Fault("type-mismatch", f"expected a dtype such as asc.float32, not {describe(x)}")


def float_type(x):
    """The type that a function of floats gives for x: integers become float32."""
    t = dtype_of(x)
    return t if t.is_float else FLOAT32


def wide(t):
    return FLOAT32 if t.is_16 else t


def result(t, values, shape):
    """A tensor, or a scalar for shape (), from an array in the type `have` or t's arithmetic."""
    made = ops.from_array(values, t)
    return made if shape else scalar_of(made)


def scalar_of(tensor):
    from ..values import load_scalar
    return load_scalar(tensor.t, tensor.a[()])


def unknown_result(t, shape):
    return Unknown(t, tuple(shape) if shape else None)


def known(*values):
    return not any(v.__class__ is Unknown for v in values)


def size_of(shape):
    n = 1
    for d in shape:
        if d is None:
            return None
        n *= d
    return n


__all__ = [n for n in dir() if not n.startswith("__")]
