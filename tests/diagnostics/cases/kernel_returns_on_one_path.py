# $ pyasc check kernel_returns_on_one_path.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    if x[0] > 0.0:
        return x[0]
