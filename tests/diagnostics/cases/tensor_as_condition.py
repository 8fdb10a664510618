# $ pyasc check tensor_as_condition.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    if x > 0:
        y[0] = 1.0
