# A uint64 index beyond int64 was counted from the end.
# u: uint64 = [18446744073709551614]
# x: float32 = [1.0, 2.0, 3.0]
import pyasc as asc


@asc.kernel
def k(u: asc.uint64[1], x: asc.float32[3]):
    return x[u[0]]
