# $ pyasc check wrong_axis.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[R, C], y: asc.float32[R]):
    y[:] = asc.sum(x, axis=0)
