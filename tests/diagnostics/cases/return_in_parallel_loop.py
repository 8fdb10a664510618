# $ pyasc check return_in_parallel_loop.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        if x[i] > 0.0:
            return
        y[i] = x[i]
