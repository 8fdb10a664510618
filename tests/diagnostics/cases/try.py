# $ pyasc check try.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    try:
        y[0] = x[0]
    except IndexError:
        pass
