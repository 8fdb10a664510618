# An update that is the first statement took the cells of its right side for its own loads.
# u: int32 = [3, 7]
import pyasc as asc


def h(a):
    t = a
    for i in range(a % 5):
        if t > 9:
            t = i
        t = t * 2
    return t


@asc.kernel
def k(u: asc.int32[2]):
    u[0] += h(u[1])
