# An internal error: a view was made of the indices of a statement that no iteration reaches.
# Z: float32 = [0.0]
import pyasc as asc


@asc.kernel
def k(Z: asc.float32[1]):
    for j in range(2):
        for i in range(j, j):
            Z[i] = Z[i - 1]
