# The interpreter did not store rows whose leading axis is a slice of loop variables, of one row, into fewer axes.
# x: int32 = [[0, 1], [2, 3], [4, 5], [6, 7]]
import pyasc as asc


@asc.kernel
def k(x: asc.int32[4, 2]):
    y = asc.zeros((4, 2), asc.int32)
    for i in range(4):
        y[3 - i, :] = x[i:i + 1, :] * 2
    return y
