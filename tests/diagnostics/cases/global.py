# $ pyasc check global.py
import pyasc as asc

COUNT = 0

@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    global COUNT
    COUNT = 1
    y[0] = x[0]
