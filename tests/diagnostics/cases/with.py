# $ pyasc check with.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    with open('log') as f:
        y[0] = x[0]
