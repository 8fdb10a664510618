# $ pyasc check axis_out_of_range.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[R, C], y: asc.float32[R]):
    y[:] = asc.sum(x, axis=2)
