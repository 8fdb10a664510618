# $ pyasc check rebound_scalar.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32, y: asc.float32):
    y = x * 2
