# $ pyasc check unclosed_bracket.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = (x[i] + 1.0
        y[i] *= 2.0
