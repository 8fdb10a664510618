#:aa
@asc.kernel(debug=True)
def k(A: asc.float32[H, W], B: asc.float32[H, W]):
    for i, j in asc.parallel_for_grid(H, W):
        s = 0.0
        for di in range(-1, 2):
            if 0 <= i + di < H:
                s += A[i + di, j]
        B[i, j] = s / 3
        asc.print("at", i, f"{s}")
        asc.device_assert(s < 1e9)
