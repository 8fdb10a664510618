# MLIR folded the bound (-i) % 2 of a loop, for i = 0 and 1, to 1.
# o: int32 = [0, 0, 0, 0]
import pyasc as asc


@asc.kernel
def k(o: asc.int32[4]):
    for i in range(2):
        for j in range(-i % 2):
            o[i] += 1
        for j in range((i - 1) % 4):
            o[i + 2] += j
        for j in range(min((i - 1) % 4, i + 2), 5):
            o[(i - 1) % 4] += 10
