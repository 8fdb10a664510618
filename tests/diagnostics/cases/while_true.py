# $ pyasc check while_true.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]):
    while True:
        x[0] += 1.0
