# abs in an index was computed in the operand's own bits, as were signs.
# x: int8 = [-128, 1, 2]
import pyasc as asc


@asc.kernel
def k(x: asc.int8[3]):
    s = 0
    for i in range(abs(x[0])):
        s += 1
    for i in range(-x[0] - 100):
        s += 1000
    return x[abs(x[0]) % 3], x[-x[0] % 3], x[~(x[1] + 126) % 3], abs(x[0]) % 3, -x[0], s
