import pyasc as asc

N = asc.dims('N')


@asc.kernel
def saxpy(alpha: float, x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] += alpha * x[i]
