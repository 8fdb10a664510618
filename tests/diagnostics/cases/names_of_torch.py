# $ pyasc check names_of_torch.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    a = x.view(4)
    b = x.half()
    c = asc.cat([x, y])
    y.fill_(0)
