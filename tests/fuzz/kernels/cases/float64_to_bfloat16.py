# The host's code called a function for it that no library had.
# x: float64 = [1.0, 1.00390625, 1.003906250000001, -1.00390625, 3.0e38, 1.0e300, -0.0]
# y: bfloat16 = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
import pyasc as asc


@asc.kernel
def k(x: asc.float64[7], y: asc.bfloat16[7]):
    for i in range(7):
        y[i] = x[i]
    return asc.cast(x, asc.bfloat16)
