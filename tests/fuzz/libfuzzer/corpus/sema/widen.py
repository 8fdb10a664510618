#:bg
@asc.kernel
def k(A, I):
    s = 0
    t = True
    for i in range(8):
        s += I[i]
        s = s * A[i]
        t = t and I[i]
        s, t = t, s
    A[0] = s
    A[0:3] -= A[3:6]
    A[I[0]] = 2
