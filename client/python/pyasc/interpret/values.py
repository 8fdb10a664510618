"""What a kernel's names hold besides numbers: tensors, and what is known of values before a run.

While types are found, a value that only the run can tell is an Unknown: its dtype and, for a
tensor, its shape. Everything else (literals, constants, tuples, functions) is itself. Operations
take both, so that one definition gives the meaning and the types.
"""

import numpy as np

from . import dtypes
from .dtypes import BFLOAT16, BFloat16
from .errors import Fault


class Unknown:
    """A scalar (`shape` is None) or tensor of a known type. An extent that is not known is None.
    `root` is the parameter whose memory a tensor is, "" for memory of its own, "?" when unclear.
    `extent`: an integer made of extents that are not known here and constant in each iteration, so
    that shapes may be made of it; compiling, they are known."""

    __slots__ = ("t", "shape", "root", "extent")

    def __init__(self, t, shape=None, root="", extent=False):
        self.t, self.shape, self.root, self.extent = t, shape, root, extent

    def seen_as(self, shape):
        """A view of this tensor."""
        return Unknown(self.t, shape, self.root)

    def __repr__(self):
        return f"?{self.t.name}" + ("" if self.shape is None else str(self.shape))


class Tensor:
    """A view of memory. `a` holds the elements (bfloat16 as its bits); `wide` the same elements of a
    16-bit float in float32, so that sums into them round once."""

    __slots__ = ("t", "a", "wide")

    def __init__(self, t, a, wide=None):
        self.t, self.a = t, a
        if wide is None and t.is_16:
            wide = dtypes.from_bfloat16_bits(a) if t is BFLOAT16 else a.astype(np.float32)
        self.wide = wide

    @property
    def shape(self):
        return self.a.shape

    def read(self):
        """The elements in the type that arithmetic runs in; may be the memory itself."""
        return dtypes.from_bfloat16_bits(self.a) if self.t is BFLOAT16 else self.a

    def write(self, values):
        """Elements in arithmetic's type, of this tensor's dtype, into the memory."""
        self.a[...] = dtypes.bfloat16_bits(values) if self.t is BFLOAT16 else values
        if self.wide is not None:
            self.wide[...] = values

    def view(self, change):
        return Tensor(self.t, change(self.a), None if self.wide is None else change(self.wide))

    def __bool__(self):
        raise Fault("ambiguous-truth", "the truth of a tensor is ambiguous; use asc.any, asc.all or "
                                       "asc.where")

    def __repr__(self):
        return f"Tensor({self.t.name}, {self.read()!r})"


def new_tensor(t, values):
    """A tensor of its own memory, from elements in arithmetic's type."""
    if t is BFLOAT16:
        return Tensor(t, dtypes.bfloat16_bits(values), np.array(values, np.float32))
    return Tensor(t, np.array(values, t.np, copy=True, subok=False))


def load_scalar(t, raw):
    """A scalar from an element of `Tensor.a`."""
    if t is BFLOAT16:
        return BFloat16(dtypes.from_bfloat16_bits(raw)[()])
    return raw if raw.__class__ is t.np else t.np(raw)


class Range:
    """range(...) and its kin: `kind` is range, parallel_for, static_range or grid."""

    def __init__(self, kind, parts):
        self.kind, self.parts = kind, parts

    def count(self):
        start, stop, step = (int(p) for p in self.parts)
        return max(0, -((start - stop) // step) if step > 0 else -((stop - start) // -step))

    def known(self):
        return not any(isinstance(p, Unknown) for p in self.parts)

    def __repr__(self):
        return f"{self.kind}{tuple(self.parts)}"


class Module:
    """asc, math or numpy, as kernels see them; or a user's module."""

    def __init__(self, name):
        self.name = name


class Function:
    """A helper: its tree and the file that its names are looked up in."""

    def __init__(self, node, file):
        self.node, self.file = node, file


class Method:
    """A library function bound to its first argument."""

    def __init__(self, entry, owner):
        self.entry, self.owner = entry, owner


# A bool is one, literal or not: there is no weaker type that it could take another from.
WEAK = (int, float)
SCALARS = frozenset(dtypes.BY_NUMPY) | {BFloat16, bool, int, float}


def is_extent(x):
    return x.__class__ is Unknown and x.extent


def is_scalar(x):
    return x.__class__ in SCALARS or x.__class__ is Unknown and x.shape is None


def is_tensor(x):
    return x.__class__ is Tensor or x.__class__ is Unknown and x.shape is not None


def is_number(x):
    return x.__class__ in SCALARS or x.__class__ is Tensor or x.__class__ is Unknown


def is_weak(x):
    return x.__class__ in WEAK


def is_sequence(x):
    return x.__class__ is tuple or x.__class__ is list


def dtype_of(x):
    if x.__class__ is Tensor or x.__class__ is Unknown:
        return x.t
    return dtypes.dtype_of_scalar(x)


def shape_of(x):
    """() for scalars."""
    if x.__class__ is Tensor:
        return x.a.shape
    if x.__class__ is Unknown:
        return x.shape or ()
    return ()


def is_integral(x):
    return is_scalar(x) and not dtype_of(x).is_float


def is_known_int(x):
    """Whether `x` is an integer whose value is there."""
    return x.__class__ in SCALARS and not dtype_of(x).is_float


def strong(x):
    """What a variable that is assigned `x` holds: a literal takes its own type."""
    if x.__class__ in WEAK or x.__class__ is bool:
        return dtypes.scalar(x, dtypes.weak_dtype(x))
    return x


def shape_text(shape):
    inner = ", ".join("?" if d is None else str(d) for d in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def describe(x):
    """The value as a message names it."""
    if x is None:
        return "None"
    if x is Ellipsis:
        return "..."
    if is_number(x):
        name = dtype_of(x).name
        if is_weak(x):
            name = "float" if isinstance(x, float) else "int"
        article = "an" if name[0] == "i" else "a"
        if is_tensor(x):
            return f"{article} {name} tensor of shape {shape_text(shape_of(x))}"
        return f"{article} {name} " + ("literal" if is_weak(x) else "scalar")
    if x.__class__ is tuple:
        return f"a tuple of {len(x)}"
    if x.__class__ is list:
        return f"a list of {len(x)}"
    if isinstance(x, dtypes.DType):
        return f"the type {x.name}"
    if isinstance(x, str):
        return "a string"
    if isinstance(x, Function):
        return f"the function '{x.node.name}'"
    if isinstance(x, Module):
        return f"the module '{x.name}'"
    if isinstance(x, slice):
        return "a slice"
    if isinstance(x, Range):
        return "a range"
    if isinstance(x, Method):
        return "a method"
    return f"the function '{getattr(x, 'name', type(x).__name__)}'"


def truth(x):
    """x as a condition; an Unknown bool when only the run can tell."""
    if x is None or is_sequence(x) or isinstance(x, str):
        return bool(x)
    if is_tensor(x):
        raise Fault("ambiguous-truth", "the truth of a tensor is ambiguous; use asc.any, asc.all or "
                                       "asc.where")
    if not is_scalar(x):
        raise Fault("type-mismatch", f"a condition must be a number, not {describe(x)}")
    if x.__class__ is Unknown:
        return Unknown(dtypes.BOOL)
    return bool(x)
