# $ pyasc check variable_changes_kind.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    best = x[0]
    if x[0] > 1.0:
        best = x
    y[0] = best
