"""Cores, atomics, random numbers."""

import numpy as np

from .. import dtypes, indexing, ops, philox
from ..context import CONTEXT
from ..dtypes import FLOAT32, INT64
from ..values import Tensor
from .table import (ASC, Fault, Unknown, constant_int, dtype_argument, dtype_of, entry,
                    expect_tensor, is_scalar, known, new_shape, size_of)


def _atomic(name, op):
    def operation(tensor, index, value):
        expect_tensor(tensor, f"the first argument of {name}")
        if op == "+":
            indexing.augment(tensor, index, "+", value)
            return
        old = indexing.load(tensor, index)
        new = ops.binary(op, old, value)
        indexing.store(tensor, index, new)
    return operation


entry(ASC, "atomic_add", pure=False)(_atomic("atomic_add", "+"))
entry(ASC, "atomic_max", pure=False)(_atomic("atomic_max", "max"))
entry(ASC, "atomic_min", pure=False)(_atomic("atomic_min", "min"))


# One core runs everything here; a kernel whose result depends on how many there are has to say so.
@entry(ASC, "block_idx", pure=False)
def block_idx():
    return Unknown(INT64) if CONTEXT.translating else np.int64(0)


@entry(ASC, "num_blocks", pure=False)
def num_blocks():
    return Unknown(INT64) if CONTEXT.translating else np.int64(1)


def _random(name, generate, shape, seed, dtype):
    shape = new_shape(shape)
    t = FLOAT32 if dtype is None else dtype_argument(dtype)
    if not t.is_float:
        raise Fault("type-mismatch", f"{name} gives floats, not {t.name}")
    if not is_scalar(seed) or not dtype_of(seed).is_int:
        raise Fault("type-mismatch", f"the seed of {name} is an integer")
    if not known(seed) or CONTEXT.translating:
        return Unknown(t, shape)
    values = generate(size_of(shape), int(seed), FLOAT32.np).reshape(shape)
    return ops.from_array(dtypes.array(values, FLOAT32, t), t)


@entry(ASC, "rand", pure=False)
def rand(shape, seed, dtype=None):
    return _random("rand", philox.uniform, shape, seed, dtype)


@entry(ASC, "randn", pure=False)
def randn(shape, seed, dtype=None):
    return _random("randn", philox.normal, shape, seed, dtype)
