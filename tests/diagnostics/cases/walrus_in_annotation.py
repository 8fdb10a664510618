# $ pyasc check walrus_in_annotation.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[(n := 4)]):
    x[0] = 1.0
