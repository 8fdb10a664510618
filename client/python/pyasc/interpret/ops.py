"""Operators: promotion, then arithmetic of that type."""

import operator

import numpy as np

from . import dtypes
from .dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, BFloat16
from .errors import Fault
from .values import (Tensor, Unknown, describe, dtype_of, is_number, is_scalar, is_sequence,
                     is_tensor, is_weak, load_scalar, new_tensor, shape_of, shape_text)

BITWISE = ("&", "|", "^", "<<", ">>")


# ---- types ----

def common_type(x, y):
    """The type that two numbers meet in; a literal takes the other's where it fits."""
    wx, wy = is_weak(x), is_weak(y)
    tx, ty = dtype_of(x), dtype_of(y)
    if wx and wy:
        if tx.is_float or ty.is_float:
            return FLOAT32
        return tx if tx.bits >= ty.bits else ty
    if wx or wy:
        weak, tw, ts = (x, tx, ty) if wx else (y, ty, tx)
        if tw.is_float:
            return ts if ts.is_float else FLOAT32
        if ts is BOOL:
            return tw
        if not ts.is_float and not ts.low <= weak <= ts.high:
            if ts is INT32 and (y if wx else x).__class__ is INT32.np:
                return INT64  # a constant, which is an int32 for want of anything wider
            raise Fault("literal-overflow", f"the literal {int(weak)} does not fit into {ts.name}; "
                                            "cast the other operand to a wider type")
        return ts
    t = dtypes.promote(tx, ty)
    if t is None:
        raise dtypes.no_common(tx, ty)
    return t


def broadcast(*values):
    """The shape of tensors (and scalars) combined."""
    shape = ()
    shapes = [shape_of(v) for v in values]
    for s in shapes:
        if s == shape:
            continue
        if len(s) > len(shape):
            shape = (1,) * (len(s) - len(shape)) + shape
        out = list(shape)
        for i in range(1, len(s) + 1):
            have, add = out[-i], s[-i]
            if add == have or add == 1 or add is None and have != 1:
                continue
            if have != 1 and have is not None:
                named = " and ".join(shape_text(shape_of(v)) for v in values if is_tensor(v))
                raise Fault("shape-mismatch", f"the shapes {named} cannot be broadcast together")
            out[-i] = add
        shape = tuple(out)
    return shape


def unknown(*values):
    return any(v.__class__ is Unknown for v in values)


def result_unknown(t, *values):
    if any(is_tensor(v) for v in values):
        return Unknown(t, broadcast(*values))
    return Unknown(t, extent=t.is_int and
                   all(v.__class__ is not Unknown or v.extent for v in values))


def as_array(x, t):
    """The elements of a scalar or tensor in type `t`, for arithmetic."""
    if x.__class__ is Tensor:
        return dtypes.array(x.read(), x.t, t)
    v = dtypes.scalar(x, t)
    return v.value if v.__class__ is BFloat16 else v


def from_array(a, t):
    """Elements in arithmetic's type, not yet rounded to bfloat16, as a new tensor."""
    a = np.asarray(a)
    if t is BFLOAT16:
        bits = dtypes.bfloat16_bits(a)
        return Tensor(t, bits, dtypes.from_bfloat16_bits(bits))
    return Tensor(t, np.asarray(a, t.np))


# ---- binary operators ----

def _floor_divide(x, y):
    return np.floor_divide(x, y)


def _min(x, y):
    return np.minimum(x, y)


def _max(x, y):
    return np.maximum(x, y)


def _shift_amount(x, y):
    # Beyond the width, or negative, counts as past the width.
    bits = np.asarray(x).dtype.itemsize * 8
    wide = np.asarray(y).astype(np.uint64) if np.asarray(y).dtype.kind == "u" else \
        np.asarray(y).astype(np.int64)
    return (wide < 0) | (wide >= bits), bits


def _shl(x, y):
    past, _ = _shift_amount(x, y)
    return np.where(past, x.dtype.type(0), np.left_shift(x, np.where(past, y.dtype.type(0), y)))


def _shr(x, y):
    past, bits = _shift_amount(x, y)
    last = np.right_shift(x, x.dtype.type(bits - 1)) if x.dtype.kind == "i" else x.dtype.type(0)
    return np.where(past, last, np.right_shift(x, np.where(past, y.dtype.type(0), y)))


_ARRAY = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide,
          "//": _floor_divide, "%": np.remainder, "&": np.bitwise_and, "|": np.bitwise_or,
          "^": np.bitwise_xor, "<<": _shl, ">>": _shr, "min": _min, "max": _max}


