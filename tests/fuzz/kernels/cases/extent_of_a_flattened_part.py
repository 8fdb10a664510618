# The interpreter took a flattened slice, whose length it did not know before the run, for empty,
# and for one without an item.
# X0: uint8 = [[1], [2], [3]]
# Y2: int = 0
import pyasc as asc


@asc.kernel
def k(X0: asc.uint8[N0, 1], Y2: int):
    T1 = asc.flatten(X0[Y2:Y2 + 3:2])
    return T1 > asc.zeros(T1.shape, T1.dtype), X0[Y2:Y2 + 1].item()
