import pyasc as asc

N, C, H, W, F = asc.dims('N C H W F')


@asc.kernel
def conv3x3(input: asc.float32[N, C, H, W],
            weight: asc.float32[F, C, 3, 3],
            output: asc.float32[N, F, H - 2, W - 2]):
    shared_weight = asc.shared_memory((F, C, 3, 3), asc.float32)
    asc.copy(weight, shared_weight)
    for n, f in asc.parallel_for_grid(N, F):
        for h in range(H - 2):
            for w in range(W - 2):
                acc = 0.0
                acc += input[n, 0, h, w] * shared_weight[f, 0, 0, 0]
                acc += input[n, 0, h, w + 1] * shared_weight[f, 0, 0, 1]
                acc += input[n, 0, h, w + 2] * shared_weight[f, 0, 0, 2]
                acc += input[n, 0, h + 1, w] * shared_weight[f, 0, 1, 0]
                acc += input[n, 0, h + 1, w + 1] * shared_weight[f, 0, 1, 1]
                acc += input[n, 0, h + 1, w + 2] * shared_weight[f, 0, 1, 2]
                acc += input[n, 0, h + 2, w] * shared_weight[f, 0, 2, 0]
                acc += input[n, 0, h + 2, w + 1] * shared_weight[f, 0, 2, 1]
                acc += input[n, 0, h + 2, w + 2] * shared_weight[f, 0, 2, 2]
                output[n, f, h, w] = acc
