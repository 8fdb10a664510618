"""The library of the kernel language, by name and signature, for editors.

These functions have a meaning inside an @asc.kernel function, which is compiled and never executed
by Python. Called anywhere else they say so. Which of them a service compiles, its diagnostics tell.
"""

from .errors import KernelOnlyError

__all__ = [
    "abs", "absolute", "acos", "add", "aligned_alloc", "all", "amax", "amin", "any", "arange",
    "arctan2", "argmax", "argmin", "asin", "assert_shape", "astype", "atan", "atan2",
    "atomic_add", "atomic_max", "atomic_min", "avg_pool2d", "barrier", "batch_matmul",
    "bitwise_and", "bitwise_or", "bitwise_xor", "block_idx", "bmm", "broadcast_to", "cast",
    "cbrt", "cdiv", "ceil", "clamp", "clip", "concat", "concatenate", "conv2d", "copy",
    "copysign", "cos", "cosh", "count_nonzero", "cumprod", "cumsum", "device_assert", "div",
    "divide", "dot", "empty", "empty_like", "equal", "erf", "erfc", "exp", "exp2",
    "expand_dims", "expm1", "eye", "fabs", "flatten", "flip", "floor", "floor_divide", "fma",
    "fmod", "full", "full_like", "gather", "gelu", "greater", "greater_equal", "hypot",
    "isfinite", "isinf", "isnan", "layer_norm", "left_shift", "less", "less_equal", "local",
    "log", "log10", "log1p", "log2", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matmul", "max", "max_pool2d", "maximum", "mean", "min",
    "minimum", "mod", "mul", "multiply", "negative", "not_equal", "num_blocks", "ones",
    "ones_like", "outer", "pad", "parallel_for", "parallel_for_grid", "permute", "pow",
    "power", "prefetch", "print", "prod", "rand", "randn", "range", "ravel", "reciprocal",
    "relu", "remainder", "reshape", "right_shift", "rint", "rms_norm", "round", "rsqrt",
    "scatter", "select", "shared_memory", "sigmoid", "sign", "signbit", "silu", "sin", "sinh",
    "softmax", "softplus", "sort", "split", "sqrt", "square", "squeeze", "stack",
    "static_assert", "static_range", "std", "sub", "subtract", "sum", "swapaxes", "take",
    "tan", "tanh", "tile", "topk", "transpose", "trunc", "unsqueeze", "var", "where", "zeros",
    "zeros_like",
]


def _outside(name):
    raise KernelOnlyError(f"asc.{name} belongs to the kernel language: use it inside a function "
                          "decorated with @asc.kernel, or NumPy outside of kernels")


# Builtin.

def range(*bounds, unroll=None):
    """a counted loop."""
    _outside("range")

def parallel_for(*bounds):
    """a counted loop whose iterations may run in any order."""
    _outside("parallel_for")

def parallel_for_grid(*extents):
    """nested parallel loops; gives a tuple of indices."""
    _outside("parallel_for_grid")

def static_range(*bounds):
    """a loop that is unrolled."""
    _outside("static_range")

def cdiv(x, y):
    """x / y, rounded up."""
    _outside("cdiv")

def static_assert(condition, message=None):
    """a compile-time check."""
    _outside("static_assert")

# Creation.

def zeros(shape, dtype=None):
    """filled with 0, float32 unless said."""
    _outside("zeros")

def ones(shape, dtype=None):
    """filled with 1, float32 unless said."""
    _outside("ones")

def empty(shape, dtype=None):
    """not initialised."""
    _outside("empty")

def full(shape, value, dtype=None):
    """filled with a value."""
    _outside("full")

def zeros_like(x, dtype=None):
    """zeros in the shape of x."""
    _outside("zeros_like")

def ones_like(x, dtype=None):
    """ones in the shape of x."""
    _outside("ones_like")

def empty_like(x, dtype=None):
    """not initialised, in the shape of x."""
    _outside("empty_like")

def full_like(x, value, dtype=None):
    """a value in the shape of x."""
    _outside("full_like")

def arange(start, stop=None, step=1, dtype=None):
    """evenly spaced numbers."""
    _outside("arange")

def eye(n, m=None, dtype=None):
    """ones on the diagonal."""
    _outside("eye")

def shared_memory(shape, dtype=None, strict=False):
    """not initialised, in fast memory where it fits."""
    _outside("shared_memory")

