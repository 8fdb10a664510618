# Refused: a whole tensor updated in a branch was taken for one that is bound anew there.
# x: float32 = [[1.0, 2.0], [3.0, 4.0]]
# n: int = 3
import pyasc as asc


@asc.kernel
def k(x: asc.float32[2, 2], n: int):
    y = x
    t = asc.zeros(3)
    if n > 2:
        x @= x
        t += n
    elif n < 0:
        y -= 1
    for i in range(n):
        if i == n - 2:
            break
        t *= 2
    else:
        y //= 2
    return t, y + 0
