# $ pyasc check race_between_neighbours.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]):
    for i in asc.parallel_for(1, N):
        x[i] = x[i - 1]
