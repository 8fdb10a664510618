# $ pyasc check not_of_c.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(N):
        if !(x[i] > 0.0):
            y[i] = x[i]
