# The remainder of an int32 parameter in an index was computed of 32 and 64 bits together.
# x: float32 = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
# q: int32 = 7
# r: int8 = -3
import pyasc as asc


@asc.kernel
def k(x: asc.float32[6], q: asc.int32, r: asc.int8):
    s = 0
    for i in range(q % 6):
        s += i + 1
    for i in range(r % 4, q // 2):
        s += i
    return x[q % 6], x[r % 5], x[r // 2], s, q * 1000000000
