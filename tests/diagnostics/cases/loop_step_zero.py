# $ pyasc check loop_step_zero.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(0, N, 0):
        y[i] = x[i]
