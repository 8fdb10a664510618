# $ pyasc check read_before_assigned.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in range(N):
        y[i] = s
    s = 0.0
