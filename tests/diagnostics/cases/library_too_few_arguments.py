# $ pyasc check library_too_few_arguments.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[:] = asc.where(x > 0.0, x)
