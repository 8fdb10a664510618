# $ pyasc check decorator_of_triton.py
import triton


@triton.jit
def k(x: asc.float32[N]):
    x[0] = 1.0
