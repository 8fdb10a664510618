# $ pyasc check delete.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    t = x[0]
    del t
    y[0] = 1.0
