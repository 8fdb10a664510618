# $ pyasc compile float_for_int.py --arg n=2.5 --arg 'x=f32[8]'
import pyasc as asc


@asc.kernel
def k(n: int, x: asc.float32[N]):
    for i in asc.parallel_for(n):
        x[i] = 0.0
