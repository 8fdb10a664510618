# $ pyasc check module_not_reachable.py
import pyasc as asc

import torch

@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    y[:] = torch.relu(x)
