#:bb
@asc.kernel
def k(A, B):
    x = y = A[0]
    (p, q), r = (1, 2), (3, 4)
    a, b = b, a = 1, 2
    A[0], B[0] = B[1], A[1]
    A[p + q] = x if 0 < y <= 5 != x else r[0]
    A[2] **= 2; A[3] //= 2; A[4] %= 3; A[5] /= 7
