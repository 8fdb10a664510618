# $ pyasc check annotation_no_type.py
import pyasc as asc


@asc.kernel
def k(x: asc.flaot32[N]):
    x[0] = 1.0
