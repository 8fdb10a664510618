# $ pyasc check reduced_and_read.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    total = 0.0
    for i in asc.parallel_for(N):
        total += x[i]
        y[i] = x[i] / total
    y[0] = total
