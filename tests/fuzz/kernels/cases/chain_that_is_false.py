# The interpreter went on behind a comparison of literals that is false, and gave both sides one type.
# v: int32 = [-2147483648, 5]
import pyasc as asc


@asc.kernel
def k(v: asc.int32[2]):
    for i in range(1):
        v[0] = max(-(i if 8 == 0 > i else v[0]), 0)
    return 1 if 1 < 2 < 3 else 0.5, 1 if v[1] < 9 > 10 else 0.5
