# The interpreter took what it makes of a slice of loop variables to have one element.
# x: int32 = [0, 1, 2, 3, 4, 5, 6]
import pyasc as asc


@asc.kernel
def k(x: asc.int32[7]):
    s = 0
    for i in range(6):
        t = x[i:i + 2] * 2
        s += t[1]
        u = asc.take(x, x[i:i + 2] % 7, -1) + t
        s += u[-1]
    return s
