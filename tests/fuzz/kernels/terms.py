"""An expression while it is written: a text and what is known of its value."""

import dataclasses

from kernel import dtypes
from pyasc.interpret import library
from pyasc.interpret.context import CONTEXT
from pyasc.interpret.errors import Fault
from pyasc.interpret.values import Unknown, dtype_of, shape_of, strong

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
HALVES = ("float16", "bfloat16")


@dataclasses.dataclass
class E:
    text: str
    v: object

    @property
    def t(self):
        return dtype_of(self.v)

    @property
    def shape(self):
        return shape_of(self.v)


def typed(function, *args, **kwargs):
    """function of values that are only partly known; None where it does not type."""
    CONTEXT.translating += 1
    CONTEXT.mixed = False
    try:
        return function(*args, **kwargs)
    except (Fault, TypeError, OverflowError, ValueError, ZeroDivisionError):
        return None
    finally:
        CONTEXT.translating -= 1


def unknown(t, shape=None):
    return Unknown(dtypes.BY_NAME[t] if isinstance(t, str) else t, shape)


def held(v):
    """What a variable that is assigned `v` may hold on some path."""
    v = strong(v)
    return v if v.__class__ is Unknown else Unknown(dtype_of(v))


def entry(name, reach="asc"):
    return library.TABLE[(reach, name)].function
