# $ pyasc compile scalar_for_tensor.py --arg x=1.5
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]):
    for i in asc.parallel_for(N):
        x[i] = 0.0
