"""Softmax and the normalisations."""

import numpy as np

from .. import dtypes, ops
from ..dtypes import FLOAT32
from .reduction import sum_in_order
from .table import (ASC, Fault, Unknown, axis_of, entry, expect_number, expect_tensor, float_type,
                    is_scalar, known, shape_of, wide)


def _prepare(name, x, axis):
    expect_tensor(x, f"the argument of {name}")
    at = axis_of(axis, len(shape_of(x)))
    return at, float_type(x), wide(float_type(x))


def _softmax(name, x, axis, log):
    at, t, w = _prepare(name, x, axis)
    if not known(x):
        return Unknown(t, x.shape)
    a = dtypes.array(x.read(), x.t, w)
    if not a.size:
        return ops.from_array(dtypes.array(a, w, t), t)
    shifted = a - np.maximum.reduce(a, axis=at, keepdims=True)
    e = np.exp(shifted)
    total = sum_in_order(e, at, True)
    r = shifted - np.log(total) if log else e / total
    return ops.from_array(dtypes.array(r, w, t), t)


@entry(ASC, "softmax")
def softmax(x, axis=-1):
    return _softmax("softmax", x, axis, False)


@entry(ASC, "log_softmax")
def log_softmax(x, axis=-1):
    return _softmax("log_softmax", x, axis, True)


def _norm(name, x, weight, bias, eps, axis, centred):
    at, t, w = _prepare(name, x, axis)
    if not is_scalar(eps):
        raise Fault("type-mismatch", "eps must be a number")
    more = [v for v in (weight, bias) if v is not None]
    for v in more:
        expect_number(v, f"an argument of {name}")
    shape = ops.broadcast(x, *more)
    if not known(x, eps, *more):
        return Unknown(t, shape)
    a = dtypes.array(x.read(), x.t, w)
    n = w.np(a.shape[at])
    if centred:
        a = a - sum_in_order(a, at, True) / n
    scale = w.np(1) / np.sqrt(sum_in_order(a * a, at, True) / n + ops.as_array(eps, w))
    r = a * scale
    if weight is not None:
        r = r * ops.as_array(weight, w)
    if bias is not None:
        r = r + ops.as_array(bias, w)
    return ops.from_array(dtypes.array(r, w, t), t)


@entry(ASC, "layer_norm")
def layer_norm(x, weight=None, bias=None, eps=1e-5, axis=-1):
    return _norm("layer_norm", x, weight, bias, eps, axis, True)


@entry(ASC, "rms_norm")
def rms_norm(x, weight=None, eps=1e-6, axis=-1):
    return _norm("rms_norm", x, weight, None, eps, axis, False)
