# $ pyasc check string_as_data.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    mode = 'fast' + x
    y[0] = 1.0
