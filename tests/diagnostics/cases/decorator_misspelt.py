# $ pyasc check decorator_misspelt.py
import pyasc as asc


@asc.kernal
def k(x: asc.float32[N]):
    x[0] = 1.0
