# $ pyasc check off_by_one_static.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[1024], y: asc.float32[1024]):
    for i in range(1024):
        y[i] = x[i + 1]
