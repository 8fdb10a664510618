# $ pyasc check star_arguments.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], *y: asc.float32[N]):
    y[0] = x[0]
