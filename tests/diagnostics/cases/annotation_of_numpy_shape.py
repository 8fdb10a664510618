# $ pyasc check annotation_of_numpy_shape.py
import pyasc as asc


@asc.kernel
def k(x: float[N]):
    x[0] = 1.0
