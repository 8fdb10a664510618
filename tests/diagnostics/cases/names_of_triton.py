# $ pyasc check names_of_triton.py
import pyasc as asc
import triton.language as tl


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    block = asc.program_id(0)
    a = asc.load(x)
    asc.store(y, a)
    b = tl.load(x)
    c = tl.arange(0, 4)
    d = asc.make_block_ptr(x)
