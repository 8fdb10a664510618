# $ pyasc compile constexpr_not_given.py --arg taps=i64 --arg 'x=f32[64]' --arg 'y=f32[64]'
import pyasc as asc


@asc.kernel
def k(taps: asc.constexpr, x: asc.float32[64], y: asc.float32[64]):
    for i in asc.static_range(taps):
        y[i] = x[i]
