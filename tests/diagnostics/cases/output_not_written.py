# $ pyasc run output_not_written.py --arg 'x=ones:f32[8]' --arg 'y=zeros:f32[8]' --out x=x.npy
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[0] = x[0]
