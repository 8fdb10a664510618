# $ pyasc run int8_of_300.py --arg 'x=zeros:f32[8]' --arg 'n=300'
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], n: asc.int8):
    x[0] = n
