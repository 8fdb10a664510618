# $ pyasc check value_unused.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[0] == 1.0
    asc.sort(x)
    y[:] = x
