"""2-D convolution and pooling, in NCHW."""

import numpy as np

from .. import dtypes, ops
from ..dtypes import BOOL, FLOAT32
from .table import (ASC, Fault, Unknown, constant_int, describe, dtype_of, entry, expect_tensor,
                    float_type, is_sequence, known, shape_of, shape_text_of, wide)


def _pair(x, what, least):
    pair = tuple(x) if is_sequence(x) else (x, x)
    if len(pair) != 2:
        raise Fault("shape-mismatch", f"{what} is a number or a pair")
    out = tuple(constant_int(v, what) for v in pair)
    if min(out) < least:
        raise Fault("shape-mismatch", f"{what} must be at least {least}")
    return out


def _image(name, x):
    expect_tensor(x, f"the argument of {name}")
    if len(shape_of(x)) != 4:
        raise Fault("rank-mismatch", f"{name} needs a tensor with axes (N, C, H, W), and this one has "
                                     f"{len(shape_of(x))}")


def _extents(name, shape, size, stride, padding, dilation=(1, 1)):
    out = []
    for d, k, s, p, apart in zip(shape[2:], size, stride, padding, dilation):
        if d is None or k is None:
            out.append(None)
            continue
        k, empty = (k - 1) * apart + 1, k == 0
        if empty or d + 2 * p < k:
            raise Fault("shape-mismatch", f"the window {shape_text_of(size)} of {name} does not fit "
                                          f"into {shape_text_of(shape[2:])} with padding "
                                          f"{shape_text_of(padding)}")
        out.append((d + 2 * p - k) // s + 1)
    return tuple(out)


def _windows(a, size, stride, padding, out, fill, dilation=(1, 1)):
    """a with padding, and for each place of the window the part that it sees."""
    (ph, pw), (sh, sw) = padding, stride
    a = np.pad(a, ((0, 0), (0, 0), (ph, ph), (pw, pw)), constant_values=fill)
    for i in range(size[0]):
        for j in range(size[1]):
            h, w = i * dilation[0], j * dilation[1]
            yield i, j, a[:, :, h:h + (out[0] - 1) * sh + 1:sh, w:w + (out[1] - 1) * sw + 1:sw]


@entry(ASC, "conv2d")
def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """out[n, f, h, w] = bias[f] + sum over c, i, j of x[n, c, h*stride + i - padding, ...] times
    weight[f, c, i, j]: a correlation, as deep learning calls it, summed in float32. With dilation the
    places lie so far apart; with groups the filters of each see their share of the channels."""
    _image("conv2d", x)
    _image("conv2d", weight)
    stride, padding = _pair(stride, "stride", 1), _pair(padding, "padding", 0)
    dilation, groups = _pair(dilation, "dilation", 1), constant_int(groups, "groups")
    xs, ws = shape_of(x), shape_of(weight)
    if None not in (xs[1], ws[0], ws[1]):
        if groups < 1 or xs[1] % groups or ws[0] % groups:
            raise Fault("shape-mismatch", f"{groups} groups do not divide {xs[1]} channels and {ws[0]} "
                                          "filters")
        if xs[1] // groups != ws[1]:
            raise Fault("shape-mismatch", f"the input has {xs[1]} channels and a filter takes {ws[1]}")
    t = ops.common_type(x, weight)
    if t is BOOL:
        raise Fault("type-mismatch", "conv2d of bools; cast one to an integer type")
    if bias is not None:
        expect_tensor(bias, "the bias of conv2d")
        if shape_of(bias) not in ((ws[0],), (None,)):
            raise Fault("shape-mismatch", f"the bias has shape {shape_text_of(shape_of(bias))}, and "
                                          f"there are {ws[0]} filters")
        t = ops.common_type(Unknown(t), bias)
    out = _extents("conv2d", xs, ws[2:], stride, padding, dilation)
    shape = (xs[0], ws[0], *out)
    if not known(x, weight, bias):
        return Unknown(t, shape)
    w = wide(t)
    a, b = dtypes.array(x.read(), x.t, w), dtypes.array(weight.read(), weight.t, w)
    total = np.zeros(shape, w.np)
    c, f = xs[1] // groups, ws[0] // groups
    for i, j, part in _windows(a, ws[2:], stride, padding, out, 0, dilation):
        for g in range(groups):
            total[:, g * f:(g + 1) * f] += np.einsum(
                "nchw,fc->nfhw", part[:, g * c:(g + 1) * c], b[g * f:(g + 1) * f, :, i, j],
                dtype=w.np)
    if bias is not None:
        total = total + dtypes.array(bias.read(), bias.t, w)[:, None, None]
    return ops.from_array(dtypes.array(np.asarray(total, w.np), w, t), t)


def _pool(name, x, size, stride, padding):
    _image(name, x)
    size = _pair(size, "the window", 1)
    stride = size if stride is None else _pair(stride, "stride", 1)
    padding = _pair(padding, "padding", 0)
    if any(2 * p > k for p, k in zip(padding, size)):
        raise Fault("shape-mismatch", "the padding is at most half of the window")
    out = _extents(name, shape_of(x), size, stride, padding)
    return size, stride, padding, out, (*shape_of(x)[:2], *out)


@entry(ASC, "max_pool2d")
def max_pool2d(x, size, stride=None, padding=0):
    """The greatest of each window, NaN if there is one; padding does not take part."""
    size, stride, padding, out, shape = _pool("max_pool2d", x, size, stride, padding)
    t = dtype_of(x)
    if not known(x):
        return Unknown(t, shape)
    low = -np.inf if t.is_float else t.low
    best = np.full(shape, low, t.np)
    for _, _, part in _windows(x.read(), size, stride, padding, out, low):
        best = np.maximum(best, part)
    return ops.from_array(best, t)


@entry(ASC, "avg_pool2d")
def avg_pool2d(x, size, stride=None, padding=0):
    """The mean of each window; padding counts as zeros."""
    size, stride, padding, out, shape = _pool("avg_pool2d", x, size, stride, padding)
    t = float_type(x)
    if not known(x):
        return Unknown(t, shape)
    w = wide(t)
    total = np.zeros(shape, w.np)
    for _, _, part in _windows(dtypes.array(x.read(), x.t, w), size, stride, padding, out, 0):
        total += part
    r = total / w.np(size[0] * size[1])
    return ops.from_array(dtypes.array(np.asarray(r, w.np), w, t), t)
