# $ pyasc check assert_shape_fails.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[4, 8], y: asc.float32[N]):
    asc.assert_shape(x, (4, 4))
    y[0] = x[0, 0]
