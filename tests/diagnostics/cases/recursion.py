# $ pyasc check recursion.py
import pyasc as asc

def fact(v, n):
    return v if n == 0 else v * fact(v, n - 1)


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[0] = fact(x[0], 5)
