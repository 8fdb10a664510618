"""Element types: their order, their promotion, and conversion between them.

A scalar of a kernel is a NumPy scalar (np.int32(5)), or a BFloat16; a literal is a plain Python
number, whose type is weak. Promotion is NumPy 2's, with bfloat16 beside float16 giving float32;
NumPy 1's promotion by value is never asked.
"""

import numpy as np

from .errors import Fault


class DType:
    """One element type. `np` is the type that arithmetic runs in, `storage` that of memory."""

    def __init__(self, name, kind, bits, np_type, storage=None):
        self.name, self.kind, self.bits, self.np = name, kind, bits, np_type
        self.storage = np.dtype(storage or np_type)
        self.is_float = kind == "f"
        self.is_int = kind in "iu"
        self.is_16 = kind == "f" and bits == 16
        if self.is_int:
            info = np.iinfo(np_type)
            self.low, self.high = int(info.min), int(info.max)
        elif kind == "b":
            self.low, self.high = 0, 1

    def __repr__(self):
        return f"asc.{self.name}"

    @property
    def itemsize(self):
        return self.bits // 8


BOOL = DType("bool", "b", 8, np.bool_)
INT8 = DType("int8", "i", 8, np.int8)
INT16 = DType("int16", "i", 16, np.int16)
INT32 = DType("int32", "i", 32, np.int32)
INT64 = DType("int64", "i", 64, np.int64)
UINT8 = DType("uint8", "u", 8, np.uint8)
UINT16 = DType("uint16", "u", 16, np.uint16)
UINT32 = DType("uint32", "u", 32, np.uint32)
UINT64 = DType("uint64", "u", 64, np.uint64)
FLOAT16 = DType("float16", "f", 16, np.float16)
BFLOAT16 = DType("bfloat16", "f", 16, np.float32, np.uint16)
FLOAT32 = DType("float32", "f", 32, np.float32)
FLOAT64 = DType("float64", "f", 64, np.float64)

ALL = (BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, BFLOAT16, FLOAT32,
       FLOAT64)
BY_NAME = {t.name: t for t in ALL}
BY_NAME.update(bool_=BOOL, half=FLOAT16, double=FLOAT64)
BY_NUMPY = {t.np: t for t in ALL if t is not BFLOAT16}


class BFloat16:
    """A bfloat16 scalar: a float32 whose low half is zero."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return bool(self.value)

    def __float__(self):
        return float(self.value)

    def __repr__(self):
        return repr(self.value)


def bfloat16_bits(x):
    """float32 values as bfloat16 bits, to nearest even; NaN stays NaN."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(x), quiet, rounded).astype(np.uint16)


def from_bfloat16_bits(bits):
    return (np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def promote(a, b):
    """The type of `a` combined with `b`; None when integers have none in common."""
    if a is b:
        return a
    if a is BOOL:
        return b
    if b is BOOL:
        return a
    if a.is_float and b.is_float:
        if a.bits == b.bits:
            return FLOAT32
        return a if a.bits > b.bits else b
    if a.is_float or b.is_float:
        f, i = (a, b) if a.is_float else (b, a)
        # A 16-bit float cannot hold 16-bit integers.
        return FLOAT32 if f.bits == 16 and i.bits > 8 else f
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    u, s = (a, b) if a.kind == "u" else (b, a)
    if s.bits > u.bits:
        return s
    return {8: INT16, 16: INT32, 32: INT64}.get(u.bits)


def weak_dtype(x):
    """The type that a literal has when nothing else gives it one."""
    if x.__class__ is bool:
        return BOOL
    if x.__class__ is float:
        return FLOAT32
    if INT32.low <= x <= INT32.high:
        return INT32
    if x <= INT64.high:
        return INT64
    return UINT64


def wrap(value, t):
    """A Python integer as a scalar of an integer type, modulo its width."""
    if t is BOOL:
        return np.bool_(value != 0)
    if not t.low <= value <= t.high:
        value &= (1 << t.bits) - 1
        if value > t.high:
            value -= 1 << t.bits
    return t.np(value)


_INT64_MIN = -2**63


def dtype_of_scalar(x):
    c = x.__class__
    t = BY_NUMPY.get(c)
    if t is not None:
        return t
    if c is BFloat16:
        return BFLOAT16
    if c in (bool, int, float):
        return weak_dtype(x)
    return None


def scalar(x, t):
    """A scalar, strong or weak, converted to type `t`: floats round, integers wrap, and a
    float beyond an integer type gives the nearest of it, NaN 0."""
    c = x.__class__
    if c is t.np and t is not BFLOAT16:
        return x
    if c is BFloat16:
        if t is BFLOAT16:
            return x
        x = x.value
    if t.is_float:
        if t is FLOAT64:
            return np.float64(x)
        if t is FLOAT32:
            return np.float32(x)
        # Integers reach 16-bit types through float32; a literal float rounds once.
        if t is FLOAT16:
            return np.float16(x) if isinstance(x, (float, np.floating)) else np.float16(np.float32(x))
        return to_bfloat16(x)
    if t is BOOL:
        return np.bool_(x != 0)
    if isinstance(x, (float, np.floating)):
        value = float(x)
        if value != value:
            return t.np(0)
        return t.np(t.high if value > t.high else t.low if value < t.low else int(value))
    return wrap(int(x), t)


def to_bfloat16(x):
    if isinstance(x, (float, np.float64)) and not isinstance(x, np.float32):
        x = _round_once(float(x))
    return BFloat16(from_bfloat16_bits(bfloat16_bits(np.float32(x)))[()])


def _round_once(x):
    """A double as the float32 that rounds to the same bfloat16: round to odd."""
    f = np.float32(x)
    if float(f) == x or not np.isfinite(f):
        return f
    bits = f.view(np.uint32)
    if abs(float(f)) > abs(x):
        bits = bits - np.uint32(1)
    return (bits | np.uint32(1)).view(np.float32)


def array(a, have, want):
    """Array elements from type `have`, in the type that its arithmetic runs in, to type `want`'s."""
    if have is want:
        return a
    if want is BFLOAT16:
        if have is FLOAT64:
            return np.vectorize(lambda v: float(to_bfloat16(v)), otypes=[np.float32])(a) \
                if a.size else a.astype(np.float32)
        return from_bfloat16_bits(bfloat16_bits(a.astype(np.float32)))
    if want.is_float:
        if want is FLOAT16 and have.is_int:
            a = a.astype(np.float32)
        return a.astype(want.np)
    if want is BOOL:
        return a != 0
    if have.is_float:
        # To the nearest integer of the type; NaN to 0.
        with np.errstate(invalid="ignore"):
            whole = np.where(np.isnan(a), 0, np.trunc(a.astype(np.float64)))
            inside = (whole >= want.low) & (whole < float(want.high + 1))
            out = np.where(inside, whole, 0).astype(want.np)
        return np.where(inside, out, np.where(whole < 0, want.np(want.low), want.np(want.high)))
    return a.astype(want.np)


def no_common(a, b):
    return Fault("no-common-type", f"{a.name} and {b.name} have no common integer type; cast one, "
                                   "as in asc.int64(x)")
