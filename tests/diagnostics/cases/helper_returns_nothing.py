# $ pyasc check helper_returns_nothing.py
import pyasc as asc


def store(v, i):
    v[i] = 1.0


@asc.kernel
def k(x: asc.float32[N]):
    x[1] = store(x, 0)
