# $ pyasc check types_left_open.py
import pyasc as asc


@asc.kernel
def k(q, k, mode: asc.constexpr):
    return asc.softmax(asc.matmul(q, k), axis=7)
