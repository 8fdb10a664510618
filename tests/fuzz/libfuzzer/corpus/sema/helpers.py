#:bo
LIMIT = 4
TABLE = [1.0, 2.0, 3.0]
def square(x, y=2):
    return x * x + y
def swap(a, b):
    return b, a
@asc.kernel
def k(A, x):
    p, q = swap(x, square(x, y=LIMIT))
    for i, t in enumerate(TABLE):
        A[i] = square(t) + p - q
    return p, A[0]
