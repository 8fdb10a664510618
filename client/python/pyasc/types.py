"""Element types and the annotations that are made of them.

`asc.float32` is a scalar, `asc.float32[1024, 1024]` a tensor. Annotations are evaluated when Python
imports the file, so the extents must be values by then: numbers, or names made by `asc.dims`.
With `from __future__ import annotations` they are not evaluated, and any name may stand there.
"""

import re

from .errors import KernelOnlyError


class Dim:
    """A symbolic extent, or arithmetic on some: `H - 2`. Only its text matters."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text

    def _combine(self, operator, other, swap=False):
        left, right = (other, self) if swap else (self, other)
        if not isinstance(other, (Dim, int)):
            return NotImplemented
        return Dim(f"({left!r} {operator} {right!r})")

    def __add__(self, other): return self._combine("+", other)
    def __radd__(self, other): return self._combine("+", other, True)
    def __sub__(self, other): return self._combine("-", other)
    def __rsub__(self, other): return self._combine("-", other, True)
    def __mul__(self, other): return self._combine("*", other)
    def __rmul__(self, other): return self._combine("*", other, True)
    def __floordiv__(self, other): return self._combine("//", other)
    def __rfloordiv__(self, other): return self._combine("//", other, True)
    def __mod__(self, other): return self._combine("%", other)
    def __rmod__(self, other): return self._combine("%", other, True)
    def __neg__(self): return Dim(f"-{self!r}")


def dims(names):
    """Symbolic extents for annotations: `N, C = asc.dims('N C')`, `N = asc.dims('N')`."""
    words = re.split(r"[,\s]+", names.strip()) if isinstance(names, str) else list(names)
    for word in words:
        if not isinstance(word, str) or not word.isidentifier():
            raise ValueError(f"asc.dims takes names such as 'N C', not {names!r}")
    made = tuple(Dim(word) for word in words)
    return made[0] if len(made) == 1 else made


class TensorType:
    """`asc.float32[N, 3]`: an annotation, and what `kernel.compile` takes in place of an array."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, shape

    def __repr__(self):
        return f"asc.{self.dtype.name}[{', '.join(map(repr, self.shape))}]"

    def __eq__(self, other):
        return (isinstance(other, TensorType) and self.dtype is other.dtype
                and repr(self) == repr(other))

    def __hash__(self):
        return hash(repr(self))


class DType:
    """An element type of kernels."""

    def __init__(self, name, number):
        self.name, self.number = name, number

    def __repr__(self):
        return f"asc.{self.name}"

    def __getitem__(self, shape):
        shape = shape if isinstance(shape, tuple) else (shape,)
        for extent in shape:
            if isinstance(extent, bool) or not (isinstance(extent, (int, Dim))
                                                or hasattr(extent, "__index__")):
                raise TypeError(f"the extents of asc.{self.name}[...] are whole numbers or names "
                                f"made by asc.dims, not {extent!r}")
        return TensorType(self, tuple(e if isinstance(e, Dim) else int(e) for e in shape))

    def __call__(self, value):
        raise KernelOnlyError(f"asc.{self.name}(x) converts inside a kernel; outside of kernels use "
                              "NumPy's astype")


class Marker:
    """An annotation that is no element type: asc.tensor, asc.constexpr."""

    def __init__(self, name, doc):
        self.name, self.__doc__ = name, doc

    def __repr__(self):
        return f"asc.{self.name}"


# The numbers of pyasc.v1.DType.
bool_ = DType("bool", 1)
int8 = DType("int8", 2)
int16 = DType("int16", 3)
int32 = DType("int32", 4)
int64 = DType("int64", 5)
uint8 = DType("uint8", 6)
uint16 = DType("uint16", 7)
uint32 = DType("uint32", 8)
uint64 = DType("uint64", 9)
float16 = DType("float16", 10)
bfloat16 = DType("bfloat16", 11)
float32 = DType("float32", 12)
float64 = DType("float64", 13)

DTYPES = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
          float32, float64)

tensor = Marker("tensor", "A tensor whose element type and shape come from the launch.")
constexpr = Marker("constexpr", "A value that is known when the kernel is compiled.")
