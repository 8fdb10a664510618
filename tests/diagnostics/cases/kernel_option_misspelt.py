# $ pyasc check kernel_option_misspelt.py
import pyasc as asc


@asc.kernel(precison='mixed')
def k(x: asc.float32[N]):
    x[0] = 1.0
