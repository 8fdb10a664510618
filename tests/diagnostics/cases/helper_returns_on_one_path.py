# $ pyasc check helper_returns_on_one_path.py
import pyasc as asc

def clamp(v):
    if v > 1.0:
        return 1.0


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = clamp(x[i])
