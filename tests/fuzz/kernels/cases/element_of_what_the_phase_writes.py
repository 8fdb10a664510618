# The simulator's phase read an element before it wrote the tensor.
# y: float32 = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
import pyasc as asc


@asc.kernel
def k(y: asc.float32[2, 3]):
    y[:] = 2
    return asc.sum(y[0, 0] - y, 1, False)
