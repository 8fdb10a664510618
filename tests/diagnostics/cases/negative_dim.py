# $ pyasc check negative_dim.py
import pyasc as asc


@asc.kernel
def k(y: asc.float32[N]):
    t = asc.zeros((-1, 4), asc.float32)
    y[0] = t[0, 0]
