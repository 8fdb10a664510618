# Another order of a sum rounds, though float64 gives the same as float32 in the order of the text.
# dst: float32 = [-7.0, 3.0, 2.0, -8.0, -3.0, 6.0, 8.0, 2.0, 4.0, 7.0, 3.0, -2.0, 7.0, 2.0]
# X: float32 = [[-3.0, -1.0, 5.0, 1.0, -2.0, 3.0, 8.0], [0.0, 5.0, -4.0, 8.0, -3.0, -8.0, -5.0], [-6.0, 0.0, 0.0, 6.0, -6.0, -6.0, 2.0], [3.0, -5.0, 0.0, 0.0, -6.0, 6.0, 2.0], [0.0, 8.0, -7.0, -3.0, 2.0, 7.0, 4.0]]
import pyasc as asc


@asc.kernel
def k(dst: asc.float32[14], X: asc.float32[5, 7]):
    for k2 in range(7):
        for m1 in range(10):
            for ii4 in asc.parallel_for(0, 4, 5):
                s5 = 0.0
                for m5 in range(ii4, min(4, ii4 + 5)):
                    for k3 in range(1, -1, -1):
                        s5 += X[k3 - 1 + 1, m5] * dst[m5 - 1 + 1]
                dst[1 + 1] += s5
            dst[2 * (k2) + 1] = X[1 + 1, k2]
