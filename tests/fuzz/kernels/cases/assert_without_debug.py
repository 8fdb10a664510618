# Conditions that are not evaluated crashed the compiler where they need loops or branches; a walrus
# in one removed an earlier store.
# q: int16 = [3, 1, 4, 1, 5]
# o: int64 = [0, 0]
# n: int = 4
import pyasc as asc


def last(m):
    for i in range(m):
        pass
    return i


@asc.kernel
def k(q: asc.int16[5], o: asc.int64[2], n: int):
    j = n
    if q[0] > 2:
        j = 5
    t = q[0]
    asc.device_assert(last(2))
    j = 7
    assert q[4] >= 10 >= t or q[q[t % 5] % 5] != t
    assert (j := n) > 3
    o[0] = j
    o[1] = t
