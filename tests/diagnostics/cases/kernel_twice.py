# $ pyasc check kernel_twice.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]):
    x[0] = 1.0


@asc.kernel
def k(x: asc.float32[N]):
    x[0] = 2.0
