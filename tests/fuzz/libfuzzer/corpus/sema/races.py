#:bb
@asc.kernel
def k(A, B):
    for i in asc.parallel_for(8):
        A[0] = B[i]
        A[i // 2] += 1
        B[(i + 1) % 8] = A[i]
        B[i] = B[7 - i]
