#:bb
@asc.kernel
def k(A, B):
    for i in range(A.shape[0]):
        last = i
    B[0] = last + i
    if A[0] > 0:
        z = 1
    B[1] = last
