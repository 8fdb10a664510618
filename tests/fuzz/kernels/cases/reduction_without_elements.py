# Elements outside of a tensor were read and written where the loop that sums into them had no iterations.
# X: float32 = [[[0.0]]]
# out: float32 = [0.0, 0.0]
import pyasc as asc


@asc.kernel
def k(X: asc.float32[1, 1, 1], out: asc.float32[W0]):
    for ii1 in range(2):
        for m2 in range(ii1 + 2):
            for j4 in range(ii1, 1):
                out[m2] += X[0, 0, j4] + ii1
