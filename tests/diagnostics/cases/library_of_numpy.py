# $ pyasc check library_of_numpy.py
import pyasc as asc

import numpy as np

@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[:] = np.convolve(x, x)
