import pyasc as asc


@asc.kernel(precision='mixed')
def attention(q: asc.tensor, k: asc.tensor, v: asc.tensor):
    scores = asc.float32(asc.matmul(q, k.transpose()))
    probs = asc.float16(asc.softmax(scores))
    return asc.matmul(probs, v)
