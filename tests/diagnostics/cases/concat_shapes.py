# $ pyasc check concat_shapes.py
import pyasc as asc


@asc.kernel
def k(a: asc.float32[4, 8], b: asc.float32[5, 8], y: asc.float32[4, 16]):
    y[:] = asc.concat([a, b], axis=1)
