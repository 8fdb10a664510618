# $ pyasc check warning_as_error.py --warnings-as-errors
import pyasc as asc


@asc.kernel
def k(x: asc.float32[1024, 1024], y: asc.float32[1024, 1024]):
    s = asc.shared_memory((1024, 1024), asc.float32)
    for i in range(1024):
        for j in range(1024):
            s[i, j] = x[i, j]
    for i in range(1024):
        for j in range(1024):
            y[i, j] = s[j, i]
