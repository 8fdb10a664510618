#:bg
@asc.kernel
def k(A, n: asc.int32[8]):
    i = 0
    s = 0
    while i < 8 and s < 100:
        if n[i] < 0:
            break
        s += A[i]
        i += 1
    A[0] = s
