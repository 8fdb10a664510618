# $ pyasc check host_array.py
import pyasc as asc

import numpy as np

TABLE = np.load('table.npy')

@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = TABLE[0] * x[i]
