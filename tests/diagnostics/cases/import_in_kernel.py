# $ pyasc check import_in_kernel.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    import math
    y[0] = math.sqrt(2.0) * x[0]
