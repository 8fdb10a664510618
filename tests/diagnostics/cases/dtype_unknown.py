# $ pyasc check dtype_unknown.py
import pyasc as asc


@asc.kernel
def k(y: asc.float32[N]):
    t = asc.zeros((4,), asc.flaot32)
    y[0] = t[0]
