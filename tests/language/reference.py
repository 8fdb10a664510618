"""What NumPy lacks of the library's reference expressions, in float64."""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis, keepdims=True)


def matmul(x, y, transpose_x, transpose_y):
    x = np.swapaxes(x, -1, -2) if transpose_x and x.ndim > 1 else x
    y = np.swapaxes(y, -1, -2) if transpose_y and y.ndim > 1 else y
    return np.matmul(x, y)


def _pair(v):
    return v if isinstance(v, tuple) else (v, v)


def _windows(x, size, stride, padding, dilation, fill):
    """The views x[:, :, i, j] of each place (i, j) of the window, over all outputs."""
    (sh, sw), (ph, pw), (dh, dw) = _pair(stride), _pair(padding), _pair(dilation)
    p = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), constant_values=fill)
    oh = (p.shape[2] - (size[0] - 1) * dh - 1) // sh + 1
    ow = (p.shape[3] - (size[1] - 1) * dw - 1) // sw + 1
    for i in range(size[0]):
        for j in range(size[1]):
            h, w = i * dh, j * dw
            yield i, j, p[:, :, h:h + (oh - 1) * sh + 1:sh, w:w + (ow - 1) * sw + 1:sw]


def conv2d(x, weight, bias, stride, padding, dilation, groups):
    out = 0
    for i, j, seen in _windows(x, weight.shape[2:], stride, padding, dilation, 0):
        n, c, h, w = seen.shape
        seen = seen.reshape(n, groups, c // groups, h, w)
        taps = weight[:, :, i, j].reshape(groups, len(weight) // groups, c // groups)
        out = out + np.einsum("ngchw,gfc->ngfhw", seen, taps).reshape(n, len(weight), h, w)
    return out if bias is None else out + bias[:, None, None]


def max_pool2d(x, size, stride, padding):
    size = _pair(size)
    least = -np.inf if x.dtype.kind == "f" else False if x.dtype == bool else np.iinfo(x.dtype).min
    windows = _windows(x, size, size if stride is None else stride, padding, 1, least)
    return np.max([seen for _, _, seen in windows], axis=0)


def avg_pool2d(x, size, stride, padding):
    size = _pair(size)
    windows = _windows(x, size, size if stride is None else stride, padding, 1, 0)
    return np.mean([seen for _, _, seen in windows], axis=0)


def _order(x, axis, descending):
    """Positions that sort, stable; NaN counts as the greatest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


def sort(x, axis, descending):
    return np.take_along_axis(x, _order(x, axis, descending), axis)


def topk(x, k, axis):
    order = np.take(_order(x, axis, True), np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


def _philox(counter, key):
    """Philox4x32-10 on one counter of four words: Salmon et al., SC 2011, figure 4."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def _words(count, seed, stream):
    key = (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)
    words = []
    for block in range((count + 3) // 4):
        words += _philox((block & 0xFFFFFFFF, block >> 32, 0, stream), key)
    return np.array(words, np.uint64)


def _shape(shape):
    return shape if isinstance(shape, tuple) else (shape,)


def rand(shape, seed):
    shape = _shape(shape)
    count = math.prod(shape)
    return ((_words(count, seed, 0)[:count] >> 8) * 2.0 ** -24).reshape(shape)


def randn(shape, seed):
    shape = _shape(shape)
    count = math.prod(shape)
    w = _words(count, seed, 1)
    radius = np.sqrt(-2 * np.log(((w[0::2] >> 8) + 1) * 2.0 ** -24))
    angle = 2 * np.pi * (w[1::2] >> 8) * 2.0 ** -24
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(-1)[:count].reshape(shape)
