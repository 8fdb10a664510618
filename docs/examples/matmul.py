import pyasc as asc


@asc.kernel
def matmul(A: asc.float32[1024, 1024],
           B: asc.float32[1024, 1024],
           C: asc.float32[1024, 1024]):
    block_size = 32
    for i in asc.parallel_for(0, 1024, block_size):
        for j in asc.parallel_for(0, 1024, block_size):
            for k in range(1024):
                for ii in range(i, min(i + block_size, 1024)):
                    for jj in range(j, min(j + block_size, 1024)):
                        C[ii, jj] += A[ii, k] * B[k, jj]
