# The interpreter gave a constexpr the type int32, which has none in common with uint64.
# u: uint64 = [0, 3]
# y: int = 1
import pyasc as asc


@asc.kernel
def k(u: asc.tensor, y: asc.constexpr):
    return u > y, u + y
