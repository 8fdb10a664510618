# The simulator names a race that the kernel itself has: no mismatch, since orders give different answers.
# x: float32 = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0]
import pyasc as asc


def twice(a):
    return asc.where(a > 3, a * 2, a)


@asc.kernel
def k(x: asc.float32[32]):
    t = x
    for i in asc.parallel_for(32):
        x[i] = twice(t[17]) + x[i]
    return t[3]
