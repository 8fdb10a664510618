# $ pyasc run index_from_data.py --arg 'index=ones:i32[4]' --arg 'x=ones:f32[1]' --arg 'y=zeros:f32[4]'
import pyasc as asc


@asc.kernel
def k(index: asc.int32[N], x: asc.float32[M], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = x[index[i]]
