# $ pyasc check float_into_int.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.int32[N]):
    for i in asc.parallel_for(N):
        y[i] = 0.5 * x[i]
