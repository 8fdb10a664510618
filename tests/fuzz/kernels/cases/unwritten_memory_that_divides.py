# The oracle took memory that nobody wrote for written, since zeros there gave NaN as well.
# out: float32 = [8.0, -7.0]
import pyasc as asc


@asc.kernel
def k(out: asc.float32[2]):
    for i in asc.parallel_for(2):
        t = asc.local(1, asc.float32)
        out[i] = t[0] * 3 / asc.sum(t)
