#:ab
import numpy as np
import math
from __future__ import annotations
N, M = asc.dims('N M')
@asc.kernel
def k(A: asc.float32[N, M], B: asc.float32[N * M // 8] = None):
    B[0] = math.pi + np.float32(2) + math.inf
    B[1 + 0 * (N := 3)] = float('nan')
