# A 16-bit product that a loop makes was kept in float32 where it was raised, and did not overflow.
# a: float16 = [300.0, 300.0, 0.0009765625, 0.5, 3.0]
# r: float16 = [1.0, 1.0, 1.0]
# b: float32 = [1e+30, 1e+30]
# s: float32 = [1e-30, 0.0]
import pyasc as asc


@asc.kernel
def k(a: asc.float16[5], r: asc.float16[3], b: asc.float32[2], s: asc.float32[2]):
    t = r[1]
    for i in range(5):
        r[0] *= a[i]
        r[1] = max(r[1], a[i] * a[2])
        t = t * a[i]
    for j in range(2):
        s[j] = s[j] * b[0] * b[j]
    for i in asc.parallel_for(5):
        r[2] *= asc.float32(a[i])
    return t
