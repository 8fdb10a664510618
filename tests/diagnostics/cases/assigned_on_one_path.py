# $ pyasc check assigned_on_one_path.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    if x[0] > 0.0:
        s = 1.0
    y[0] = s
