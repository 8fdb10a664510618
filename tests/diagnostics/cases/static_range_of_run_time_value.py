# $ pyasc check static_range_of_run_time_value.py
import pyasc as asc


@asc.kernel
def k(n: int, x: asc.float32[N], y: asc.float32[N]):
    for i in asc.static_range(n):
        y[i] = x[i]
