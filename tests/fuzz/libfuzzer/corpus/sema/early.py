#:bp
@asc.kernel
def k(A: asc.float32[N], n: int):
    for i in range(N):
        if A[i] > n:
            return A[i]
        for j in range(i):
            if A[j] == A[i]:
                break
        else:
            A[i] = i
    return -1.0
