"""Matrix products."""

import numpy as np

from .. import dtypes, indexing, ops
from ..context import CONTEXT
from ..dtypes import BOOL, FLOAT32
from .table import (ARRAYS, ASC, METHOD, Fault, Unknown, constant_bool, dtype_of, entry,
                    expect_tensor, known, result, shape_of, unknown_result, wide)
from ..values import shape_text


def _flipped(x, flip):
    rank = len(shape_of(x))
    if not constant_bool(flip, "a transpose flag") or rank < 2:
        return x
    return indexing.transposed(x, (*range(rank - 2), rank - 1, rank - 2))


def _product_type(x, y):
    tx, ty = dtype_of(x), dtype_of(y)
    if CONTEXT.mixed and tx is not ty and tx.is_float and ty.is_float and (tx.is_16 or ty.is_16):
        # The wider operand is rounded to the other's type; the sums stay float32.
        t = tx if tx.is_16 else ty
        return t, ops.cast(x, t), ops.cast(y, t)
    t = ops.common_type(x, y)
    if t is BOOL:
        raise Fault("type-mismatch", "a matrix product of bools; cast one to an integer type")
    return t, x, y


def contract(a, b):
    """Sums of products, in NumPy's order; see reduction.fold."""
    return np.matmul(a, b)


@entry(ARRAYS, "matmul")
@entry(ASC, "batch_matmul")
def matmul(x, y, transpose_x=False, transpose_y=False):
    for v in (x, y):
        expect_tensor(v, "an operand of a matrix product")
    x, y = _flipped(x, transpose_x), _flipped(y, transpose_y)
    xs, ys = shape_of(x), shape_of(y)
    if not xs or not ys:
        raise Fault("rank-mismatch", "a matrix product needs operands with axes")
    row, column = len(xs) == 1, len(ys) == 1
    full_x, full_y = (1, *xs) if row else xs, (*ys, 1) if column else ys
    k, k2 = full_x[-1], full_y[-2]
    if k is not None and k2 is not None and k != k2:
        raise Fault("shape-mismatch", f"cannot multiply matrices of shapes {shape_text(xs)} and "
                                      f"{shape_text(ys)}: the inner sizes {k} and {k2} differ")
    try:
        batch = ops.broadcast(Unknown(FLOAT32, full_x[:-2]), Unknown(FLOAT32, full_y[:-2]))
    except Fault:
        raise Fault("shape-mismatch", f"the batch axes of {shape_text(xs)} and {shape_text(ys)} "
                                      "cannot be broadcast together") from None
    t, x, y = _product_type(x, y)
    shape = batch + (() if row else (full_x[-2],)) + (() if column else (full_y[-1],))
    if not known(x, y):
        return unknown_result(t, shape)
    w = wide(t)
    a = dtypes.array(x.read(), x.t, w).reshape(full_x)
    b = dtypes.array(y.read(), y.t, w).reshape(full_y)
    r = contract(a, b).reshape(shape)
    return result(t, dtypes.array(np.asarray(r, w.np), w, t), shape)


@entry(ARRAYS + (METHOD,), "dot")
def dot(x, y):
    return matmul(x, y)


@entry(ASC, "bmm")
def bmm(x, y):
    return matmul(x, y)


@entry(ARRAYS, "outer")
def outer(x, y):
    for v in (x, y):
        expect_tensor(v, "an operand of outer")
        if len(shape_of(v)) != 1:
            raise Fault("rank-mismatch", "outer needs tensors with one axis")
    return ops.multiply(_expanded(x, 1), _expanded(y, 0))


def _expanded(x, axis):
    if not known(x):
        return x.seen_as(x.shape[:axis] + (1,) + x.shape[axis:])
    return x.view(lambda a: np.expand_dims(a, axis))
