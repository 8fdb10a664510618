#:bp
@asc.kernel
def k(A, n: asc.int64):
    for i in range(n, 0, -1):
        A[n - i] = A[i // 2 + n % 3] * n
    A[n:n + 2] = 1
    A[0:n] = asc.zeros((n,))
    while n:
        n -= 1
