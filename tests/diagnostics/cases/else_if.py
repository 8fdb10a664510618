# $ pyasc check else_if.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    if x[0] > 1.0:
        y[0] = 1.0
    else if x[0] > 0.0:
        y[0] = 0.5
