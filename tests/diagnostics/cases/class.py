# $ pyasc check class.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    class Tile:
        size = 32
    y[0] = x[0]
