# $ pyasc check loop_stop_is_float.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(N / 2):
        y[i] = x[i]
