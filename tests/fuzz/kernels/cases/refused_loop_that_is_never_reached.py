# The oracle took only simple statements for ones that the compiler need not look into.
# n: int = 3
# q: int32 = [1, 2, 3, 4]
import pyasc as asc


@asc.kernel
def k(n: int, q: asc.int32[4]):
    for i in range(2, 6):
        if i > 1.5:
            q[0] += i
        elif q[0] > n:
            for j in reversed(range(n, 6, 2)):
                q[1] = j
