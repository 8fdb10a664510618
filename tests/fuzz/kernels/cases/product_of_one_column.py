# The zeros of a product with one column were folded into it for the cube, and it then became a vector step.
# Q: float32 = [[1.0], [1.0]]
# left: float32 = [[0.0], [1.0]]
# R: float32 = [[0.0], [1.0]]
# w: float32 = [[1.0], [1.0]]
# v: float16 = [[1.0], [1.0]]
# x: float16 = [[1.0], [3.0]]
import pyasc as asc


@asc.kernel
def k(Q: asc.float32[2, 1], left: asc.float32[2, 1], R: asc.float32[2, 1], w: asc.float32[2, 1],
      v: asc.float16[2, 1], x: asc.float16[2, 1]):
    r = asc.softmax(Q @ left.T)
    w[:] = r @ R
    t = (x @ x.T) * 2
    v[:] = t @ x
