# $ pyasc check matmul_shapes.py
import pyasc as asc


@asc.kernel
def k(A: asc.float32[M, K], B: asc.float32[N, K], C: asc.float32[M, N]):
    C[:] = A @ B
