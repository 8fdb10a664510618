"""Making and copying tensors."""

import math

import numpy as np

from .. import dtypes, indexing, ops
from ..context import CONTEXT
from ..dtypes import FLOAT32, INT32
from ..values import Tensor, new_tensor, strong
from .table import (ARRAYS, ASC, METHOD, Fault, Unknown, checked_size, dtype_argument, dtype_of,
                    entry, expect_number, expect_tensor, is_scalar, known, new_shape, scalar_of, shape_of,
                    size_argument, size_of)


def _made(t, shape, fill):
    if CONTEXT.translating:
        return Unknown(t, shape)
    if t is dtypes.BFLOAT16:
        return new_tensor(t, np.full(shape, ops.as_array(fill, t), np.float32))
    return Tensor(t, np.full(shape, ops.as_array(fill, t), t.np))


def _type(dtype, otherwise):
    return otherwise if dtype is None else dtype_argument(dtype)


def empty_fill(t):
    """What memory that is not initialised holds here: NaN, or the least integer."""
    return float("nan") if t.is_float else False if t.kind == "b" else t.low or t.high


@entry(ARRAYS, "zeros", pure=False)
def zeros(shape, dtype=None):
    return _made(_type(dtype, FLOAT32), new_shape(shape), 0)


@entry(ARRAYS, "ones", pure=False)
def ones(shape, dtype=None):
    return _made(_type(dtype, FLOAT32), new_shape(shape), 1)


@entry(ARRAYS, "empty", pure=False)
@entry(ASC, "local", pure=False)
def empty(shape, dtype=None):
    t = _type(dtype, FLOAT32)
    return _made(t, new_shape(shape), empty_fill(t))


@entry(ASC, "shared_memory", pure=False)
def shared_memory(shape, dtype=None, strict=False):
    return empty(shape, dtype)


@entry(ASC, "aligned_alloc", pure=False)
def aligned_alloc(shape, dtype=None, alignment=32):
    return empty(shape, dtype)


@entry(ARRAYS, "full", pure=False)
def full(shape, value, dtype=None):
    return _full(new_shape(shape), value, dtype)


def _full(shape, value, dtype):
    expect_number(value, "the value")
    t = _type(dtype, dtype_of(value))
    ops.check_store(value, t, "a tensor")
    if not is_scalar(value):
        indexing._check_fits(shape, value)
    if not known(value) or CONTEXT.translating:
        return Unknown(t, shape)
    made = _made(t, shape, 0)
    indexing.copy_into(made, value)
    return made


@entry(ARRAYS, "zeros_like", pure=False)
def zeros_like(x, dtype=None):
    expect_tensor(x, "the argument of zeros_like")
    return _made(_type(dtype, dtype_of(x)), shape_of(x), 0)


@entry(ARRAYS, "ones_like", pure=False)
def ones_like(x, dtype=None):
    expect_tensor(x, "the argument of ones_like")
    return _made(_type(dtype, dtype_of(x)), shape_of(x), 1)


@entry(ARRAYS, "empty_like", pure=False)
def empty_like(x, dtype=None):
    expect_tensor(x, "the argument of empty_like")
    t = _type(dtype, dtype_of(x))
    return _made(t, shape_of(x), empty_fill(t))


@entry(ARRAYS, "full_like", pure=False)
def full_like(x, value, dtype=None):
    expect_tensor(x, "the argument of full_like")
    return _full(shape_of(x), value, _type(dtype, dtype_of(x)))


@entry(ARRAYS, "arange", pure=False)
def arange(start, stop=None, step=1, dtype=None):
    if stop is None:
        start, stop = 0, start
    if not known(start, stop, step):
        raise Fault("not-static", "the bounds of arange must be known at compile time")
    floats = any(dtype_of(v).is_float for v in (start, stop, step))
    a, b, s = float(start), float(stop), float(step)
    if s == 0:
        raise Fault("bad-range", "the step of arange must not be zero")
    whole = INT32
    if floats:
        n = max(0, math.ceil((b - a) / s))
    else:
        first, end, by = int(start), int(stop), int(step)
        for bound in (first, end, by):
            if not -2**63 <= bound < 2**63:
                raise Fault("literal-overflow",
                            f"the bound {bound} of arange does not fit into int64")
        n = max(0, -((first - end) // by))
        # As a variable of whole numbers: int64 where int32 is too small.
        if n > 0 and any(not -2**31 <= v < 2**31 for v in (first, first + (n - 1) * by)):
            whole = dtypes.INT64
    t = _type(dtype, FLOAT32 if floats else whole)
    if CONTEXT.translating:
        return Unknown(t, (n,))
    if floats:
        values = np.arange(n).astype(FLOAT32.np) * FLOAT32.np(s) + FLOAT32.np(a)
        return ops.from_array(dtypes.array(values, FLOAT32, t), t)
    values = np.arange(n, dtype=np.int64) * np.int64(int(step)) + np.int64(int(start))
    return ops.from_array(dtypes.array(values, dtypes.INT64, t), t)


@entry(ARRAYS, "eye", pure=False)
def eye(n, m=None, dtype=None):
    n = size_argument(n, "the size")
    m = n if m is None else size_argument(m, "the size")
    t = _type(dtype, FLOAT32)
    if any(d is not None and d < 0 for d in (n, m)):
        raise Fault("shape-mismatch", "an axis cannot have a negative size")
    checked_size((n, m))
    if CONTEXT.translating:
        return Unknown(t, (n, m))
    return ops.from_array(np.eye(n, m), t)


@entry(ARRAYS + (METHOD,), "copy", pure=False)
def copy(source, destination=None):
    if destination is None:
        expect_tensor(source, "the argument of copy")
        if not known(source):
            return Unknown(source.t, source.shape)
        return Tensor(source.t, source.a.copy(),
                      None if source.wide is None else source.read().astype(np.float32))
    expect_tensor(destination, "the destination of copy")
    expect_number(source, "the source of copy")
    indexing.store(destination, Ellipsis, source)
    return None


@entry((ASC, METHOD), "cast")
@entry((ASC, METHOD), "astype")
def cast(x, dtype):
    t = dtype_argument(dtype)
    expect_number(x, "what is cast")
    return ops.cast(x, t)


@entry(METHOD, "item")
def item(x):
    if is_scalar(x):
        return x
    expect_tensor(x, "the argument of item")
    if size_of(shape_of(x)) not in (1, None):
        raise Fault("shape-mismatch", "item() needs a tensor of one element")
    if not known(x):
        return Unknown(x.t)
    return scalar_of(x.view(lambda a: a.reshape(())))


@entry(ASC, "prefetch")
def prefetch(x):
    return None


@entry(ASC, "barrier")
def barrier():
    return None


@entry(ASC, "assert_shape")
def assert_shape(x, shape):
    from .table import shape_argument, shape_text_of
    expect_tensor(x, "the argument of assert_shape")
    want = shape_argument(shape)
    have = shape_of(x)
    if len(have) != len(want) or any(w not in (-1, None, h) and h is not None
                                     for w, h in zip(want, have)):
        raise Fault("assertion-failed", f"expected the shape {shape_text_of(want)}, and the tensor "
                                        f"has {shape_text_of(have)}")
