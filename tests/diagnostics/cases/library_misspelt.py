# $ pyasc check library_misspelt.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[:] = asc.sofmax(x)
