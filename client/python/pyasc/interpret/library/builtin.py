"""Python's builtins, ranges, and what is checked rather than computed."""

import numpy as np

from .. import dtypes, ops
from ..dtypes import BOOL, FLOAT32, FLOAT64, INT64
from ..values import Range, truth
from . import elementwise, reduction
from .table import (ASC, BUILTIN, MATH, METHOD, Fault, Unknown, constant_int, describe, dtype_of,
                    entry, expect_number, is_scalar, is_sequence, is_tensor, is_weak, known,
                    shape_of)


def _index(v, name, what):
    if not is_scalar(v) or not dtype_of(v).is_int:
        more = "; use //, or int()" if is_scalar(v) and dtype_of(v).is_float else ""
        raise Fault("type-mismatch", f"the {what} of {name}() must be integers, and one is "
                                     f"{describe(v)}{more}")


def make_range(kind, bounds):
    if not 1 <= len(bounds) <= 3:
        raise Fault("argument-count", f"{kind}() takes (stop), (start, stop) or (start, stop, step)")
    for v in bounds:
        _index(v, kind, "bounds")
    parts = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    step = parts[2]
    if step.__class__ is not Unknown and int(step) == 0:
        raise Fault("bad-range", f"the step of {kind}() must not be zero")
    if kind == "parallel_for" and (step.__class__ is Unknown or step <= 0):
        raise Fault("bad-range", "the step of asc.parallel_for must be a positive constant")
    return Range(kind, parts)


@entry((BUILTIN, ASC), "range")
def range_(*bounds, unroll=None):
    if unroll is not None and constant_int(unroll, "unroll") < 1:
        raise Fault("bad-range", "unroll must be at least 1")
    return make_range("range", bounds)


@entry(ASC, "parallel_for")
def parallel_for(*bounds):
    return make_range("parallel_for", bounds)


@entry(ASC, "static_range")
def static_range(*bounds):
    return make_range("static_range", bounds)


@entry(ASC, "parallel_for_grid")
def parallel_for_grid(*extents):
    if len(extents) == 1 and is_sequence(extents[0]):
        extents = tuple(extents[0])
    if not extents:
        raise Fault("argument-count", "parallel_for_grid() needs at least one extent")
    for v in extents:
        _index(v, "parallel_for_grid", "extents")
    return Range("grid", extents)


def _extremum(op, name, whole):
    def operation(*values):
        if len(values) == 1 and is_tensor(values[0]):
            return whole(values[0])
        if len(values) == 1 and is_sequence(values[0]):
            values = tuple(values[0])
        if not values:
            raise Fault("argument-count", f"{name}() needs at least one value")
        v = values[0]
        for x in values[1:]:
            v = op(v, x)
        return v
    return operation


entry(BUILTIN, "min")(_extremum(ops.minimum, "min", reduction.amin))
entry(BUILTIN, "max")(_extremum(ops.maximum, "max", reduction.amax))


@entry(BUILTIN, "sum")
def sum_(values, start=0):
    if is_tensor(values):
        return reduction.sum_(values, 0)
    if not is_sequence(values):
        raise Fault("type-mismatch", f"sum() needs a tensor, tuple or list, not {describe(values)}")
    v = start
    for x in values:
        v = ops.add(v, x)
    return v


@entry(BUILTIN, "len")
def len_(x):
    if is_sequence(x):
        return len(x)
    if is_tensor(x) and shape_of(x):
        n = shape_of(x)[0]
        return Unknown(INT64, extent=True) if n is None else n
    raise Fault("type-mismatch", f"{describe(x)} has no length")


def _weak_int(x):
    if not -2.0**63 <= x < 2.0**63:  # NaN too
        raise Fault("cast-overflow", "the number does not fit into an integer")
    return int(x)


@entry(BUILTIN, "int")
def int_(x):
    if is_tensor(x):
        raise Fault("type-mismatch", "int() takes a scalar; cast a tensor with asc.int32(x)")
    if not is_scalar(x):
        raise Fault("type-mismatch", f"int() needs a number, not {describe(x)}")
    if is_weak(x):
        return _weak_int(x) if isinstance(x, float) else int(x)
    return ops.cast(x, INT64)


