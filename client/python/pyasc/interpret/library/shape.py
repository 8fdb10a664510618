"""Views, and operations that move elements about."""

import numpy as np

from .. import dtypes, indexing, ops
from ..values import Tensor, is_known_int, load_scalar, new_tensor
from .table import (ARRAYS, ASC, METHOD, Fault, Unknown, axes_of, axis_of, checked_size, constant_int,
                    describe, dtype_of, entry, expect_number, expect_tensor, is_scalar, is_sequence,
                    is_tensor, known, new_shape, scalar_of, shape_argument, shape_of, shape_text_of, size_of)


def _rest(values):
    return values[0] if len(values) == 1 else values


def reshaped(x, shape):
    """x in another shape; a view where strides allow, else a copy."""
    if shape.count(-1) > 1:
        raise Fault("shape-mismatch", "only one axis of a shape can be -1")
    count = size_of(shape_of(x))
    known_part = size_of([d for d in shape if d != -1])
    asked = shape
    if count is None or known_part is None:
        return x.seen_as(tuple(None if d == -1 else d for d in shape))
    if -1 in shape and known_part:
        shape = tuple(count // known_part if d == -1 else d for d in shape)
    if size_of(shape) != count or -1 in shape:
        raise Fault("shape-mismatch", f"cannot reshape {shape_text_of(shape_of(x))} into "
                                      f"{shape_text_of(asked)}")
    if not known(x):
        return x.seen_as(shape)
    return x.view(lambda a: a.reshape(shape))


@entry(ARRAYS + (METHOD,), "reshape")
def reshape(x, *shape):
    expect_tensor(x, "the argument of reshape")
    return reshaped(x, shape_argument(_rest(shape)))


@entry((ASC, METHOD), "flatten")
def flatten(x):
    from .creation import copy
    expect_tensor(x, "the argument of flatten")
    return ravel(copy(x))


@entry(ARRAYS + (METHOD,), "ravel")
def ravel(x):
    expect_tensor(x, "the argument of ravel")
    n = size_of(shape_of(x))
    return x.seen_as((None,)) if n is None else reshaped(x, (n,))


@entry(ARRAYS + (METHOD,), "transpose")
@entry((ASC, METHOD), "permute")
def transpose(x, *axes):
    expect_tensor(x, "the argument of transpose")
    rank = len(shape_of(x))
    if len(axes) == 1 and is_sequence(axes[0]):
        axes = tuple(axes[0])
    if not axes or axes == (None,):
        order = tuple(reversed(range(rank)))
    elif len(axes) == 2 and rank != 2:
        a, b = (axis_of(v, rank) for v in axes)
        order = list(range(rank))
        order[a], order[b] = order[b], order[a]
    elif len(axes) != rank:
        raise Fault("bad-axis", f"a transposition of {rank} axes names all of them")
    else:
        order = [axis_of(v, rank) for v in axes]
        if len(set(order)) != rank:
            raise Fault("bad-axis", "an axis is named twice")
    return indexing.transposed(x, tuple(order))


@entry(ARRAYS + (METHOD,), "swapaxes")
def swapaxes(x, axis1, axis2):
    expect_tensor(x, "the argument of swapaxes")
    rank = len(shape_of(x))
    a, b = axis_of(axis1, rank), axis_of(axis2, rank)
    order = list(range(rank))
    order[a], order[b] = order[b], order[a]
    return indexing.transposed(x, tuple(order))


@entry(ARRAYS, "broadcast_to")
def broadcast_to(x, shape):
    expect_number(x, "the argument of broadcast_to")
    shape = new_shape(shape)
    t, have = dtype_of(x), shape_of(x)
    if len(have) > len(shape) or any(h not in (1, None, w) and w is not None
                                     for h, w in zip(reversed(have), reversed(shape))):
        raise Fault("shape-mismatch", f"cannot broadcast {shape_text_of(have)} to "
                                      f"{shape_text_of(shape)}")
    if not known(x) or None in shape:
        return Unknown(t, shape)
    return new_tensor(t, np.broadcast_to(ops.as_array(x, t), shape))


@entry(ARRAYS, "expand_dims")
@entry((ASC, METHOD), "unsqueeze")
def expand_dims(x, axis):
    expect_tensor(x, "the argument of expand_dims")
    shape = shape_of(x)
    at = axis_of(axis, len(shape) + 1)
    if not known(x):
        return x.seen_as(shape[:at] + (1,) + shape[at:])
    return x.view(lambda a: np.expand_dims(a, at))


@entry(ARRAYS + (METHOD,), "squeeze")
def squeeze(x, axis=None):
    expect_tensor(x, "the argument of squeeze")
    shape = shape_of(x)
    if axis is None:
        drop = [i for i, d in enumerate(shape) if d == 1]
    else:
        drop = axes_of(axis, len(shape))
        for i in drop:
            if shape[i] not in (1, None):
                raise Fault("shape-mismatch", f"axis {i} has size {shape[i]} and cannot be squeezed "
                                              "away")
    left = tuple(d for i, d in enumerate(shape) if i not in drop)
    if not known(x):
        return x.seen_as(left)
    return x.view(lambda a: a.reshape(left))


def _list(name, tensors):
    if not is_sequence(tensors) or not tensors:
        raise Fault("type-mismatch", f"{name} takes a tuple or list of tensors")
    for v in tensors:
        expect_tensor(v, f"each argument of {name}")
    return list(tensors)


def _join(parts, axis):
    first = shape_of(parts[0])
    t = parts[0].t
    for p in parts[1:]:
        s = shape_of(p)
        if len(s) != len(first) or any(i != axis and a != b and None not in (a, b)
                                       for i, (a, b) in enumerate(zip(first, s))):
            raise Fault("shape-mismatch", f"cannot join {shape_text_of(first)} and "
                                          f"{shape_text_of(s)} along axis {axis}")
        both = dtypes.promote(t, p.t)
        if both is None:
            raise dtypes.no_common(t, p.t)
        t = both
    if not known(*parts):
        sizes = [shape_of(p)[axis] for p in parts]
        total = None if None in sizes else sum(sizes)
        return Unknown(t, first[:axis] + (total,) + first[axis + 1:])
    return ops.from_array(np.concatenate([ops.as_array(p, t) for p in parts], axis), t)


@entry(ASC, "concat")
@entry(ARRAYS, "concatenate")
def concat(tensors, axis=0):
    parts = _list("concat", tensors)
    return _join(parts, axis_of(axis, len(shape_of(parts[0]))))


@entry(ARRAYS, "stack")
def stack(tensors, axis=0):
    parts = _list("stack", tensors)
    rank = len(shape_of(parts[0]))
    at = axis_of(axis, rank + 1)
    if any(len(shape_of(p)) != rank for p in parts):
        raise Fault("shape-mismatch", "stack needs tensors of one shape")
    return _join([expand_dims(p, at) for p in parts], at)


@entry(ARRAYS, "split")
def split(x, parts, axis=0):
    expect_tensor(x, "the argument of split")
    count = constant_int(parts, "the number of parts")
    at = axis_of(axis, len(shape_of(x)))
    n = shape_of(x)[at]
    if n is not None and (count <= 0 or n % count):
        raise Fault("shape-mismatch", f"an axis of {n} does not split into {count} equal parts")
    if not known(x):
        one = None if n is None else n // count
        return [x.seen_as(x.shape[:at] + (one,) + x.shape[at + 1:])] * count
    size = n // count
    before = (slice(None),) * at
    return [x.view(lambda a, i=i: a[before + (slice(i * size, (i + 1) * size),)])
            for i in range(count)]


@entry(ARRAYS, "flip")
def flip(x, axis=None):
    expect_tensor(x, "the argument of flip")
    axes = axes_of(axis, len(shape_of(x)))
    if not known(x):
        return x
    key = tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.a.ndim))
    return x.view(lambda a: a[key])


