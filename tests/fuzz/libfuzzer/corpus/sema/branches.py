#:bb
@asc.kernel
def k(A: asc.float32[N], B):
    for i in range(N):
        if i > 0 and A[i - 1] > A[i] or i == N - 1:
            B[i] = 1
        elif not A[i] < 2.0:
            continue
        else:
            B[-i] = A[i] if i else 0
    else:
        B[0] = 3
