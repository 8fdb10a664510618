import pyasc as asc

R, C = asc.dims('R C')


@asc.kernel
def softmax(x: asc.float32[R, C], y: asc.float32[R, C]):
    for i in asc.parallel_for(0, R):
        m = x[i, 0]
        for j in range(1, C):
            m = max(m, x[i, j])
        s = 0.0
        for j in range(C):
            s += asc.exp(x[i, j] - m)
        for j in range(C):
            y[i, j] = asc.exp(x[i, j] - m) / s
