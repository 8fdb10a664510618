#:aaa
@asc.kernel
def k(A: asc.float32[M, K], B: asc.float32[K, N], C: asc.float32[M, N]):
    for i in asc.parallel_for(0, M, 4):
        for j in range(N):
            for ii in range(i, min(i + 4, M)):
                for k in range(K):
                    C[ii, j] += A[ii, k] * B[k, j]
