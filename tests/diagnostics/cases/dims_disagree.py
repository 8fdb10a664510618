# $ pyasc compile dims_disagree.py --arg 'x=f32[8]' --arg 'y=f32[9]'
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = x[i]
