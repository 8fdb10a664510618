# The compiler took the type of one side of a conditional where its condition came out constant: q - q.
# x: int32 = [0, 1, 2, 3, 4, 5, 6]
# q: int = 3
import pyasc as asc


@asc.kernel
def k(x: asc.int32[7], q: int):
    s = 0.0
    for i in range(6):
        n = i - i
        s += (2.5 if n else 7) / 4 + (2.5 if -(n + 1) < 0 else 7) // 2
        if asc.int32(n):
            s += x[n]
        x[i - n] += x[(i + n) % 7] + (1 if not n else 2)
    v = 7
    if q - q:
        v = 2.5
    while q - q + 1:
        s += 1
        break
    w = (q - q or 2.5) + (q * 0 and 2.5)
    return (2.5 if q - q else 7), (1.5 if q * 0 == 0 else 2), s, v, w
