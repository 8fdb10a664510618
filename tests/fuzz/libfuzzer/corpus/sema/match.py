#:b
@asc.kernel
def k(A):
    match A[0]:
        case 1 | 2: A[0] = 3
        case x if x > 3: A[1] = x
        case _: pass
    assert A[0] > 0, f"bad {A[0]:.3f}"
