"""Reductions over axes. 16-bit floats are reduced in float32 and rounded once."""

import numpy as np

from .. import dtypes, ops
from ..dtypes import BOOL, FLOAT32, INT64, UINT64
from ..values import Tensor
from .table import (ARRAYS, ASC, BUILTIN, METHOD, NUMPY, Fault, Unknown, axes_of, axis_of,
                    constant_bool, dtype_argument, dtype_of, entry, expect_tensor, float_type,
                    is_number, is_scalar, is_tensor, known, result, shape_of, size_of,
                    unknown_result, wide)

REACH = (ASC, NUMPY, METHOD)


def sum_type(t):
    """NumPy sums small integers in 64 bits."""
    if t is BOOL:
        return INT64
    if t.is_int:
        return UINT64 if t.kind == "u" else INT64
    return t


def _reduced(shape, axes, keepdims):
    return tuple(1 if i in axes else d for i, d in enumerate(shape) if keepdims or i not in axes)


def _prepare(name, x, axis, keepdims):
    expect_tensor(x, f"the argument of {name}")
    axes = axes_of(axis, len(shape_of(x)))
    keep = constant_bool(keepdims, "keepdims")
    return axes, keep, _reduced(shape_of(x), axes, keep)


def _run(function, x, t, axes, keep, shape):
    """function over axes, in the wide type of t, as a value of type t."""
    w = wide(t)
    a = dtypes.array(x.read(), x.t, w)
    with np.errstate(all="ignore"):
        r = function(a, axis=tuple(axes), keepdims=keep)
    return result(t, dtypes.array(np.asarray(r, w.np), w, t), shape)


def fold(combine, a, axis, keepdims):
    """`combine` over axes, in NumPy's order. Drivers take others, which tests try here."""
    return combine.reduce(a, axis=axis, keepdims=keepdims, dtype=a.dtype)


def sum_in_order(a, axis, keepdims):
    return fold(np.add, a, axis, keepdims)


def product_in_order(a, axis, keepdims):
    return fold(np.multiply, a, axis, keepdims)


def _arithmetic(name, function):
    def operation(x, axis=None, keepdims=False, dtype=None):
        axes, keep, shape = _prepare(name, x, axis, keepdims)
        t = sum_type(dtype_of(x)) if dtype is None else dtype_argument(dtype)
        if not known(x):
            return unknown_result(t, shape)
        return _run(function, x, t, axes, keep, shape)
    return operation


sum_ = _arithmetic("sum", sum_in_order)
prod = _arithmetic("prod", product_in_order)
entry(REACH, "sum")(sum_)
entry(REACH, "prod")(prod)


def _extremum(name, function, combine):
    def operation(x, axis=None, keepdims=False):
        if is_scalar(x) and is_number(axis):
            return combine(x, axis)
        expect_tensor(x, f"the argument of {name}")
        if is_tensor(axis):
            raise Fault("type-mismatch", f"the second argument of {name} is an axis; asc.{name}imum "
                                         "compares two tensors")
        axes, keep, shape = _prepare(name, x, axis, keepdims)
        if 0 in [shape_of(x)[i] for i in axes]:
            raise Fault("zero-size", f"{name} of no elements has no value")
        if not known(x):
            return unknown_result(x.t, shape)
        return _run(function, x, x.t, axes, keep, shape)
    return operation


amax = _extremum("max", lambda a, axis, keepdims: np.maximum.reduce(a, axis=axis, keepdims=keepdims),
                 ops.maximum)
amin = _extremum("min", lambda a, axis, keepdims: np.minimum.reduce(a, axis=axis, keepdims=keepdims),
                 ops.minimum)
entry(REACH, "max")(amax)
entry(REACH, "min")(amin)
entry(ARRAYS, "amax")(amax)
entry(ARRAYS, "amin")(amin)


