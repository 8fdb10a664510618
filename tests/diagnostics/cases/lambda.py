# $ pyasc check lambda.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    f = lambda v: v * 2.0
    for i in range(N):
        y[i] = f(x[i])