@entry(BUILTIN, "float")
def float_(x):
    if isinstance(x, str):
        try:
            return float(x)
        except ValueError:
            raise Fault("type-mismatch", f"float() cannot read '{x}'") from None
    if not is_scalar(x):
        more = "; cast a tensor with asc.float32(x)" if is_tensor(x) else ""
        raise Fault("type-mismatch", f"float() needs a number, not {describe(x)}{more}")
    if is_weak(x):
        return float(x)
    return ops.cast(x, FLOAT64 if dtype_of(x) is FLOAT64 else FLOAT32)


@entry(BUILTIN, "bool")
def bool_(x):
    t = truth(x)
    return t if t.__class__ is Unknown or is_weak(x) or not is_scalar(x) else np.bool_(t)


def _to_int64(x, function):
    """A rounded scalar, as an int64."""
    if is_weak(x):
        return _weak_int(float(function(x)))
    if not known(x):
        return Unknown(INT64)
    return ops.cast(elementwise.apply_float("round", function, x), INT64)


@entry(BUILTIN, "round", folds="literals")
def round_(x, digits=None):
    if digits is not None:
        raise Fault("unsupported-argument", "round() to digits is not supported; scale, round and "
                                            "scale back")
    if is_tensor(x):
        return elementwise.apply_float("round", np.rint, x) if dtype_of(x).is_float else \
            ops.cast(x, x.t)
    if not is_scalar(x):
        raise Fault("type-mismatch", f"round() needs a number, not {describe(x)}")
    return _to_int64(x, np.rint) if dtype_of(x).is_float else x


def _math(name, function):
    def operation(x):
        expect_number(x, f"the argument of {name}")
        if is_tensor(x):
            raise Fault("type-mismatch", f"math.{name} takes a scalar; use asc.{name} for tensors")
        return _to_int64(x, function) if dtype_of(x).is_float else x
    return operation


for _name, _function in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc)):
    entry(MATH, _name, folds="literals")(_math(_name, _function))


@entry(BUILTIN, "divmod")
def divmod_(x, y):
    return ops.floor_divide(x, y), ops.modulo(x, y)


@entry(ASC, "cdiv")
def cdiv(x, y):
    return ops.negate(ops.floor_divide(ops.negate(x), y))


@entry(BUILTIN, "enumerate")
def enumerate_(values):
    if not is_sequence(values):
        raise Fault("not-static", "enumerate() runs over tuples and lists; for a tensor use "
                                  "range(len(x))")
    return tuple((i, v) for i, v in enumerate(values))


@entry(BUILTIN, "zip")
def zip_(*values):
    if not all(is_sequence(v) for v in values):
        raise Fault("not-static", "zip() runs over tuples and lists; for tensors use an index")
    return tuple(zip(*values))


@entry(BUILTIN, "reversed")
def reversed_(values):
    if is_sequence(values):
        return tuple(reversed(values))
    if isinstance(values, Range) and values.kind != "grid":
        start, stop, step = values.parts
        if not isinstance(step, Unknown) and int(step) == 1:
            start, stop = (p if is_weak(p) else ops.cast(p, INT64) for p in (start, stop))
            return Range(values.kind, (ops.subtract(stop, 1), ops.subtract(start, 1), -1))
    raise Fault("unsupported-reversed", "reversed() takes a tuple or a range of step 1; give the "
                                        "range a negative step")


def _sequence(kind):
    def operation(values=None):
        if values is None:
            return kind()
        if is_sequence(values):
            return kind(values)
        if isinstance(values, Range) and values.kind != "grid" and values.known():
            return kind(range(*(int(p) for p in values.parts)))
        raise Fault("not-static", "only tuples, lists and constant ranges become a tuple or list")
    return operation


entry(BUILTIN, "tuple")(_sequence(tuple))
entry(BUILTIN, "list")(_sequence(list))


@entry(ASC, "static_assert")
def static_assert(condition, message=None):
    c = truth(condition)
    if c.__class__ is Unknown:
        raise Fault("not-static", "the condition must be known at compile time")
    if not c:
        raise Fault("assertion-failed", "static assertion failed"
                    + (f": {message}" if isinstance(message, str) else ""))


@entry(ASC, "dims")
def dims(names):
    raise Fault("unsupported-dims", "asc.dims belongs at module level, where it names the symbolic "
                                    "axes of annotations")
