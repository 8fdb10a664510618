# $ pyasc check results_too_few.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]) -> tuple[asc.float32[N], asc.float32, asc.int32]:
    return x * 2, x[0]
