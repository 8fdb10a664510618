# The oracle took what the interpreter computes in float32 before the run for exact.
# y: float32 = [0.0, 0.0]
import pyasc as asc


@asc.kernel
def k(y: asc.float32[2]):
    y[1] = asc.exp(asc.minimum(asc.int8(2) + 0, 1.0)) / 4.0 / 3.0
