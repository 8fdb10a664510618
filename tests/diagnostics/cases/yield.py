# $ pyasc check yield.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(N):
        yield x[i]
