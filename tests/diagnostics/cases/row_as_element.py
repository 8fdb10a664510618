# $ pyasc check row_as_element.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N, C], y: asc.float32[N]):
    total = 0.0
    for i in range(N):
        total += x[i]
    y[0] = total
