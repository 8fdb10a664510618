#:opqr
@asc.kernel
def k(a: float, n: int, m: asc.int32, b: bool) -> asc.float32:
    x = a ** 2 + n // 3 - m % 5 if b else -a / 2
    y = (n << 2) ^ (m & 7) | ~m
    return x + y + abs(a) + round(a) + divmod(n, 3)[0]
