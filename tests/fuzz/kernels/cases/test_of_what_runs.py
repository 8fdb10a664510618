# The interpreter decided a test by sign() of a constant before the run, and gave the result the type of one branch.
import pyasc as asc


@asc.kernel
def k():
    return 7 if asc.sign(-8) < 0 else 2.5, asc.float16(0.5) * asc.sigmoid(0.5), 1 if asc.isnan(1.0) else 0.5
