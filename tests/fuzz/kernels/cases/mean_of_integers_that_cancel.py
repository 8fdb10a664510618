# The bound took a float32 that integers became for exact, since float64 of the text's own floats changed nothing.
# q: int32 = [0, 0, 2147483647, 0, 0, 2147483647, 0, -2147483648, 0, 0, -2147483648, 0, 0, 0, 0, 2]
import pyasc as asc


@asc.kernel
def k(q):
    return asc.mean(q)
