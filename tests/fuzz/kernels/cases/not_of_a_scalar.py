# Refused: logical_not of a scalar was taken for ~.
# n: int = 0
import pyasc as asc


@asc.kernel
def k(n: int):
    x = asc.float32(2.5)
    return asc.logical_not(n), asc.logical_not(0.5), 7 if round(x) == 2 else 0.5
