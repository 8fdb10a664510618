# $ pyasc check name_misspelt.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    total = 0.0
    for i in range(N):
        total += x[i]
    y[0] = totl
