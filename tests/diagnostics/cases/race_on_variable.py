# $ pyasc check race_on_variable.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    last = 0.0
    for i in asc.parallel_for(N):
        last = x[i]
    y[0] = last
