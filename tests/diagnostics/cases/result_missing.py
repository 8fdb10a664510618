# $ pyasc check result_missing.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]) -> asc.float32[N]:
    x[0] = 1.0
