import pyasc as asc

N = asc.dims('N')
TILE = 48


@asc.kernel
def product(left: asc.float32[N, N], right: asc.float32[N, N], out: asc.float32[N, N]):
    for col in asc.parallel_for(0, N, TILE):
        for row in asc.parallel_for(0, N, TILE):
            for c in range(col, min(col + TILE, N)):
                for depth in range(N):
                    for r in range(row, min(row + TILE, N)):
                        out[r, c] += left[r, depth] * right[depth, c]
