#:coy
@asc.kernel
def k(A, x: asc.float32, Y: asc.float32[1, 1]):
    A[0] = x + Y[0, 0] + A.item() if A.dtype == asc.float32 else asc.cdiv(3, 2)
    return asc.float16(x), asc.bool(x)
