# MLIR's canonicalizer took x - x into x for a copy of x to itself and erased it.
# a: int32 = [-9, 4]
# b: uint32 = [9, 7]
# c: int64 = [8, 1]
import pyasc as asc


@asc.kernel
def k(a: asc.int32[2], b: asc.uint32[2], c: asc.int64[2]):
    a[:] = a - a
    b[:] = b ^ b
    c[:] -= c
