# $ pyasc check constant_index.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[8], y: asc.float32[8]):
    y[0] = x[8]
