"""Subscripts: elements, views, and stores through them."""

import numpy as np

from . import dtypes, ops
from .dtypes import BOOL, FLOAT32
from .errors import Fault
from .values import (Tensor, Unknown, describe, dtype_of, is_scalar, is_sequence, is_tensor,
                     is_weak, load_scalar, shape_of, shape_text)

_INDEX = frozenset(t.np for t in dtypes.ALL if t.is_int) | {int}


def out_of_bounds(index, axis, size):
    return Fault("out-of-bounds", f"index {index} is out of bounds for axis {axis} with size {size}")


def load(base, key):
    """base[key]: an element, a view, or an item of a tuple."""
    if base.__class__ is Tensor:
        a = base.a
        if key.__class__ is tuple:
            if len(key) == a.ndim:
                for k in key:
                    if k.__class__ not in _INDEX:
                        break
                else:
                    try:
                        raw = a[key]
                    except IndexError:
                        raise _first_bad(a.shape, key) from None
                    except OverflowError:  # a uint64
                        raise _first_bad(a.shape, key) from None
                    return raw if base.t is not dtypes.BFLOAT16 else load_scalar(base.t, raw)
        elif key.__class__ in _INDEX and a.ndim == 1:
            try:
                raw = a[key]
            except IndexError:
                raise out_of_bounds(key, 0, a.shape[0]) from None
            except OverflowError:
                raise out_of_bounds(key, 0, a.shape[0]) from None
            return raw if base.t is not dtypes.BFLOAT16 else load_scalar(base.t, raw)
        return _finish(view(base, key))
    if is_sequence(base):
        return _item(base, key)
    if base.__class__ is Unknown and base.shape is not None:
        shape = _view_shape(base.shape, key)
        return base.seen_as(shape) if shape else Unknown(base.t)
    hint = "; a parameter that is an array is annotated asc.float32[N] or asc.tensor" \
        if is_scalar(base) else ""
    raise Fault("not-subscriptable", f"{describe(base)} cannot be indexed{hint}")


def _first_bad(shape, key):
    for axis, (size, k) in enumerate(zip(shape, key)):
        if not -size <= k < size:
            return out_of_bounds(k, axis, size)
    return Fault("bad-index", "the index is out of bounds")


def _finish(v):
    return load_scalar(v.t, v.a[()]) if v.a.ndim == 0 else v


def _item(base, key):
    if isinstance(key, slice):
        for part in (key.start, key.stop, key.step):
            if part.__class__ is Unknown:
                raise Fault("not-static", "a tuple is sliced by constants only")
        return base[key]
    if key.__class__ is Unknown or not is_scalar(key) or dtype_of(key).is_float:
        raise Fault("not-static", "a tuple is indexed by constants only; put the values into a "
                                  "tensor, or unroll the loop with asc.static_range")
    if not -len(base) <= key < len(base):
        raise Fault("out-of-bounds", f"index {key} is out of range for a tuple of {len(base)}")
    return base[int(key)]


def _keys(key, rank):
    """The key as one entry an axis, with '...' spelled out."""
    keys = key if key.__class__ is tuple else (key,)
    used = 0
    dots = 0
    for k in keys:
        if k is Ellipsis:
            dots += 1
        elif k is not None:
            used += 1
    if dots > 1:
        raise Fault("bad-index", "an index can have one '...' only")
    if used > rank:
        raise Fault("too-many-indices", f"too many indices: the tensor has {rank} "
                                        f"{'axis' if rank == 1 else 'axes'} and the index {used}")
    out = []
    for k in keys:
        if k is Ellipsis:
            out += [slice(None)] * (rank - used)
        else:
            out.append(k)
    return out + [slice(None)] * (rank - used if not dots else 0)


def _check_index(k):
    if k is None or isinstance(k, slice):
        if isinstance(k, slice):
            for part in (k.start, k.stop, k.step):
                if part is not None and not (is_scalar(part) and dtype_of(part).is_int):
                    raise Fault("bad-index", "the bounds of a slice must be integers, not "
                                             f"{describe(part)}")
            if k.step is not None and k.step.__class__ is not Unknown and int(k.step) == 0:
                raise Fault("bad-index", "the step of a slice cannot be zero")
        return
    if is_scalar(k):
        t = dtype_of(k)
        if t is BOOL:
            raise Fault("bad-index", "an index must be an integer, not a bool")
        if t.is_float:
            raise Fault("bad-index", f"an index must be an integer, not {describe(k)}; use // or "
                                     "int()")
    elif is_tensor(k):
        if dtype_of(k) is BOOL:
            raise Fault("unsupported-mask", "indexing by a bool tensor would give a shape known only "
                                            "at run time; choose element by element: to write "
                                            "where a mask holds, y[:] = asc.where(mask, value, y)")
        raise Fault("unsupported-gather", "indexing by a tensor is not supported; use asc.take(x, "
                                          "indices, axis) or a loop")
    else:
        raise Fault("bad-index", f"an index must be an integer, a slice, None or ..., not "
                                 f"{describe(k)}")


def _slice_length(k, size):
    parts = (k.start, k.stop, k.step)
    if size is None or any(p.__class__ is Unknown for p in parts):
        return None
    return len(range(*slice(*(None if p is None else int(p) for p in parts)).indices(size)))


