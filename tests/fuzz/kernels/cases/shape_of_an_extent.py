# The interpreter made no shape of the extents of a slice of loop variables.
# x: int32 = [0, 1, 2, 3, 4, 5, 6]
import pyasc as asc


def shapes(x, n: asc.constexpr):
    s = asc.sum(asc.full((x.shape[0] * n, len(x)), 3, x.dtype))
    s += asc.sum(asc.eye(x.size, 3, asc.int32)) + asc.sum(asc.eye(n, dtype=asc.int32))
    s += asc.sum(asc.broadcast_to(x, (2, n)) * asc.broadcast_to(x[:1], x.shape))
    t = asc.tile(x, (2, n)).reshape(2, n, x.shape[0])
    asc.assert_shape(t, (2, n, n))
    u = asc.broadcast_to(5, (n, -(-n // 2))) + asc.zeros(asc.cdiv(n, 2), asc.int32)
    m = asc.int32(n)
    v = asc.empty(m + 1, asc.int32)
    v[:] = 1
    w = asc.sum(asc.rand((max(n, 2), 1), 7))
    return s + asc.sum(t[1, -1]) + asc.sum(u) + asc.sum(v), w


@asc.kernel
def k(x: asc.int32[7]):
    s = 0
    f = 0.0
    for i in range(6):
        a, b = shapes(x[i:i + 2], len(x[i:i + 2]))
        s += a
        f += b
    return s, f
