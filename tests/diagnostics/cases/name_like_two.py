# $ pyasc check name_like_two.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[:] = asc.exp3(x)
