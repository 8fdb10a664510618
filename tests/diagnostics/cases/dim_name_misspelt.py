# $ pyasc check dim_name_misspelt.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[ROWS, COLS], y: asc.float32[ROWS, COLS]):
    for i in asc.parallel_for(ROWS):
        for j in range(COL):
            y[i, j] = x[i, j]
