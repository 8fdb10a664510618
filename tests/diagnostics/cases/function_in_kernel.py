# $ pyasc check function_in_kernel.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    def double(v):
        return v * 2.0
    y[0] = double(x[0])