def _pow_array(x, y, t):
    if not t.is_float:
        if np.any(np.asarray(y) < 0):
            raise Fault("negative-power", "an integer to a negative power; cast one to a float")
        return np.power(x, y)
    if t is FLOAT16:  # rounded once
        wide = _pow_array(np.asarray(x, np.float32), np.asarray(y, np.float32), FLOAT32)
        return wide.astype(np.float16)
    if np.ndim(y) == 0:
        n = float(y)
        if n == 1:
            return x + x.dtype.type(0) if np.ndim(x) else x
        if n == 2:
            return x * x
        if n == 3:
            return x * x * x
        if n == 0.5:
            return np.sqrt(x)
    return np.power(x, y)


def _weak_binary(op, x, y):
    """Two literals: Python's arithmetic, bounded by what 64 bits hold."""
    try:
        if op == "min" or op == "max":
            if x != x or y != y:
                return float("nan")
            return min(x, y) if op == "min" else max(x, y)
        if op in BITWISE and (isinstance(x, float) or isinstance(y, float)):
            raise Fault("type-mismatch", f"'{op}' needs integers, not float32")
        if op == "<<" and y >= 64 and x:
            raise Fault("integer-too-large", "the shifted value does not fit into 64 bits")
        if op == "**" and not isinstance(x, float) and not isinstance(y, float) and y >= 0 and \
                abs(x) > 1 and y > 64:
            raise Fault("integer-too-large", "the power does not fit into 64 bits")
        r = _PYTHON[op](x, y)
    except ZeroDivisionError:
        if op == "**":
            raise Fault("division-by-zero", "zero to a negative power") from None
        whole = not (isinstance(x, float) or isinstance(y, float)) and op != "/"
        raise Fault("division-by-zero", "integer division or modulo by zero" if whole else
                    "division by zero") from None
    except OverflowError:
        return float("inf")
    except ValueError:
        raise Fault("negative-shift", "negative shift count") from None
    if isinstance(r, complex):
        return float("nan")
    if isinstance(r, int) and not -2**63 <= r < 2**64:
        raise Fault("integer-too-large", f"the constant {r} does not fit into 64 bits")
    return r


_PYTHON = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
           "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
           "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
           "^": operator.xor}


def binary(op, x, y):
    """x op y by the language's rules; `op` as Python spells it, or "min", "max"."""
    if is_sequence(x) or is_sequence(y):
        return _sequence(op, x, y)
    if isinstance(x, str) and isinstance(y, str) and op == "+":
        return x + y
    if not is_number(x) or not is_number(y):
        bad = y if is_number(x) else x
        raise Fault("type-mismatch", f"'{op}' needs numbers or tensors, and one operand is "
                                     f"{describe(bad)}")
    if is_weak(x) and is_weak(y):
        return _weak_binary(op, x, y)
    t = common_type(x, y)
    tensors = is_tensor(x) or is_tensor(y)
    if t is BOOL and op not in BITWISE and op not in ("min", "max"):
        if tensors and op in ("+", "*"):
            pass  # NumPy: or, and
        elif tensors and op == "-":
            raise Fault("bool-arithmetic", "bool tensors cannot be subtracted; use ^, or cast to an "
                                           "integer type")
        else:
            t = INT32
    if op in BITWISE and t.is_float:
        bad = x if dtype_of(x).is_float else y
        raise Fault("type-mismatch", f"'{op}' needs integers, not {dtype_of(bad).name}")
    if op in ("<<", ">>"):
        if t is BOOL:
            t = INT32
        if y.__class__ is not Unknown and is_scalar(y) and y < 0:
            raise Fault("negative-shift", "negative shift count")
    if op == "/" and not t.is_float:
        t = FLOAT32
    if op == "**" and not t.is_float and is_weak(y) and y < 0:
        t = FLOAT32
    whole = op in ("//", "%") and not t.is_float
    if whole and y.__class__ is not Unknown and is_scalar(y) and not y:
        raise Fault("division-by-zero", "integer division or modulo by zero")
    if unknown(x, y):
        return result_unknown(t, x, y)
    if not tensors:
        return _scalar_binary(op, dtypes.scalar(x, t), dtypes.scalar(y, t), t)
    broadcast(x, y)
    a, b = as_array(x, t), as_array(y, t)
    if op == "**":
        return from_array(_pow_array(a, b, t), t)
    if whole:
        return from_array(_whole_division(op, a, b), t)
    return from_array(_ARRAY[op](a, b), t)


def _whole_division(op, a, b):
    # By zero gives 0 in a tensor, as NumPy does.
    return _ARRAY[op](a, b)


