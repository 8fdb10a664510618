# $ pyasc check float_index.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(N):
        y[i / 2] = x[i]
