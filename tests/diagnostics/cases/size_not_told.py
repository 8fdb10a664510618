# $ pyasc check size_not_told.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N - M], y: asc.float32[4]):
    y[0] = x[0]
