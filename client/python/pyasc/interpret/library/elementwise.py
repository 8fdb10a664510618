"""Functions of each element, and the operators by name."""

import math

import numpy as np

from .. import dtypes, ops
from ..dtypes import BOOL, FLOAT32
from .table import (ALL, ARRAYS, ASC, BUILTIN, MATH, METHOD, NUMPY, Fault, Unknown, describe,
                    dtype_of, entry, expect_number, float_type, is_scalar, is_tensor, is_weak,
                    known, wide)
from ..values import Tensor


def _vector(function):
    made = np.vectorize(function, otypes=[np.float64])
    return lambda x: made(np.asarray(x, np.float64)).astype(np.asarray(x).dtype) \
        if np.size(x) else np.asarray(x)


_erf, _erfc = _vector(math.erf), _vector(math.erfc)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _gelu(x):
    return x * 0.5 * (1 + _erf(x * np.asarray(math.sqrt(0.5), np.asarray(x).dtype)))


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def apply_float(name, function, x):
    """A function of floats, in float32 for 16-bit types."""
    expect_number(x, f"the argument of {name}")
    if is_weak(x):
        r = float(function(np.float64(x)))
        return r
    t = float_type(x)
    if not known(x):
        return Unknown(t, x.shape)
    w = wide(t)
    r = function(ops.as_array(x, w))
    if is_scalar(x):
        return dtypes.scalar(w.np(r), t)
    return ops.from_array(dtypes.array(np.asarray(r, w.np), w, t), t)


def _float_functions():
    table = [
        (ALL, "exp", np.exp), (ALL, "exp2", np.exp2), (ALL, "expm1", np.expm1),
        (ALL, "log", np.log), (ALL, "log2", np.log2), (ALL, "log10", np.log10),
        (ALL, "log1p", np.log1p), (ALL, "sqrt", np.sqrt), (ASC, "rsqrt", lambda x: 1 / np.sqrt(x)),
        (ALL, "cbrt", np.cbrt), (ARRAYS, "reciprocal", lambda x: 1 / x), (ALL, "sin", np.sin),
        (ALL, "cos", np.cos), (ALL, "tan", np.tan), (ALL, "asin", np.arcsin),
        (ALL, "acos", np.arccos), (ALL, "atan", np.arctan), (NUMPY, "arcsin", np.arcsin),
        (NUMPY, "arccos", np.arccos), (NUMPY, "arctan", np.arctan), (ALL, "sinh", np.sinh),
        (ALL, "cosh", np.cosh), (ALL, "tanh", np.tanh), ((ASC, MATH), "erf", _erf),
        ((ASC, MATH), "erfc", _erfc), (ASC, "sigmoid", _sigmoid), (ASC, "gelu", _gelu),
        (ASC, "silu", lambda x: x / (1 + np.exp(-x))), (ASC, "softplus", _softplus)]
    for reach, name, function in table:
        def operation(x, name=name, function=function):
            return apply_float(name, function, x)
        operation.__signature__ = _ONE
        entry(reach, name, folds=name not in RUNS)(operation)


# Computed when the kernel runs, of constants too.
RUNS = ("reciprocal", "sigmoid", "gelu", "silu", "softplus")

import inspect  # noqa: E402

