# $ pyasc check error_in_helper.py
import pyasc as asc

def total(v):
    s = 0.0
    for i in range(v.shape[0] + 1):
        s += v[i]
    return s


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[0] = total(x)
