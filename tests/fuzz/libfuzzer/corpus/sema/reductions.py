#:ab
@asc.kernel
def k(A, out):
    m = -asc.inf
    n = 0
    for i in asc.parallel_for(8):
        for j in range(8):
            m = max(m, A[i, j])
            n += 1
            out[j] += A[i, j]
    return m, n, min(A[0, 0], 1), asc.var(A), asc.prod(A, axis=0)
