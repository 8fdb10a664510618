#:btv
@asc.kernel
def k(A: asc.float32[N], c: asc.constexpr, flag: asc.constexpr):
    if flag:
        for i in asc.static_range(c):
            A[i] = c * i
    B = [x * 2 for x in range(c) if x != 1]
    A[0] = B[0] + len(B) + sum(B)
    assert N == 8, f"{N=}"
