# $ pyasc run endless_loop.py --timeout 3 --target host --arg 'x=zeros:f32[8]'
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]):
    while x[0] < 1.0:
        x[1] += 1.0
