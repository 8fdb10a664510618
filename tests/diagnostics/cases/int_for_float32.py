# $ pyasc compile int_for_float32.py --arg alpha=2 --arg 'x=f32[8]'
import pyasc as asc


@asc.kernel
def k(alpha: asc.float32, x: asc.float32[N]):
    for i in asc.parallel_for(N):
        x[i] = alpha * x[i]
