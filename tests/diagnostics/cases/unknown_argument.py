# $ pyasc compile unknown_argument.py --arg alhpa=1.5 --arg alpha=1.0 --arg 'x=f32[8]' --arg 'y=f32[8]'
import pyasc as asc


@asc.kernel
def k(alpha: float, x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = alpha * x[i]
