# $ pyasc check three_errors.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    s = asc.sofmax(x)
    t = asc.expp(x[0])
    for i in asc.parallel_for(N):
        y[0] = x[i]
        y[i] = s[i] + t
