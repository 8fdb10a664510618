#:b
@asc.kernel
def k(A: asc.float32[N]):
    t = asc.zeros((N, 2), dtype=asc.float32)
    u = asc.full((N,), 1.5)
    s = asc.shared_memory((4, N), asc.float32)
    asc.copy(A, u)
    for i in asc.range(0, N, 2, unroll=4):
        s[i % 4, i] = A[i]
        t[i, 1] = s[i % 4, i] + asc.eye(4)[0, 0]
    asc.barrier()
    asc.assert_shape(t, (N, 2))
    return t
