# $ pyasc check quotes_of_a_word_processor.py
import pyasc as asc


@asc.kernel(precision=“mixed”)
def k(x: asc.float32[N]):
    x[0] = 1.0
