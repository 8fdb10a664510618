# $ pyasc check float64_on_chip.py
import pyasc as asc


@asc.kernel
def k(x: asc.float64[N], y: asc.float64[N]):
    for i in asc.parallel_for(N):
        y[i] = x[i]
