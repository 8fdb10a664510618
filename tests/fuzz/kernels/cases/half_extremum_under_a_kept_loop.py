# The float32 temporary of a 16-bit minimum was allocated behind the loop that uses it.
# src: bfloat16 = [[0.0, 2.0, 1.0], [1.0, 0.5, 3.0], [2.0, 4.0, 0.25]]
# best: bfloat16 = [0.0, 0.0]
import pyasc as asc


@asc.kernel
def k(src: asc.bfloat16[3, 3], best: asc.bfloat16[2]):
    for v in range(2):
        n = src[v, 1]
        for col in range(2):
            n = min(n, src[v + col, 1])
        best[v] = n
