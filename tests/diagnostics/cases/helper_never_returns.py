# $ pyasc check helper_never_returns.py
import pyasc as asc

LARGE = False


def f(v):
    if LARGE:
        return v
    if LARGE:
        return v + 1.0


@asc.kernel
def k(x: asc.float32[N]):
    x[0] = f(1.0)
