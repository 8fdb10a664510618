# $ pyasc check returned_alias.py
import pyasc as asc


@asc.kernel
def expression(x: asc.float32[N], n: int):
    b = x + 1 if n > 2 else x
    return asc.sum(b)


def either(x, n):
    if n > 2:
        return x * 2
    return x


@asc.kernel
def result(x: asc.float32[N], n: int):
    return asc.sum(either(x, n))


@asc.kernel
def negative(x: asc.float32[-1]):
    x[2**63] = 1


@asc.kernel
def beyond(x: asc.float32[N]):
    x[2**63] = 1