def _scalar_binary(op, x, y, t):
    if t is BFLOAT16:
        x, y = x.value, y.value
        r = _pow_array(x, y, t) if op == "**" else _ARRAY[op](x, y)
        return dtypes.to_bfloat16(np.float32(r))
    if t.is_float:
        return t.np(_pow_array(x, y, t) if op == "**" else _ARRAY[op](x, y))
    if t is BOOL:
        return np.bool_(_ARRAY[op](x, y))
    a, b = int(x), int(y)
    if op == "<<":
        return dtypes.wrap(a << b if 0 <= b < t.bits else 0, t)
    if op == ">>":
        return dtypes.wrap(a >> b if 0 <= b < t.bits else (-1 if a < 0 else 0), t)
    if op == "**":
        if b < 0:
            raise Fault("negative-power", "an integer to a negative power; cast one to a float")
        return dtypes.wrap(pow(a, b, 1 << t.bits), t)
    if op == "min" or op == "max":
        return x if (a <= b) == (op == "min") else y
    return dtypes.wrap(_PYTHON[op](a, b), t)


def _sequence(op, x, y):
    if is_sequence(x) and is_sequence(y) and op == "+":
        return x + type(x)(y)
    if op == "*":
        seq, times = (x, y) if is_sequence(x) else (y, x)
        if is_scalar(times) and not isinstance(times, Unknown):
            return seq * int(times)
    bad = x if is_sequence(x) else y
    raise Fault("type-mismatch", f"'{op}' needs numbers or tensors, and one operand is "
                                 f"{describe(bad)}")


_NATIVE = frozenset(t.np for t in dtypes.ALL if t not in (BOOL, BFLOAT16))
_NATIVE_FLOAT = frozenset((np.float16, np.float32, np.float64))


# A literal beside a scalar of the type takes the type where it lies in these bounds.
_BOUNDS = {t.np: (t.low, t.high) for t in dtypes.ALL if t.is_int}
_BOUNDS.update({t: (-2**63, 2**64) for t in _NATIVE_FLOAT})
_INTEGERS = {t.np: t for t in dtypes.ALL if t.is_int}
# Integers are compared as they are: with a float of any type, only these are the same in it.
_EXACT = {**_BOUNDS, **{t: (-2**8, 2**8) for t in _NATIVE_FLOAT}}


def _fast(op, function, native, general, bounds=_BOUNDS):
    """general(op, x, y) with the common cases first: two scalars of one type, or a literal that
    fits."""
    def operation(x, y):
        c = x.__class__
        if c in native:
            d = y.__class__
            if d is c:
                return function(x, y)
            if d is int:
                low, high = bounds[c]
                if low <= y <= high:
                    return function(x, c(y))
            elif d is float and c in _NATIVE_FLOAT:
                return function(x, c(y))
        return general(op, x, y)
    operation.__name__ = operation.op = op
    return operation


def _fast_whole(op, function):
    """// and % of integers, through Python's."""
    def operation(x, y):
        t = _INTEGERS.get(x.__class__)
        if t is not None:
            d = y.__class__
            if (d is x.__class__ or d is int and t.low <= y <= t.high) and y != 0:
                return dtypes.wrap(function(int(x), int(y)), t)
        return binary(op, x, y)
    operation.__name__ = operation.op = op
    return operation


def _fast_extremum(op):
    """min and max; what is equal, or NaN, goes the long way."""
    def operation(x, y):
        if x.__class__ is y.__class__ and x.__class__ in _NATIVE:
            if x < y:
                return x if op == "min" else y
            if x > y:
                return y if op == "min" else x
        return binary(op, x, y)
    operation.__name__ = operation.op = op
    return operation


def _slow(op):
    def operation(x, y):
        return binary(op, x, y)
    operation.__name__ = operation.op = op
    return operation


add = _fast("+", operator.add, _NATIVE, binary)
subtract = _fast("-", operator.sub, _NATIVE, binary)
multiply = _fast("*", operator.mul, _NATIVE, binary)
divide = _fast("/", operator.truediv, _NATIVE_FLOAT, binary)
floor_divide, modulo = _fast_whole("//", operator.floordiv), _fast_whole("%", operator.mod)
power = _slow("**")
shift_left, shift_right = _slow("<<"), _slow(">>")
bit_and, bit_or, bit_xor = _slow("&"), _slow("|"), _slow("^")
minimum, maximum = _fast_extremum("min"), _fast_extremum("max")

BY_SYMBOL = {"+": add, "-": subtract, "*": multiply, "/": divide, "//": floor_divide, "%": modulo,
             "**": power, "<<": shift_left, ">>": shift_right, "&": bit_and, "|": bit_or,
             "^": bit_xor}


