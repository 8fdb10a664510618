# $ pyasc check alias_by_rebound_name.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    t = x
    for i in range(3):
        t[0] = 1.0
        t = t + 1.0
    y[0] = t[0]
