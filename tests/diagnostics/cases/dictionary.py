# $ pyasc check dictionary.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    scales = {'a': 1.0}
    y[0] = scales['a'] * x[0]
