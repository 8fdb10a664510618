# LLVM's SLP vectoriser took a widened int8 that is read as an uint16 for an unsigned byte.
# q: uint16 = [0, 0]
# u: int8 = [-3, 4]
import pyasc as asc


@asc.kernel
def k(q: asc.uint16[2], u: asc.int8[2]):
    q[:] = u
    for i in range(2):
        q[i] = asc.uint16(q[i] - 0.5)
