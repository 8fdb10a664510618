# $ pyasc check increment_of_c.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    i = 0
    while i < N:
        y[i] = x[i]
        i++
