# $ pyasc check while_never_changes.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    i = 0
    while i < N:
        y[i] = x[i]
