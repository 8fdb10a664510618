#:eb
@asc.kernel
def k(E, v):
    for i in range(E.shape[0]):
        v[i] = E[i, 0]
    for i in range(5, 2):
        v[0] = 1 / 2
    return asc.sum(E, axis=0), E.ndim, E.size
