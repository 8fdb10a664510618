# $ pyasc check mixed_reductions.py
import pyasc as asc


@asc.kernel
def twice(x: asc.float32[N], y: asc.float32[2]):
    for i in asc.parallel_for(N):
        y[0] += x[i]
        y[0] *= 3


@asc.kernel
def branches(x: asc.float32[N], y: asc.float32[2]):
    for i in asc.parallel_for(N):
        if x[i] > 0:
            y[0] += x[i]
        else:
            y[0] = max(y[0], x[i])


@asc.kernel
def read(x: asc.float32[N], y: asc.float32[2]):
    for i in asc.parallel_for(N):
        y[0] += x[i]
        y[1] += y[0]


@asc.kernel
def atomics(x: asc.int32[N], y: asc.int32[8]):
    for i in asc.parallel_for(N):
        asc.atomic_add(y, x[i], 1)
        asc.atomic_max(y, x[i], 3)


@asc.kernel
def whole(y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] = asc.max(y)
