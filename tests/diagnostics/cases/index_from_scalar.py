# $ pyasc run index_from_scalar.py --arg n=9 --arg 'x=ones:f32[8]' --arg 'y=zeros:f32[8]'
import pyasc as asc


@asc.kernel
def k(n: int, x: asc.float32[N], y: asc.float32[N]):
    y[0] = x[n]
