# $ pyasc check needs_two_elements.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[0] = x[0] + x[1]
