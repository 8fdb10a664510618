# The interpreter asked each part of a condition twice for what it binds, and so the innermost 2 ** depth times.
# q: int32 = [0, 1, 2, 3]
import pyasc as asc


@asc.kernel
def k(q: asc.int32[4]):
    if q[q[q[q[q[q[q[q[q[q[q[q[q[q[0] % 4] % 4] % 4] % 4] % 4] % 4] % 4] % 4] % 4] % 4] % 4] % 4] % 4] == 0:
        q[1] = 7
    return q[1] if q[(q[(q[(q[(q[(q[0] if q[0] > 1 else 2)] if q[1] > 2 else 1)] if q[2] > 1 else 3)] if q[3] > 1 else 0) % 4] if q[0] < 1 else 2) % 4] > 0 else 5
