# $ pyasc check library_wrong_keyword.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[:] = asc.softmax(x, dim=0)
