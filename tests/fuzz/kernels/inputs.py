"""Numbers for a kernel's arguments."""

import numpy as np

from terms import INTS
from kernel import to_array


def inputs(random, shape, dtype):
    """Numbers that sums and products keep exact, and now and then an extreme one."""
    n = int(np.prod(shape))
    rng = np.random.default_rng(random.getrandbits(64))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        info = np.iinfo(dtype)
        x = rng.integers(max(-9, info.min), 10, n)
        if n and random.random() < .3:
            x = x.astype(object)
            for i in rng.integers(0, n, 1 + n // 5):
                x[i] = random.choice((int(info.min), int(info.max), int(info.max) // 2, 0))
            x = np.array(x.tolist(), dtype)
        return x.astype(dtype).reshape(shape)
    x = rng.integers(-8, 9, n) / random.choice((1, 1, 2, 4))
    if n and random.random() < .08:
        x[rng.integers(0, n, 1 + n // 8)] = random.choice((np.nan, np.inf, -np.inf, -0.0))
    return to_array(x.reshape(shape), dtype)