def _logical(name, function):
    def operation(x, axis=None, keepdims=False):
        axes, keep, shape = _prepare(name, x, axis, keepdims)
        if not known(x):
            return unknown_result(BOOL, shape)
        r = function(ops.as_array(x, BOOL), axis=tuple(axes), keepdims=keep)
        return result(BOOL, np.asarray(r), shape)
    return operation


entry(REACH + (BUILTIN,), "any")(_logical("any", np.any))
entry(REACH + (BUILTIN,), "all")(_logical("all", np.all))


@entry(ARRAYS, "count_nonzero")
def count_nonzero(x, axis=None, keepdims=False):
    axes, keep, shape = _prepare("count_nonzero", x, axis, keepdims)
    if not known(x):
        return unknown_result(INT64, shape)
    r = np.sum(ops.as_array(x, BOOL), axis=tuple(axes), keepdims=keep, dtype=np.int64)
    return result(INT64, np.asarray(r), shape)


def moments(x, axes, keep, ddof, what):
    """Mean, variance or deviation, in the wide type."""
    w = wide(float_type(x))
    a = dtypes.array(x.read(), x.t, w)
    n = size_of([a.shape[i] for i in axes])
    axes = tuple(axes)
    mean = sum_in_order(a, axes, True) / w.np(n)
    if what == "mean":
        return mean if keep else np.squeeze(mean, axes)
    d = a - mean
    r = sum_in_order(d * d, axes, keep) / w.np(max(n - ddof, 0))  # as NumPy
    return np.sqrt(r) if what == "std" else r


def _moment(name, x, axis, keepdims, ddof=0):
    axes, keep, shape = _prepare(name, x, axis, keepdims)
    t = float_type(x)
    if not known(ddof):
        raise Fault("not-static", "ddof must be known at compile time")
    if not known(x):
        return unknown_result(t, shape)
    r = moments(x, axes, keep, float(ddof or 0), name)
    return result(t, dtypes.array(np.asarray(r, wide(t).np), wide(t), t), shape)


@entry(REACH, "mean")
def mean(x, axis=None, keepdims=False):
    return _moment("mean", x, axis, keepdims)


@entry(REACH, "var")
def var(x, axis=None, keepdims=False, ddof=0):
    return _moment("var", x, axis, keepdims, ddof)


@entry(REACH, "std")
def std(x, axis=None, keepdims=False, ddof=0):
    return _moment("std", x, axis, keepdims, ddof)


def _arg(name, function):
    def operation(x, axis=None, keepdims=False):
        expect_tensor(x, f"the argument of {name}")
        rank = len(shape_of(x))
        axes = list(range(rank)) if axis is None else [axis_of(axis, rank)]
        keep = constant_bool(keepdims, "keepdims")
        shape = _reduced(shape_of(x), axes, keep)
        if 0 in [shape_of(x)[i] for i in axes]:
            raise Fault("zero-size", f"{name} of no elements has no value")
        if not known(x):
            return unknown_result(INT64, shape)
        a = x.read()
        r = function(a.reshape(-1) if axis is None else a, axis=0 if axis is None else axes[0])
        return result(INT64, np.asarray(r, np.int64).reshape(shape), shape)
    return operation


# NumPy's take the first NaN, as here.
entry(REACH, "argmax")(_arg("argmax", np.argmax))
entry(REACH, "argmin")(_arg("argmin", np.argmin))


def _cumulative(name, function):
    def operation(x, axis=None):
        expect_tensor(x, f"the argument of {name}")
        shape = shape_of(x)
        t = sum_type(dtype_of(x))
        axis_ = None if axis is None else axis_of(axis, len(shape))
        if not known(x):
            return Unknown(t, (size_of(shape),) if axis is None else shape)
        w = wide(t)
        a = dtypes.array(x.read(), x.t, w)
        r = function(a.reshape(-1) if axis is None else a, axis=axis_ or 0, dtype=w.np)
        return ops.from_array(dtypes.array(r, w, t), t)
    return operation


entry(REACH, "cumsum")(_cumulative("cumsum", np.cumsum))
entry(REACH, "cumprod")(_cumulative("cumprod", np.cumprod))
