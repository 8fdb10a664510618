#:bp
X = 1 << 70
Y = 10 ** 10 ** 3
T = (1, 2, (3,))
U = -7 % 4 + T[2][0]
def h(a, b=U, *, c=X): return a + b + c
@asc.kernel
def k(A: asc.float32[U * 2], n: int = U):
    return h(A, c=1)[0:2]
