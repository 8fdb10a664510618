# The interpreter gave a variable the common type of the branches before it evaluated their test.
# x: int32 = [3, 4, 5]
# n: int = 6
import pyasc as asc


def h(a, b=2):
    if a & 1:
        b = 0.5
    else:
        a = 1.5
    return a * b


@asc.kernel
def k(x: asc.int32[3], n: int):
    for i in range(3):
        a = x[i]
        if (a ^ n) & 1:
            a = 2.5
        x[i] = asc.int32(a + h(x[i]))
    if n % 4 == 2:
        n = 0.25
    return n
