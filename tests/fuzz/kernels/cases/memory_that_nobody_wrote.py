# The compiler crashed: a producer that reads what it overwrites was inlined into its only reader.
# x: float32 = [0.5, 1.5, -2.0, 4.0]
# y: float32 = [0.0, 0.0, 0.0, 0.0]
import pyasc as asc


@asc.kernel
def k(x: asc.float32[4], y: asc.float32[4]):
    for i in asc.parallel_for(0, 4, 2):
        t = asc.shared_memory(2, asc.float32)
        t[:] = t + x[i:i + 2]
        y[i:i + 2] = t + t