def local(shape, dtype=None):
    """not initialised, one for each iteration of the parallel loop around."""
    _outside("local")

def aligned_alloc(shape, dtype=None, alignment=32):
    """not initialised, at an aligned address."""
    _outside("aligned_alloc")

def copy(source, destination=None):
    """copies source into destination, or into a new tensor."""
    _outside("copy")

def cast(x, dtype):
    """x with another element type."""
    _outside("cast")

def astype(x, dtype):
    """x with another element type."""
    _outside("astype")

def prefetch(x):
    """a hint that x is read soon; it changes no result."""
    _outside("prefetch")

def barrier():
    """what stands before is done; statements run in order anyway."""
    _outside("barrier")

def print(*values):
    """prints in debug mode."""
    _outside("print")

def device_assert(condition, message=None):
    """checked in debug mode."""
    _outside("device_assert")

def assert_shape(x, shape):
    """checked at compile time."""
    _outside("assert_shape")

# Elementwise.

def exp(x):
    """e to the x."""
    _outside("exp")

def exp2(x):
    """2 to the x."""
    _outside("exp2")

def expm1(x):
    """exp(x) - 1, exact near 0."""
    _outside("expm1")

def log(x):
    """natural logarithm."""
    _outside("log")

def log2(x):
    """logarithm to base 2."""
    _outside("log2")

def log10(x):
    """logarithm to base 10."""
    _outside("log10")

def log1p(x):
    """log(1 + x), exact near 0."""
    _outside("log1p")

def sqrt(x):
    """square root."""
    _outside("sqrt")

def rsqrt(x):
    """1 / sqrt(x)."""
    _outside("rsqrt")

def cbrt(x):
    """cube root."""
    _outside("cbrt")

def reciprocal(x):
    """1 / x."""
    _outside("reciprocal")

def sin(x):
    """sine."""
    _outside("sin")

def cos(x):
    """cosine."""
    _outside("cos")

def tan(x):
    """tangent."""
    _outside("tan")

def asin(x):
    """inverse sine."""
    _outside("asin")

def acos(x):
    """inverse cosine."""
    _outside("acos")

def atan(x):
    """inverse tangent."""
    _outside("atan")

def sinh(x):
    """hyperbolic sine."""
    _outside("sinh")

def cosh(x):
    """hyperbolic cosine."""
    _outside("cosh")

def tanh(x):
    """hyperbolic tangent."""
    _outside("tanh")

def erf(x):
    """error function."""
    _outside("erf")

def erfc(x):
    """1 - erf(x)."""
    _outside("erfc")

def sigmoid(x):
    """1 / (1 + exp(-x))."""
    _outside("sigmoid")

def gelu(x):
    """Gaussian error linear unit, exact."""
    _outside("gelu")

def silu(x):
    """x * sigmoid(x)."""
    _outside("silu")

def softplus(x):
    """log(1 + exp(x))."""
    _outside("softplus")

def relu(x):
    """max(x, 0)."""
    _outside("relu")

def floor(x):
    """largest integer not above."""
    _outside("floor")

def ceil(x):
    """least integer not below."""
    _outside("ceil")

def trunc(x):
    """towards zero."""
    _outside("trunc")

def round(x):
    """to the nearest integer, ties to even."""
    _outside("round")

def rint(x):
    """to the nearest integer, ties to even."""
    _outside("rint")

def abs(x):
    """absolute value."""
    _outside("abs")

def fabs(x):
    """absolute value."""
    _outside("fabs")

def absolute(x):
    """absolute value."""
    _outside("absolute")

def sign(x):
    """-1, 0 or 1; NaN for NaN."""
    _outside("sign")

def square(x):
    """x * x."""
    _outside("square")

def negative(x):
    """-x."""
    _outside("negative")

def minimum(x, y):
    """the less; NaN if there is one."""
    _outside("minimum")

def maximum(x, y):
    """the greater; NaN if there is one."""
    _outside("maximum")

def clip(x, min=None, max=None):
    """x between min and max."""
    _outside("clip")

def clamp(x, min=None, max=None):
    """x between min and max."""
    _outside("clamp")

def where(condition, x, y):
    """x where the condition holds, else y."""
    _outside("where")

def select(condition, x, y):
    """x where the condition holds, else y."""
    _outside("select")

def isnan(x):
    """whether it is NaN."""
    _outside("isnan")

def isinf(x):
    """whether it is infinite."""
    _outside("isinf")

