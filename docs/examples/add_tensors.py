import pyasc as asc


@asc.kernel
def add_tensors(a: asc.float32, b: asc.float32) -> asc.float32:
    return a + b
