# $ pyasc check no_kernel.py
import pyasc as asc


def k(x: asc.float32[N]):
    x[0] = 1.0
