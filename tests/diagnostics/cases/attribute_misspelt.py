# $ pyasc check attribute_misspelt.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(x.shpae[0]):
        y[i] = x[i]
