# $ pyasc check unrolled_too_far.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[64], y: asc.float32[64]):
    for i in asc.static_range(64):
        for j in asc.static_range(64):
            for l in asc.static_range(64):
                y[i] += x[j] * x[l]