def _widths(widths, rank):
    def pair(v):
        if is_known_int(v):
            return int(v), int(v)
        if is_sequence(v) and len(v) == 2 and all(is_known_int(p) for p in v):
            return int(v[0]), int(v[1])
        return None
    each = is_sequence(widths) and widths and is_sequence(widths[0])
    out = [pair(v) for v in (widths if each else (widths,))]
    if not each and out[0] is not None and min(out[0]) >= 0:
        out *= rank
    if len(out) != rank or any(p is None or min(p) < 0 for p in out):
        raise Fault("shape-mismatch", "the widths of a padding are a number, a pair, or a pair for "
                                      "each axis")
    return out


@entry(ASC, "pad")
def pad(x, widths, value=0):
    expect_tensor(x, "the argument of pad")
    pairs = _widths(widths, len(shape_of(x)))
    ops.check_store(value, x.t, "the tensor")
    shape = checked_size(tuple(None if d is None else d + a + b
                               for d, (a, b) in zip(shape_of(x), pairs)))
    if not known(x, value):
        return Unknown(x.t, shape)
    if not shape:  # no axis to pad, which np.pad does not take
        return ops.cast(x, x.t)
    a = np.pad(x.read(), pairs, constant_values=np.asarray(ops.as_array(value, x.t)))
    return ops.from_array(a, x.t)


