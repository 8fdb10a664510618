"""The library of kernels, on values: see table.py. Each file holds one kind of functions."""

import math

from .. import dtypes
from ..errors import Fault
from . import elementwise, reduction, linalg, shape, normalization, creation  # noqa: F401
from . import builtin, convolution, order, cores  # noqa: F401
from .table import ASC, BUILTIN, MATH, METHOD, NUMPY, TABLE, Entry

VERSION = "1.0.0"


def module_attribute(module, name):
    """`module`.`name` for asc, math and numpy; KeyError when there is none."""
    if module != MATH and name in dtypes.BY_NAME:
        return dtypes.BY_NAME[name]
    if name in ("inf", "nan", "pi", "e") or module == MATH and name == "tau":
        return getattr(math, name)
    if module != MATH and name == "newaxis":
        return None
    if module == ASC and name == "__version__":
        return VERSION
    return TABLE[(module, name)]


def closest(name, candidates):
    """The candidate nearest to a misspelt name, "" when none is near."""
    best, best_distance = "", 3
    for c in candidates:
        if c == name or min(len(c), len(name)) < 2:
            continue
        # Two letters are much of a short name, unless they changed places.
        most = 2 if len(name) < 6 and sorted(name) != sorted(c) else 3
        d = _distance(name, c, min(most, best_distance))
        if d < most and d < best_distance:
            best, best_distance = c, d
    return best


def _distance(a, b, limit):
    if abs(len(a) - len(b)) >= limit:
        return limit
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
        row = new
    return row[-1]