def multiply_wide(x, y):
    """A product inside a sum: 16-bit floats are multiplied in float32."""
    if is_number(x) and is_number(y) and dtype_of(x).is_16 and dtype_of(y).is_16 and \
            not is_weak(x) and not is_weak(y):
        x, y = cast(x, FLOAT32), cast(y, FLOAT32)
    return multiply(x, y)


# ---- comparison ----

_COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
            ">": operator.gt, ">=": operator.ge}


def compare(op, x, y):
    if isinstance(x, dtypes.DType) and isinstance(y, dtypes.DType) and op in ("==", "!="):
        return (x is y) == (op == "==")
    if isinstance(x, str) and isinstance(y, str):
        return _COMPARE[op](*_versions(x, y))
    if is_sequence(x) and is_sequence(y) and op in ("==", "!="):
        same = len(x) == len(y)
        for a, b in zip(x, y) if same else ():
            same = bit_and(same, compare("==", a, b))
        return same if op == "==" else logical_not(same)
    if (x is None or y is None) and op in ("==", "!="):
        return (x is None and y is None) == (op == "==")
    if not is_number(x) or not is_number(y):
        raise Fault("type-mismatch", f"cannot compare {describe(x)} with {describe(y)}")
    if is_weak(x) and is_weak(y):
        return _COMPARE[op](x, y)
    tx, ty = dtype_of(x), dtype_of(y)
    if is_weak(x) != is_weak(y):
        # A literal outside the other's range decides the comparison.
        weak, t = (x, ty) if is_weak(x) else (y, tx)
        if not isinstance(weak, float) and t.is_int and not t.low <= weak <= t.high:
            if unknown(x, y):
                return result_unknown(BOOL, x, y)
            end = t.high if weak > t.high else t.low
            answer = _COMPARE[op](weak, end) if is_weak(x) else _COMPARE[op](end, weak)
            return Tensor(BOOL, np.full(broadcast(x, y), answer)) \
                if is_tensor(x) or is_tensor(y) else np.bool_(answer)
    if tx.is_float != ty.is_float:
        whole, other = (y, x) if tx.is_float else (x, y)
        if not (is_weak(whole) and is_tensor(other)):
            return _compare_mixed(op, x, y)
    t = common_type(x, y)
    if unknown(x, y):
        return result_unknown(BOOL, x, y)
    if not is_tensor(x) and not is_tensor(y):
        return np.bool_(_COMPARE[op](as_array(x, t), as_array(y, t)))
    broadcast(x, y)
    return Tensor(BOOL, np.asarray(_COMPARE[op](as_array(x, t), as_array(y, t)), np.bool_))


def _compare_mixed(op, x, y):
    """An integer with a float, as the numbers that they are."""
    if unknown(x, y):
        return result_unknown(BOOL, x, y)

    def exact(v):
        if is_weak(v):
            return v
        t = dtype_of(v)
        a = np.asarray(as_array(v, FLOAT32 if t.is_float and t.bits == 16 else t))
        return a.astype(np.float64 if t.bits < 64 or t.is_float else object)
    x_array, y_array = exact(x), exact(y)
    if any(isinstance(a, np.ndarray) and a.dtype == object for a in (x_array, y_array)):
        x_array, y_array = (np.asarray(a, object) for a in (x_array, y_array))
    broadcast(x, y)
    out = np.asarray(_COMPARE[op](x_array, y_array), np.bool_)
    return Tensor(BOOL, out) if is_tensor(x) or is_tensor(y) else np.bool_(out)


def _versions(x, y):
    """asc.__version__ and what it is compared with, by their numbers."""
    def parts(text):
        try:
            return [int(p) for p in text.split(".")]
        except ValueError:
            return None
    a, b = parts(x), parts(y)
    if not a or not b:
        return x, y
    n = max(len(a), len(b))
    return a + [0] * (n - len(a)), b + [0] * (n - len(b))


COMPARISONS = {op: _fast(op, function, _NATIVE, compare, _EXACT) for op, function in _COMPARE.items()}


def identical(x, y):
    types = isinstance(x, dtypes.DType) and isinstance(y, dtypes.DType)
    if x is not None and y is not None and not types:
        raise Fault("unsupported-is", "'is' compares only with None in kernels; numbers are compared "
                                      "by ==")
    return x is y


def not_identical(x, y):
    return not identical(x, y)


def contains(x, seq):
    if not is_sequence(seq):
        raise Fault("unsupported-in", "'in' looks into tuples and lists only; for a tensor use "
                                      "asc.any(x == v)")
    found = False
    for item in seq:
        found = bit_or(found, compare("==", x, item))
    return found


