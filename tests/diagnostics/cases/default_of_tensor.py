# $ pyasc check default_of_tensor.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], bias: asc.float32[N] = 0.0):
    x[:] = x + bias
