# $ pyasc check strict_memory_by_size.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    s = asc.shared_memory((N, 400), asc.float32, strict=True)
    for i in range(N):
        s[i, 0] = x[i]
    for i in range(N):
        y[i] = s[i, 0]
