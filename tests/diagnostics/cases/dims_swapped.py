# $ pyasc check dims_swapped.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[R, C], y: asc.float32[R, C]):
    for i in asc.parallel_for(R):
        for j in range(C):
            y[i, j] = x[j, i]
