# $ pyasc check parameter_twice.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N], x: asc.float32[N]):
    x[0] = y[0]
