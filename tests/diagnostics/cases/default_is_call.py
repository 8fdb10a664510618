# $ pyasc check default_is_call.py
import pyasc as asc


def two():
    return 2


def scaled(v, by=two()):
    return v * by


@asc.kernel
def k(x: asc.float32[N]):
    x[0] = scaled(x[0])
