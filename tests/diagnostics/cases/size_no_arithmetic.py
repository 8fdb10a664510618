# $ pyasc check size_no_arithmetic.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N ** 2]):
    y[0] = x[0]