@entry(ARRAYS, "tile")
def tile(x, times):
    expect_tensor(x, "the argument of tile")
    times, shape = new_shape(times), shape_of(x)
    rank = max(len(shape), len(times))
    full = (1,) * (rank - len(times)) + times
    shape = checked_size(tuple(None if d is None or n is None else d * n for d, n in
                               zip((1,) * (rank - len(shape)) + shape, full)))
    if not known(x) or None in times:
        return Unknown(x.t, shape)
    return ops.from_array(np.tile(x.read(), times), x.t)


def check_indices(indices):
    if not (is_scalar(indices) or is_tensor(indices)):
        raise Fault("type-mismatch", "the indices must be an integer tensor")
    if not dtype_of(indices).is_int:
        raise Fault("bad-index", "the indices must be integers")


def checked_positions(indices, axis, size):
    """Indices of an axis as NumPy's, after the bounds check that every element gets."""
    at = np.asarray(ops.as_array(indices, dtype_of(indices))).astype(np.int64)
    bad = (at < -size) | (at >= size)
    if bad.any():
        raise indexing.out_of_bounds(int(at[bad].reshape(-1)[0]), axis, size)
    return at


@entry(ARRAYS, "take")
def take(x, indices, axis=None):
    expect_tensor(x, "the argument of take")
    check_indices(indices)
    if axis is None:
        x = ravel(x)
    at = 0 if axis is None else axis_of(axis, len(shape_of(x)))
    shape = shape_of(x)[:at] + shape_of(indices) + shape_of(x)[at + 1:]
    if not known(x, indices):
        if is_known_int(indices) and shape_of(x)[at] is not None:
            checked_positions(indices, at, shape_of(x)[at])
        return Unknown(x.t, shape or None)
    positions = checked_positions(indices, at, x.a.shape[at])
    made = ops.from_array(np.take(x.read(), positions, at, mode="wrap"), x.t)
    return made if shape else scalar_of(made)


@entry(ASC, "gather")
def gather(x, indices, axis=0):
    return take(x, indices, axis)


@entry(ASC, "scatter", pure=False)
def scatter(x, indices, values, axis=0):
    """x[..., indices[i], ...] = values[..., i, ...], in the order of i: the last one stays."""
    expect_tensor(x, "the argument of scatter")
    expect_tensor(indices, "the indices of scatter")
    check_indices(indices)
    at = axis_of(axis, len(shape_of(x)))
    if len(shape_of(indices)) != 1:
        raise Fault("rank-mismatch", "the indices of scatter have one axis")
    shape = shape_of(x)[:at] + shape_of(indices) + shape_of(x)[at + 1:]
    ops.check_store(values, x.t, "a tensor")
    indexing._check_fits(shape, values)
    if not known(x, indices, values):
        return None
    positions = checked_positions(indices, at, x.a.shape[at])
    source = np.array(np.broadcast_to(ops.as_array(values, x.t), shape))
    before = (slice(None),) * at
    for i, position in enumerate(positions):
        part = x.view(lambda a: a[before + (int(position), Ellipsis)])
        part.write(source[before + (i, Ellipsis)])
    return None
