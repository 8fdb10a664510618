# MLIR takes 3 for the least value of i % 4 over i = 3, 4: loops ran too often, and quotients were constants.
# y: float32 = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# z: int32 = [0, 0, 0, 0, 0, 0]
import pyasc as asc


@asc.kernel
def k(y: asc.float32[6], z: asc.int32[6]):
    for i in range(3, 5):
        for j in range(i % 4):
            y[j] += i
        for j in range(5, i % 4, -1):
            y[j] -= i
    for i in range(3, 6):
        z[i] = i % 4 // 2
        z[(i % 4 + 1) // 4] += i
        for j in asc.parallel_for(min(i % 4, 2), 6):
            z[j] += 1
