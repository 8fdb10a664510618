# $ pyasc check result_of_no_type.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]) -> asc.flaot32[N]:
    return x * 2
