# $ pyasc check shapes_do_not_broadcast.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[64, 32], w: asc.float32[48], y: asc.float32[64, 32]):
    y[:] = x + w
