"""The kernels of the performance targets, as users write them, with NumPy references in float64."""

import numpy as np

ADD = """
R, C = asc.dims('R C')

@asc.kernel
def add(a: asc.float16[R, C], b: asc.float16[R, C], c: asc.float16[R, C]):
    for i in asc.parallel_for(R):
        for j in range(C):
            c[i, j] = a[i, j] + b[i, j]
"""

ADD_TENSOR = """
@asc.kernel
def add(a: asc.tensor, b: asc.tensor):
    return a + b
"""

SOFTMAX = """
R, C = asc.dims('R C')

@asc.kernel
def softmax(x: asc.float16[R, C], y: asc.float16[R, C]):
    for i in asc.parallel_for(R):
        m = asc.float32(x[i, 0])
        for j in range(1, C):
            m = max(m, asc.float32(x[i, j]))
        s = 0.0
        for j in range(C):
            s += asc.exp(asc.float32(x[i, j]) - m)
        for j in range(C):
            y[i, j] = asc.exp(asc.float32(x[i, j]) - m) / s
"""

SOFTMAX_TENSOR = """
@asc.kernel
def softmax(x: asc.tensor):
    return asc.softmax(x)
"""

LAYER_NORM = """
R, C = asc.dims('R C')

@asc.kernel
def layer_norm(x: asc.float16[R, C], w: asc.float16[C], b: asc.float16[C], y: asc.float16[R, C]):
    for i in asc.parallel_for(R):
        total = 0.0
        for j in range(C):
            total += asc.float32(x[i, j])
        mean = total / C
        squares = 0.0
        for j in range(C):
            d = asc.float32(x[i, j]) - mean
            squares += d * d
        scale = 1.0 / asc.sqrt(squares / C + 1e-5)
        for j in range(C):
            y[i, j] = (asc.float32(x[i, j]) - mean) * scale * asc.float32(w[j]) + asc.float32(b[j])
"""

LAYER_NORM_TENSOR = """
@asc.kernel
def layer_norm(x: asc.tensor, w: asc.tensor, b: asc.tensor):
    return asc.layer_norm(x, w, b)
"""

RMS_NORM = """
R, C = asc.dims('R C')

@asc.kernel
def rms_norm(x: asc.float16[R, C], w: asc.float16[C], y: asc.float16[R, C]):
    for i in asc.parallel_for(R):
        squares = 0.0
        for j in range(C):
            squares += asc.float32(x[i, j]) * asc.float32(x[i, j])
        scale = 1.0 / asc.sqrt(squares / C + 1e-6)
        for j in range(C):
            y[i, j] = asc.float32(x[i, j]) * scale * asc.float32(w[j])
"""

RMS_NORM_TENSOR = """
@asc.kernel
def rms_norm(x: asc.tensor, w: asc.tensor):
    return asc.rms_norm(x, w)
"""

GELU = """
R, C = asc.dims('R C')

@asc.kernel
def gelu(x: asc.float16[R, C], y: asc.float16[R, C]):
    for i in asc.parallel_for(R):
        for j in range(C):
            t = asc.float32(x[i, j])
            y[i, j] = 0.5 * t * (1.0 + asc.tanh(0.7978845608 * (t + 0.044715 * t * t * t)))
"""

GELU_TENSOR = """
@asc.kernel
def gelu(x: asc.tensor):
    return asc.gelu(x)
"""

MATMUL = """
M, N, K = asc.dims('M N K')

@asc.kernel
def matmul(A: asc.float16[M, K], B: asc.float16[K, N], C: asc.float16[M, N]):
    for i in asc.parallel_for(M):
        for j in range(N):
            total = 0.0
            for k in range(K):
                total += asc.float32(A[i, k]) * asc.float32(B[k, j])
            C[i, j] = total
"""

MATMUL_TENSOR = """
@asc.kernel
def matmul(A: asc.tensor, B: asc.tensor):
    return asc.matmul(A, B)
"""

MATMUL_BIAS_GELU = """
@asc.kernel
def dense(A: asc.tensor, B: asc.tensor, bias: asc.tensor):
    return asc.gelu(asc.matmul(A, B) + bias)
"""

# The article's, word for word.
MATMUL_ARTICLE = """
@asc.kernel
def matmul(A: asc.float32[1024,1024],
           B: asc.float32[1024,1024],
           C: asc.float32[1024,1024]):
    block_size = 32
    for i in asc.parallel_for(0, 1024, block_size):
        for j in asc.parallel_for(0, 1024, block_size):
            for k in range(1024):
                for ii in range(i, min(i+block_size, 1024)):
                    for jj in range(j, min(j+block_size, 1024)):
                        C[ii,jj] += A[ii,k] * B[k,jj]
"""

MATMUL_ADDED = """
@asc.kernel
def matmul(A: asc.tensor, B: asc.tensor, C: asc.tensor):
    C += asc.matmul(A, B)
"""

CONV_TENSOR = """
@asc.kernel
def conv(x: asc.tensor, weight: asc.tensor):
    return asc.conv2d(x, weight, padding=1)
"""

CONV = """
N, C, H, W, F = asc.dims('N C H W F')

@asc.kernel
def conv(x: asc.float16[N, C, H, W], weight: asc.float16[F, C, 3, 3],
         y: asc.float16[N, F, H - 2, W - 2]):
    for n, f in asc.parallel_for_grid(N, F):
        for h in range(H - 2):
            for w in range(W - 2):
                total = 0.0
                for c in range(C):
                    for i in range(3):
                        for j in range(3):
                            total += asc.float32(x[n, c, h + i, w + j]) * asc.float32(weight[f, c, i, j])
                y[n, f, h, w] = total
"""

ATTENTION = """
@asc.kernel(precision='mixed')
def attention(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    scores = asc.float32(asc.matmul(q, k.transpose()))
    probs = asc.float16(asc.softmax(scores))
    return asc.matmul(probs, v)
"""

ATTENTION_F32 = """
@asc.kernel
def attention(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    return asc.matmul(asc.softmax(asc.matmul(q, k.transpose())), v)
"""


def softmax(x):
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, w, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def gelu(x):
    """Exact; the approximation with tanh is within 5e-4 of it."""
    import math
    return x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2)))


def conv(x, w, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    height, width = x.shape[2] - 2, x.shape[3] - 2
    return sum(np.einsum("nchw,fc->nfhw", x[:, :, i:i + height, j:j + width], w[:, :, i, j])
               for i in range(3) for j in range(3))


def attention(q, k, v):
    # Scores are rounded to half on the way.
    return softmax(q @ k.T) @ v
