#:ijklmn
@asc.kernel
def k(a, b, c, d, e, f):
    x = a + b
    y = asc.float32(d) * 2 + asc.cast(e, asc.float16)
    z = c & (d > 3)
    e[0] = int(3.7) + d[0]
    f[:] = y
    a[0, 0] = 1
    return x, asc.all(z), asc.any(c), asc.isnan(f)
