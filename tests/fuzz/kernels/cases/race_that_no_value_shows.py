# The simulator tells a race of the kernel's: all iterations read an element that one writes, with what it held.
# x: int32 = [[0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0]]
import pyasc as asc


@asc.kernel
def k(x: asc.int32[2, 9]):
    for i, j in asc.parallel_for_grid(2, 9):
        x[i, j] = x[0, (i ** 0) % 6]
