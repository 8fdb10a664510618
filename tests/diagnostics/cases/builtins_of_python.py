# $ pyasc check builtins_of_python.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N]):
    a = type(x)
    b = sorted([3, 1])
    c = str(3)
    d = set()
    e = eval("1")
