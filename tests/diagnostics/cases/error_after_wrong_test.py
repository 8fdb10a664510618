# $ pyasc check error_after_wrong_test.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    if x:
        y[0] = asc.sofmax(x)[0]
    elif N > 1:
        y[N] = 1.0
    else:
        y[:] = x
    while y:
        y[0] = nowhere
