# $ pyasc check off_by_one.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = x[i + 1]
