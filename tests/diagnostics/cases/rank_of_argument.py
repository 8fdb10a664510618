# $ pyasc compile rank_of_argument.py --arg 'x=f32[8]' --arg 'y=f32[8,4]'
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N, C], y: asc.float32[N, C]):
    for i in asc.parallel_for(N):
        y[i, 0] = x[i, 0]
