# $ pyasc check reshape_loses_elements.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[16], y: asc.float32[3, 5]):
    y[:] = x.reshape(3, 5)
