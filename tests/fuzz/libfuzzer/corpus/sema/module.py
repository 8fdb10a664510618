#:b
X = 1 << 70
Y = 10 ** 10 ** 3
Z = X // 0
S = 'a' * 10
T = (1, 2, (3,))
U = -X % 7 + T[2][0]
def h(a, b=U, *, c=X): return a + b + c
@asc.kernel
@other
def k(A: asc.float32[U], n: int = U) -> asc.float32[2]:
    return h(A, c=1)[0:2]