def isfinite(x):
    """whether it is neither NaN nor infinite."""
    _outside("isfinite")

def signbit(x):
    """whether the sign bit is set."""
    _outside("signbit")

def atan2(y, x):
    """angle of the point (x, y)."""
    _outside("atan2")

def arctan2(y, x):
    """angle of the point (x, y)."""
    _outside("arctan2")

def copysign(x, y):
    """x with the sign of y."""
    _outside("copysign")

def hypot(x, y):
    """sqrt(x*x + y*y)."""
    _outside("hypot")

def fmod(x, y):
    """remainder with the sign of x."""
    _outside("fmod")

def pow(x, y):
    """x to the y."""
    _outside("pow")

def power(x, y):
    """x to the y."""
    _outside("power")

def fma(x, y, z):
    """x * y + z."""
    _outside("fma")

def add(x, y):
    """x + y."""
    _outside("add")

def subtract(x, y):
    """x - y."""
    _outside("subtract")

def sub(x, y):
    """x - y."""
    _outside("sub")

def multiply(x, y):
    """x * y."""
    _outside("multiply")

def mul(x, y):
    """x * y."""
    _outside("mul")

def divide(x, y):
    """x / y."""
    _outside("divide")

def div(x, y):
    """x / y."""
    _outside("div")

def floor_divide(x, y):
    """x // y."""
    _outside("floor_divide")

def mod(x, y):
    """x % y."""
    _outside("mod")

def remainder(x, y):
    """x % y."""
    _outside("remainder")

def bitwise_and(x, y):
    """x & y."""
    _outside("bitwise_and")

def bitwise_or(x, y):
    """x | y."""
    _outside("bitwise_or")

def bitwise_xor(x, y):
    """x ^ y."""
    _outside("bitwise_xor")

def left_shift(x, y):
    """x << y."""
    _outside("left_shift")

def right_shift(x, y):
    """x >> y."""
    _outside("right_shift")

def equal(x, y):
    """x == y."""
    _outside("equal")

def not_equal(x, y):
    """x != y."""
    _outside("not_equal")

def less(x, y):
    """x < y."""
    _outside("less")

def less_equal(x, y):
    """x <= y."""
    _outside("less_equal")

def greater(x, y):
    """x > y."""
    _outside("greater")

def greater_equal(x, y):
    """x >= y."""
    _outside("greater_equal")

def logical_and(x, y):
    """whether both are true."""
    _outside("logical_and")

def logical_or(x, y):
    """whether one is true."""
    _outside("logical_or")

def logical_xor(x, y):
    """whether just one is true."""
    _outside("logical_xor")

def logical_not(x):
    """whether it is false."""
    _outside("logical_not")

# Linalg.

def matmul(x, y, transpose_x=False, transpose_y=False):
    """matrix product; batch axes broadcast, 16-bit floats summed in float32."""
    _outside("matmul")

def dot(x, y):
    """matrix product."""
    _outside("dot")

def batch_matmul(x, y, transpose_x=False, transpose_y=False):
    """matrix product of each pair."""
    _outside("batch_matmul")

def bmm(x, y):
    """matrix product of each pair."""
    _outside("bmm")

def outer(x, y):
    """products of all pairs."""
    _outside("outer")

# Normalization.

def softmax(x, axis=-1):
    """exp(x - max) over its sum along an axis."""
    _outside("softmax")

def log_softmax(x, axis=-1):
    """logarithm of softmax."""
    _outside("log_softmax")

def layer_norm(x, weight=None, bias=None, eps=1e-5, axis=-1):
    """zero mean and unit variance along an axis, scaled and shifted."""
    _outside("layer_norm")

def rms_norm(x, weight=None, eps=1e-6, axis=-1):
    """unit mean square along an axis, scaled."""
    _outside("rms_norm")

# Reduction.

def sum(x, axis=None, keepdims=False, dtype=None):
    """sum; 16-bit floats in float32, integers in 64 bits."""
    _outside("sum")

def prod(x, axis=None, keepdims=False, dtype=None):
    """product."""
    _outside("prod")

def max(x, axis=None, keepdims=False):
    """greatest; NaN if there is one."""
    _outside("max")

def min(x, axis=None, keepdims=False):
    """least; NaN if there is one."""
    _outside("min")

def amax(x, axis=None, keepdims=False):
    """greatest; NaN if there is one."""
    _outside("amax")

