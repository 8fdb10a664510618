# $ pyasc compile negative_axis.py --arg 'x=f32[1]'
import pyasc as asc


@asc.kernel
def k(x: asc.float32[-1]):
    x[0] = 1.0
