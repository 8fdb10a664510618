# $ pyasc check called_kernel.py
import pyasc as asc


@asc.kernel
def inner(x: asc.float32[N]):
    return asc.nope(x)


@asc.kernel
def outer(x: asc.float32[N]):
    return inner(x)
