# $ pyasc check helper_too_many_arguments.py
import pyasc as asc

def scale(v, factor):
    return v * factor


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[0] = scale(x[0], 2.0, 3.0)
