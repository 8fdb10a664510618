# A conditional whose condition could be proved had the type of one side alone.
# a: int32 = [16777217, 4]
# b: bool = [False, True]
# n: int = 3
import pyasc as asc


@asc.kernel
def k(a: asc.int32[2], b: asc.bool[2], n: int):
    t = a[0]
    for i in range(2):
        if i >= 0:
            t = a[i]
        else:
            t = 0.5
        a[i] = asc.int32(t) if i < 2 and n == n else asc.int32(0.5)
    return (a[0] if n <= n else a[0] / 4), (b[1] - a[1] if n >= n else 0.5), t, \
        (a[0] if not n != n else 1.5)
