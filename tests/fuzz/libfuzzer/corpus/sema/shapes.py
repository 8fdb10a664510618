#:dfb
@asc.kernel
def k(T, F, v):
    R = asc.reshape(T, (4, 64))
    P = asc.permute(T, (2, 0, 1))
    S = asc.concat([v, v], axis=0)
    Q = asc.stack([v, v])
    a, b = asc.split(v, 2)
    G = asc.pad(F, ((1, 1), (0, 2)))
    U = asc.tile(v, 3)
    W = asc.broadcast_to(v, (4, 8))
    X = asc.squeeze(asc.expand_dims(v, 0), 0)
    Y = asc.take(v, asc.arange(4), axis=0)
    Z = asc.flip(v, axis=0) + asc.cumsum(v)
    return R, P, S, Q, G, U, W, X, Y, Z, a, b