def amin(x, axis=None, keepdims=False):
    """least; NaN if there is one."""
    _outside("amin")

def any(x, axis=None, keepdims=False):
    """whether some element is true."""
    _outside("any")

def all(x, axis=None, keepdims=False):
    """whether all elements are true."""
    _outside("all")

def mean(x, axis=None, keepdims=False):
    """arithmetic mean."""
    _outside("mean")

def var(x, axis=None, keepdims=False, ddof=0):
    """variance, in two passes."""
    _outside("var")

def std(x, axis=None, keepdims=False, ddof=0):
    """standard deviation."""
    _outside("std")

def count_nonzero(x, axis=None, keepdims=False):
    """how many elements are not zero."""
    _outside("count_nonzero")

def argmax(x, axis=None, keepdims=False):
    """index of the first greatest, or first NaN."""
    _outside("argmax")

def argmin(x, axis=None, keepdims=False):
    """index of the first least, or first NaN."""
    _outside("argmin")

def cumsum(x, axis=None):
    """running sums."""
    _outside("cumsum")

def cumprod(x, axis=None):
    """running products."""
    _outside("cumprod")

# Shape.

def reshape(x, *shape):
    """the same elements in another shape."""
    _outside("reshape")

def flatten(x):
    """a copy with one axis."""
    _outside("flatten")

def ravel(x):
    """the same elements along one axis."""
    _outside("ravel")

def transpose(x, *axes):
    """axes in another order, reversed unless said; a view."""
    _outside("transpose")

def permute(x, *axes):
    """axes in another order; a view."""
    _outside("permute")

def swapaxes(x, axis1, axis2):
    """two axes exchanged; a view."""
    _outside("swapaxes")

def broadcast_to(x, shape):
    """stretched to a shape."""
    _outside("broadcast_to")

def expand_dims(x, axis):
    """with a new axis of size 1; a view."""
    _outside("expand_dims")

def unsqueeze(x, axis):
    """with a new axis of size 1; a view."""
    _outside("unsqueeze")

def squeeze(x, axis=None):
    """without axes of size 1; a view."""
    _outside("squeeze")

def concat(tensors, axis=0):
    """joined along an axis."""
    _outside("concat")

def concatenate(tensors, axis=0):
    """joined along an axis."""
    _outside("concatenate")

def stack(tensors, axis=0):
    """joined along a new axis."""
    _outside("stack")

def split(x, parts, axis=0):
    """equal parts along an axis, as views."""
    _outside("split")

def flip(x, axis=None):
    """with axes reversed; a view."""
    _outside("flip")

def pad(x, widths, value=0):
    """with a constant around."""
    _outside("pad")

def tile(x, times):
    """repeated along the axes."""
    _outside("tile")

def take(x, indices, axis=None):
    """the elements that indices name along an axis."""
    _outside("take")

def gather(x, indices, axis=0):
    """the elements that indices name along an axis."""
    _outside("gather")

# Shape.

def scatter(x, index, values, axis=0):
    """writes values at an index tensor's positions along an axis."""
    _outside("scatter")

# Convolution and pooling.

def conv2d(x, weight, bias=None, stride=1, padding=0):
    """2-D convolution, NCHW."""
    _outside("conv2d")

def max_pool2d(x, size, stride=None, padding=0):
    """greatest of each window."""
    _outside("max_pool2d")

def avg_pool2d(x, size, stride=None, padding=0):
    """mean of each window."""
    _outside("avg_pool2d")

# Order.

def sort(x, axis=-1, descending=False):
    """sorted along an axis."""
    _outside("sort")

def topk(x, k, axis=-1):
    """the k greatest and their indices."""
    _outside("topk")

# Cores and atomics.

def atomic_add(tensor, index, value):
    """adds to an element, undivided."""
    _outside("atomic_add")

def atomic_max(tensor, index, value):
    """raises an element, undivided."""
    _outside("atomic_max")

def atomic_min(tensor, index, value):
    """lowers an element, undivided."""
    _outside("atomic_min")

def block_idx():
    """index of this core."""
    _outside("block_idx")

def num_blocks():
    """number of cores that take part."""
    _outside("num_blocks")

# Random.

def rand(shape, seed, dtype=None):
    """uniform in [0, 1), from an explicit seed."""
    _outside("rand")

def randn(shape, seed, dtype=None):
    """normal, from an explicit seed."""
    _outside("randn")
