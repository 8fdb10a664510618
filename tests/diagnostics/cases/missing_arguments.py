# $ pyasc compile missing_arguments.py
import pyasc as asc


@asc.kernel
def k(x: asc.tensor, y: asc.tensor):
    return x + y
