# $ pyasc check names_of_cann.py
import pyasc as asc


@asc.kernel
def k(x: asc.float32[N], y: asc.float32[N]):
    asc.data_copy(y, x)
    asc.set_flag(0)
    queue = asc.TQue(2)
    i = asc.get_block_idx()
