# A stepped slice of one element beside an index crashed the compiler: MLIR could not tell its axis from the index's.
# x: float32 = [[1.0, 2.0], [3.0, 4.0]]
import pyasc as asc


@asc.kernel
def k(x: asc.float32[2, 2]):
    return x[:2:2, 0], x[0, 1::7], x[1::-3, :1:5]
