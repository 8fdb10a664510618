"""Sorting."""

import numpy as np

from .. import ops
from ..dtypes import INT64
from ..values import Tensor
from .table import (ASC, Fault, Unknown, axis_of, constant_bool, constant_int, dtype_of, entry,
                    expect_tensor, known, shape_of)


def _ascending(a, at):
    """Positions that sort, stable, NaN last, as NumPy's."""
    return np.argsort(a, at, kind="stable")


def _descending(a, at):
    """Positions from the greatest to the least, stable, NaN first: NaN counts as the greatest, as it
    does for max."""
    return np.flip(a.shape[at] - 1 - np.argsort(np.flip(a, at), at, kind="stable"), at)


@entry(ASC, "sort")
def sort(x, axis=-1, descending=False):
    expect_tensor(x, "the argument of sort")
    at = axis_of(axis, len(shape_of(x)))
    down = constant_bool(descending, "descending")
    if not known(x):
        return Unknown(x.t, x.shape)
    a = x.read()
    order = (_descending if down else _ascending)(a, at)
    return ops.from_array(np.take_along_axis(a, order, at), x.t)


@entry(ASC, "topk")
def topk(x, k, axis=-1):
    """The k greatest along an axis, from the greatest on, and their int64 positions; of equals the
    first one comes first."""
    expect_tensor(x, "the argument of topk")
    at = axis_of(axis, len(shape_of(x)))
    count = constant_int(k, "k")
    n = shape_of(x)[at]
    if count < 0 or n is not None and count > n:
        raise Fault("shape-mismatch", f"topk cannot take {count} of an axis of {n}")
    if not known(x):
        shape = x.shape[:at] + (count,) + x.shape[at + 1:]
        return Unknown(x.t, shape), Unknown(INT64, shape)
    a = x.read()
    order = np.take(_descending(a, at), np.arange(count), at)
    return (ops.from_array(np.take_along_axis(a, order, at), x.t),
            Tensor(INT64, np.asarray(order, np.int64)))