def _view_shape(shape, key):
    """The shape of a view, as far as it is known; checks indices that are."""
    out, axis = [], 0
    for k in _keys(key, len(shape)):
        _check_index(k)
        if k is None:
            out.append(1)
            continue
        size = shape[axis]
        if isinstance(k, slice):
            out.append(_slice_length(k, size))
        elif size is not None and k.__class__ is not Unknown and not -size <= k < size:
            raise out_of_bounds(k, axis, size)
        axis += 1
    return tuple(out)


def view(base, key):
    """The part of a tensor that `key` names, sharing its memory."""
    index, axis = [], 0
    for k in _keys(key, base.a.ndim):
        _check_index(k)
        if k is None:
            index.append(None)
            continue
        size = base.a.shape[axis]
        if isinstance(k, slice):
            index.append(slice(*(None if p is None else int(p)
                                 for p in (k.start, k.stop, k.step))))
        else:
            if not -size <= k < size:
                raise out_of_bounds(k, axis, size)
            index.append(int(k))
        axis += 1
    index = (*index, Ellipsis)
    return base.view(lambda a: a[index])


def _not_tensor(base):
    more = "; tuples and lists do not change in kernels" if is_sequence(base) else ""
    return Fault("not-subscriptable", "only elements of tensors can be assigned, and this is "
                                      f"{describe(base)}{more}")


def store(base, key, value):
    """base[key] = value."""
    if base.__class__ is Tensor:
        if value.__class__ is base.t.np and base.wide is None:
            try:
                if key.__class__ is tuple:
                    if len(key) == base.a.ndim and all(k.__class__ in _INDEX for k in key):
                        base.a[key] = value
                        return
                elif key.__class__ in _INDEX and base.a.ndim == 1:
                    base.a[key] = value
                    return
            except (IndexError, OverflowError):
                raise _first_bad(base.a.shape, key if key.__class__ is tuple else (key,)) from None
        v = view(base, key)
        ops.check_store(value, base.t, "a tensor")
        copy_into(v, value)
        return
    if base.__class__ is not Unknown or base.shape is None:
        raise _not_tensor(base)
    shape = _view_shape(base.shape, key)
    ops.check_store(value, base.t, "a tensor")
    _check_fits(shape, value)


def _check_fits(shape, value):
    have = shape_of(value)
    if not shape:
        if any(d != 1 and d is not None for d in have):
            raise Fault("shape-mismatch", f"cannot store {describe(value)} into one element")
        return
    trimmed = have
    while len(trimmed) > len(shape) and trimmed[0] in (1, None):
        trimmed = trimmed[1:]
    fits = len(trimmed) <= len(shape)
    for n, want in zip(reversed(trimmed), reversed(shape)):
        fits = fits and (n == want or n == 1 or n is None or want is None)
    if not fits:
        raise Fault("shape-mismatch", f"cannot store a tensor of shape {shape_text(have)} into one "
                                      f"of shape {shape_text(shape)}")


def copy_into(target, value):
    """Writes value, converted and broadcast, through a view."""
    _check_fits(target.a.shape, value)
    if value.__class__ is Tensor:
        a = dtypes.array(value.read(), value.t, target.t)
        extra = a.ndim - target.a.ndim
        if extra > 0:
            a = a.reshape(a.shape[extra:])
        if np.shares_memory(a, target.a):
            a = a.copy()
        target.write(a)
    else:
        target.write(ops.as_array(value, target.t))


def augment(base, key, op, value, wide=True):
    """base[key] op= value. With `wide`, sums into 16-bit floats are kept in float32 beside the
    memory."""
    if base.__class__ is Tensor:
        v = view(base, key)
        _finish_augment(base, v, v, op, value, wide)
        return
    if base.__class__ is not Unknown or base.shape is None:
        raise _not_tensor(base)
    shape = _view_shape(base.shape, key)
    total = apply(op, Unknown(base.t, shape or None), value)
    ops.check_store(total, base.t, "the tensor")
    _check_fits(shape, total)


def begin_augment(base, key):
    """The first half of base[key] op= value, where computing the value may write base: an element is
    read before, a view sees what is written."""
    v = view(base, key)
    return base, v, v if v.a.ndim else Tensor(v.t, v.a.copy(), None if v.wide is None else v.wide.copy())


def end_augment(begun, op, value, wide):
    _finish_augment(*begun, op, value, wide)


def _finish_augment(base, v, old, op, value, wide):
    """v op= value, `old` being what v held."""
    if wide and base.wide is not None and op in ("+", "-") and ops.is_number(value):
        before = Tensor(FLOAT32, old.wide) if old.a.ndim else load_scalar(FLOAT32, old.wide[()])
        total = ops.binary(op, before, value)
        ops.check_store(total, base.t, "the tensor")
        if dtype_of(total) is not FLOAT32:  # a float64 operand
            total = ops.cast(total, FLOAT32)
        _check_fits(v.a.shape, total)
        sums = ops.as_array(total, FLOAT32)
        rounded = dtypes.array(np.asarray(sums), FLOAT32, base.t)
        v.write(rounded)
        v.wide[...] = sums
        return
    total = apply(op, old if old.a.ndim else load_scalar(old.t, old.a[()]), value)
    ops.check_store(total, base.t, "the tensor")
    copy_into(v, total)


def apply(op, old, value):
    if op == "@":
        from .library import linalg
        return linalg.matmul(old, value)
    return ops.BY_SYMBOL[op](old, value)


def transposed(x, order):
    if x.__class__ is Unknown:
        return x.seen_as(tuple(x.shape[i] for i in order))
    return x.view(lambda a: a.transpose(order))
