# Functions of float32 gave what is in float64, and the bound was float64's.
import pyasc as asc


@asc.kernel
def k():
    return asc.randn((3, 7), 42, asc.float64)
