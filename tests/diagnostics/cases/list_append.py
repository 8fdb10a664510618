# $ pyasc check list_append.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    parts = []
    for i in range(4):
        parts.append(x[i])
    y[0] = parts[0]
