# $ pyasc check mask_assignment.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[x > 0] = 1.0