def not_contains(x, seq):
    return logical_not(contains(x, seq))


# ---- unary operators, casts ----

def logical_not(x):
    from .values import truth
    t = truth(x)
    if t.__class__ is Unknown:
        return t
    return not t if is_weak(x) or not is_scalar(x) else np.bool_(not t)


def _number(x):
    if not is_number(x):
        raise Fault("type-mismatch", "the operand must be a number or tensor, and is "
                                     f"{describe(x)}")


def negate(x):
    _number(x)
    if is_weak(x):
        return -x
    t = dtype_of(x)
    if t is BOOL:
        if is_tensor(x):
            raise Fault("bool-arithmetic", "bool tensors cannot be negated; use ~")
        t = INT32
    if unknown(x):
        return Unknown(t, x.shape, extent=x.extent)
    if x.__class__ is Tensor:
        return from_array(np.negative(as_array(x, t)), t)
    if x.__class__ is BFloat16:
        return BFloat16(-x.value)
    return t.np(-x) if t.is_float else dtypes.wrap(-int(x), t)


def plus(x):
    _number(x)
    if is_weak(x):
        return +x
    if is_tensor(x):
        return cast(x, x.t)
    return cast(x, INT32) if dtype_of(x) is BOOL else x


def invert(x):
    _number(x)
    t = dtype_of(x)
    if t.is_float:
        raise Fault("type-mismatch", f"'~' needs integers or bools, not {t.name}")
    if t is BOOL and not is_tensor(x):
        raise Fault("bool-arithmetic", "'~' of a bool is an integer in Python (~True is -2) and a "
                                       "bool in NumPy; write 'not', or cast it to an integer type")
    if is_weak(x):
        return ~x
    if unknown(x):
        return Unknown(t, x.shape)
    if x.__class__ is Tensor:
        return Tensor(t, np.invert(x.a))
    return t.np(~dtypes.scalar(x, t))


def cast(x, t):
    """x as type `t`, explicitly: floats lose their fraction and saturate, integers wrap."""
    if x.__class__ is Unknown:
        return Unknown(t, x.shape, extent=x.extent and t.is_int)
    if x.__class__ is Tensor:
        return from_array(np.array(dtypes.array(x.read(), x.t, t)), t)
    if not is_scalar(x):
        raise Fault("type-mismatch", f"cannot cast {describe(x)} to {t.name}")
    if is_weak(x) and isinstance(x, float) and t.is_int and \
            not (abs(x) < 1e30 and t.low <= int(x) <= t.high):
        raise Fault("cast-overflow", f"the constant does not fit into {t.name}")
    return dtypes.scalar(x, t)


def check_store(x, t, into):
    """Refuses what may not be stored into an element of type `t` without a cast."""
    if not is_number(x):
        raise Fault("type-mismatch", f"cannot store {describe(x)} into {into} of {t.name}")
    have = dtype_of(x)
    if have.is_float and not t.is_float:
        raise Fault("float-to-int", f"storing {describe(x)} into {into} of {t.name} would drop its "
                                    f"fraction; cast it: asc.{t.name}(...)")
    if is_weak(x) and t.is_int and not t.low <= x <= t.high:
        raise Fault("literal-overflow", f"the literal {int(x)} does not fit into {t.name}")


def cast_for_store(x, t, into):
    check_store(x, t, into)
    return cast(x, t)


def select(condition, x, y):
    """x where the condition holds, else y."""
    from .values import truth
    for v in (condition, x, y):
        if not is_number(v):
            raise Fault("type-mismatch", "an argument of where must be a number or a tensor, not "
                                         f"{describe(v)}")
    t = common_type(x, y)
    if unknown(condition, x, y):
        return result_unknown(t, condition, x, y)
    if not is_tensor(condition):
        chosen = x if truth(condition) else y
        if is_tensor(x) or is_tensor(y):
            shape = broadcast(x, y)
            return from_array(np.broadcast_to(as_array(chosen, t), shape).copy(), t)
        return dtypes.scalar(chosen, t)
    broadcast(condition, x, y)
    return from_array(np.where(as_array(condition, BOOL), as_array(x, t), as_array(y, t)), t)


# ---- index arithmetic ----

def index64(x):
    """An integer of an index expression: 64 bits wide."""
    c = x.__class__
    if c is np.int64 or c is int:
        return x
    if c in SHORT_INTEGERS:
        return np.int64(x)
    if c is Unknown and x.shape is None and x.t.is_int and x.t.bits < 64:
        return Unknown(INT64, extent=x.extent)
    return x


SHORT_INTEGERS = frozenset(t.np for t in dtypes.ALL if t.is_int and t.bits < 64)
