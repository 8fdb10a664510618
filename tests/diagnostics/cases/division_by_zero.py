# $ pyasc check division_by_zero.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(N):
        y[i // 0] = x[i]
