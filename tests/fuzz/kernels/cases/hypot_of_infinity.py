# The interpreter's hypot gave NaN for an infinite side beside NaN.
# x: float32 = [inf, nan, -inf, 3.0]
# y: float32 = [nan, -inf, 1.0, 4.0]
import pyasc as asc


@asc.kernel
def k(x: asc.float32[4], y: asc.float32[4]):
    return asc.hypot(x, y), asc.hypot(x[0], y[0]), asc.hypot(x[3], 4.0)
