# Ones were inlined into their own sum, which then no operand told how far to run.
import pyasc as asc


@asc.kernel
def k():
    ones = asc.ones((1, 7), asc.float32)
    return asc.mean(ones, 1, 0), asc.sum(asc.full((3, 4), 2, asc.int16), 0)
