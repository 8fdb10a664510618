"""Random numbers by counter: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", SC 2011).

Element i of asc.rand or asc.randn (its index in row-major order) depends on the seed and on i
alone, so that every driver gives the same bits in any order:

    key     = (seed mod 2^32, (seed >> 32) mod 2^32), the seed as a 64-bit two's complement number
    counter = ((i // 4) mod 2^32, ((i // 4) >> 32), 0, stream); stream is 0 for rand, 1 for randn
    (w0, w1, w2, w3) = Philox4x32-10(counter, key)

    rand:   word w = w[i mod 4];  value = float32(w >> 8) * 2^-24, which is in [0, 1)
    randn:  with u = ((w[j] >> 8) + 1) * 2^-24 in (0, 1] and v = (w[j + 1] >> 8) * 2^-24 for
            j = 2 * ((i mod 4) // 2), all in float32:
            r = sqrt(-2 * log(u)), a = float32(2 * pi) * v
            value = r * cos(a) for even i, r * sin(a) for odd i

The value is then rounded to the element type asked for.
"""

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def words(counter, key):
    """The four output words for arrays (or numbers) of four counter words and a two-word key."""
    c = [np.asarray(x, np.uint64) for x in counter]
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c[0] * _M0, c[2] * _M1
        c = [(p1 >> _HALF) ^ c[1] ^ np.uint64(k0), p1 & _LOW,
             (p0 >> _HALF) ^ c[3] ^ np.uint64(k1), p0 & _LOW]
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return [x.astype(np.uint32) for x in c]


def _blocks(count, seed, stream):
    block = np.arange((count + 3) // 4, dtype=np.uint64)
    zero = np.zeros_like(block)
    seed &= (1 << 64) - 1
    return words((block & _LOW, block >> _HALF, zero, zero + np.uint64(stream)),
                 (seed & 0xFFFFFFFF, seed >> 32))


def _unit(w, plus, real):
    return ((w >> np.uint32(8)) + np.uint32(plus)).astype(real) * real(2.0 ** -24)


def uniform(count, seed, real=np.float32):
    """`count` numbers in [0, 1), which `real` holds exactly."""
    w = np.stack(_blocks(count, seed, 0), axis=-1).reshape(-1)[:count]
    return _unit(w, 0, real)


def normal(count, seed, real=np.float32):
    """`count` numbers of the standard normal distribution, computed in `real`."""
    w = _blocks(count, seed, 1)
    out = []
    for j in (0, 2):
        r = np.sqrt(real(-2) * np.log(_unit(w[j], 1, real)))
        a = real(2 * np.pi) * _unit(w[j + 1], 0, real)
        out += [r * np.cos(a), r * np.sin(a)]
    return np.stack(out, axis=-1).reshape(-1)[:count]