_ONE = inspect.Signature([inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
_float_functions()


def _rounding(name, function):
    def operation(x):
        expect_number(x, f"the argument of {name}")
        if dtype_of(x).is_float:
            return apply_float(name, function, x)
        return ops.cast(x, x.t) if is_tensor(x) else x  # a copy, as NumPy gives
    return operation


for _reach, _name, _function in ((ARRAYS, "floor", np.floor), (ARRAYS, "ceil", np.ceil),
                                 (ARRAYS, "trunc", np.trunc), (ARRAYS + (METHOD,), "round", np.rint),
                                 (ARRAYS, "rint", np.rint)):
    entry(_reach, _name)(_rounding(_name, _function))


@entry(ARRAYS + (BUILTIN,), "abs")
@entry(ALL, "fabs")
@entry(ARRAYS, "absolute")
def absolute(x):
    expect_number(x, "the argument of abs")
    if is_weak(x):
        return abs(x)
    t = dtype_of(x)
    if not known(x):
        return Unknown(t, x.shape)
    if t is BOOL:
        return ops.cast(x, t)
    if x.__class__ is Tensor:
        return ops.from_array(np.abs(ops.as_array(x, t)), t)
    if t.is_float:
        return dtypes.scalar(wide(t).np(np.abs(ops.as_array(x, wide(t)))), t)
    return dtypes.wrap(abs(int(x)), t)


@entry(ARRAYS, "sign", folds=False)
def sign(x):
    expect_number(x, "the argument of sign")
    if is_weak(x):
        x = dtypes.scalar(x, dtypes.weak_dtype(x))
    t = dtype_of(x)
    if not known(x):
        return Unknown(t, x.shape)
    a = ops.as_array(x, t)
    r = a if t is BOOL else np.sign(a)
    return ops.from_array(r, t) if is_tensor(x) else dtypes.scalar(wide(t).np(r), t)


@entry(ASC, "relu")
def relu(x):
    expect_number(x, "the argument of relu")
    return ops.maximum(x, 0.0 if dtype_of(x).is_float else 0)


@entry(ARRAYS, "square")
def square(x):
    return ops.multiply(x, x)


@entry(ARRAYS, "negative")
def negative(x):
    return ops.negate(x)


@entry(ARRAYS + (METHOD,), "clip")
@entry((ASC, METHOD), "clamp")
def clip(x, min=None, max=None):
    expect_number(x, "the argument of clip")
    if min is not None:
        x = ops.maximum(x, min)
    if max is not None:
        x = ops.minimum(x, max)
    return x


@entry(ARRAYS, "where")
@entry(ASC, "select")
def where(condition, x, y):
    return ops.select(condition, x, y)


def _test(name, function):
    def operation(x):
        expect_number(x, f"the argument of {name}")
        if not known(x):
            return Unknown(BOOL, x.shape)
        r = function(ops.as_array(x, wide(float_type(x))))
        return Tensor(BOOL, np.asarray(r, np.bool_)) if is_tensor(x) else np.bool_(r)
    return operation


for _reach, _name, _function in ((ALL, "isnan", np.isnan), (ALL, "isinf", np.isinf),
                                 (ALL, "isfinite", np.isfinite), (ARRAYS, "signbit", np.signbit)):
    entry(_reach, _name, folds=False)(_test(_name, _function))


def _two(name, function):
    def operation(x, y):
        for v in (x, y):
            expect_number(v, f"an argument of {name}")
        t = ops.common_type(x, y)
        t = t if t.is_float else FLOAT32
        if not known(x, y):
            return ops.result_unknown(t, x, y)
        w = wide(t)
        ops.broadcast(x, y)
        r = np.asarray(function(ops.as_array(ops.cast(x, t), w), ops.as_array(ops.cast(y, t), w)),
                       w.np)
        if is_tensor(x) or is_tensor(y):
            return ops.from_array(dtypes.array(r, w, t), t)
        return dtypes.scalar(r[()], t)
    return operation


_atan2 = _two("atan2", np.arctan2)


@entry(ALL, "atan2", folds=False)
@entry(ARRAYS, "arctan2", folds=False)
def atan2(y, x):
    return _atan2(y, x)


for _reach, _name, _function in ((ALL, "copysign", np.copysign), (ALL, "hypot", np.hypot),
                                 (ALL, "fmod", np.fmod)):
    entry(_reach, _name, folds=False)(_two(_name, _function))


@entry((ASC, MATH), "fma")
def fma(x, y, z):
    return ops.add(ops.multiply(x, y), z)


def _operators():
    table = [(ALL + (BUILTIN,), "pow", "**"), (ARRAYS, "power", "**"), (ARRAYS, "minimum", "min"),
             (ARRAYS, "maximum", "max"), (ARRAYS, "add", "+"), (ARRAYS, "subtract", "-"),
             (ASC, "sub", "-"), (ARRAYS, "multiply", "*"), (ASC, "mul", "*"),
             (ARRAYS, "divide", "/"), (ASC, "div", "/"), (ARRAYS, "floor_divide", "//"),
             (ARRAYS, "mod", "%"), (ARRAYS, "remainder", "%"), (ARRAYS, "bitwise_and", "&"),
             (ARRAYS, "bitwise_or", "|"), (ARRAYS, "bitwise_xor", "^"),
             (ARRAYS, "left_shift", "<<"), (ARRAYS, "right_shift", ">>")]
    for reach, name, op in table:
        def operation(x, y, op=op):
            return ops.binary(op, x, y)
        operation.__signature__ = _TWO
        entry(reach, name)(operation)
    comparisons = [("equal", "=="), ("not_equal", "!="), ("less", "<"), ("less_equal", "<="),
                   ("greater", ">"), ("greater_equal", ">=")]
    for name, op in comparisons:
        def comparison(x, y, op=op):
            return ops.compare(op, x, y)
        comparison.__signature__ = _TWO
        entry(ARRAYS, name)(comparison)
    for name, op in (("logical_and", "&"), ("logical_or", "|"), ("logical_xor", "^")):
        def logical(x, y, op=op):
            for v in (x, y):
                expect_number(v, "an argument")
            return ops.binary(op, ops.cast(x, BOOL), ops.cast(y, BOOL))
        logical.__signature__ = _TWO
        entry(ARRAYS, name)(logical)


_TWO = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                          for n in ("x", "y")])
_operators()


@entry(ARRAYS, "logical_not")
def logical_not(x):
    expect_number(x, "an argument")
    x = ops.cast(x, BOOL)
    return ops.invert(x) if is_tensor(x) else ops.logical_not(x)
