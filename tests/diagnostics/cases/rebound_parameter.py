# $ pyasc check rebound_parameter.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y = x * 2
