# $ pyasc check results_of_tuple.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]) -> asc.float16:
    return x * 2, x * 3
