# $ pyasc check slice_of_run_time_length.py
import pyasc as asc


@asc.kernel
def k(n: int, x: asc.float32[N], y: asc.float32[N]):
    y[0:n] = x[0:n]
