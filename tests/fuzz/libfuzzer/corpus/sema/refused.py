#:b
@asc.kernel
def k(A):
    global g
    import os
    lambda x: x
    try:
        del A[0]
    except E:
        pass
    with a as b:
        yield A
    class C: pass
    x = "s" + 1
    f(*A, **A)
    raise A
