# The tiles of a product were stored as whole rows by the elementwise operation that takes them from the cube.
# x: bfloat16 = [[1.0], [2.0], [3.0], [-1.0], [0.5], [4.0], [1.0], [2.0], [3.0], [-1.0], [0.5], [4.0], [1.0], [2.0], [3.0], [-1.0], [0.5], [4.0], [1.0], [2.0], [3.0], [-1.0], [0.5], [4.0], [1.0], [2.0], [3.0], [-1.0], [0.5], [4.0], [7.0], [8.0]]
import pyasc as asc


@asc.kernel
def k(x: asc.bfloat16[32, 1]):
    p = x @ x.T
    return p + p
