#:aab
@asc.kernel
def k(A, B, v):
    C = asc.matmul(A, B) + asc.exp(A) * asc.sqrt(asc.abs(B))
    D = asc.softmax(C, axis=-1) - asc.max(C, axis=1, keepdims=True)
    E = asc.where(D > 0, D, asc.zeros_like(D)) @ asc.transpose(A)
    v[:] = asc.sum(E, axis=0) + asc.mean(A, axis=1)
    return asc.argmax(E, axis=1), asc.layer_norm(A, v, v)
