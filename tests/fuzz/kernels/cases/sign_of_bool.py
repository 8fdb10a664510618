# The compiler gave an int32, the interpreter a bool.
# y: bool = [False, True]
import pyasc as asc


@asc.kernel
def k(y: asc.bool[2]):
    return asc.sign(y), asc.sign(y[1])
