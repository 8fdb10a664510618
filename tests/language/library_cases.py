"""What every row of the library's table is run with: calls, and the tensors in them.

A case is the text of a call and its inputs, each (shape, domain[, dtype]); without a dtype it has the
dtype that the case is run in. `test_library.py` gets what is expected from the row's reference
expression, evaluated with the call's own arguments. Rows whose effect is no value have a body
instead, and say themselves what is expected.
"""

from dataclasses import dataclass, field

import numpy as np

SHAPES = [(37,), (0,), (1,), (3, 129), (20011,)]
I32 = "int32"


@dataclass
class Case:
    call: str = ""
    inputs: dict = field(default_factory=dict)
    terms: int = 0  # how many products or summands one element of the result has
    body: str = ""  # a kernel's body, in place of a call
    expected: object = None  # of a body: from the inputs, what the kernel returns, or name -> array
    dtypes: tuple = ()  # where not all of the row's fit


def over(call, *domains, shapes=SHAPES, terms=0, dtypes=()):
    """The call for tensors x, y, z of one shape each."""
    return [Case(call, {n: (s, d) for n, d in zip("xyz", domains)}, terms, dtypes=dtypes)
            for s in shapes]


FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
LOOPED = INTS[:-1]  # an int64 or int32 loop variable has no common type with uint64
CASES = {}


def unary(names, domain="any", dtypes=()):
    for name in names.split():
        reach = "numpy" if name in ("arcsin", "arccos", "arctan") else "asc"
        module = "np" if reach == "numpy" else "asc"
        CASES[f"{reach}.{name}"] = over(f"{module}.{name}(x)", domain, dtypes=dtypes) + \
            over(f"{module}.{name}(x[1:, ::2])", domain, shapes=[(5, 9)], dtypes=dtypes)


unary("exp exp2 expm1 sin cos tan atan arctan sinh cosh tanh erf erfc sigmoid gelu silu softplus "
      "floor ceil trunc round rint isnan isinf isfinite signbit cbrt")
unary("log log2 log10 sqrt rsqrt", "nonnegative")
unary("log1p", "above_minus_one")
unary("asin acos arcsin arccos", "unit")
unary("reciprocal", "nonzero")
unary("relu abs fabs absolute square logical_not", "wide")
unary("sign negative", "wide", FLOATS + INTS)


def binary(names, x="any", y="any", dtypes=()):
    for name in names.split():
        call = f"asc.{name}(x, y)"
        CASES[f"asc.{name}"] = over(call, x, y, dtypes=dtypes) + [
            Case(call, {"x": ((4, 1, 7), x), "y": ((3, 1), y)}, dtypes=dtypes),
            Case(f"asc.{name}(x, 3)", {"x": ((33,), x)}, dtypes=dtypes)]


binary("minimum maximum equal not_equal less less_equal greater greater_equal add multiply mul",
       "wide", "wide")
binary("logical_and logical_or logical_xor", "wide", "wide")
binary("subtract sub", "wide", "wide", FLOATS + INTS)
binary("divide div", "any", "nonzero")
binary("floor_divide mod remainder", "any", "nonzero", FLOATS + INTS)
binary("bitwise_and bitwise_or bitwise_xor", "wide", "wide", INTS)
binary("left_shift right_shift", "wide", "shift", INTS)
binary("pow power", "positive", "exponent", FLOATS + INTS)
binary("copysign hypot atan2 arctan2")
CASES["asc.hypot"] += over("asc.hypot(x, 1e30)", "any", shapes=[(9, 5)], dtypes=("float32", "float64"))
binary("fmod", "any", "nonzero")
CASES["asc.fma"] = over("asc.fma(x, y, z)", "any", "any", "any")
for _name in ("clip", "clamp"):
    CASES[f"asc.{_name}"] = (
        over(f"asc.{_name}(x, 1, 3)", "any", dtypes=FLOATS + INTS) +
        over(f"asc.{_name}(x, max=2)", "any", shapes=[(9, 5)], dtypes=FLOATS + INTS) +
        over(f"asc.{_name}(x, y, z)", "any", "small", "positive", shapes=[(9, 5)],
             dtypes=FLOATS + INTS))
for _name in ("where", "select"):
    CASES[f"asc.{_name}"] = [
        Case(f"asc.{_name}(condition, x, y)",
             {"condition": (s, "any", "bool"), "x": (s, "wide"), "y": (s, "wide")})
        for s in SHAPES] + [Case(f"asc.{_name}(condition, x, 1)", {
            "condition": ((5, 1), "any", "bool"), "x": ((7,), "wide")})]

# ---- reductions ----

REDUCED = [("(x)", (37,)), ("(x)", (1, 1)), ("(x, axis=0)", (129, 3)), ("(x, -1)", (3, 129)),
           ("(x, axis=(0, 2), keepdims=True)", (4, 5, 6)), ("(x)", (20011,)), ("(x, 1)", (0, 5)),
           ("(x)", ()), ("(x, ())", (2, 3))]


def reduction(names, domain="any", dtypes=(), empty=True, axes=True):
    for name in names.split():
        CASES[f"asc.{name}"] = [
            Case(f"asc.{name}{call}", {"x": (shape, domain)}, int(np.prod(shape)), dtypes=dtypes)
            for call, shape in REDUCED + ([("(x)", (0,))] if empty else [])
            if axes or "(0, 2)" not in call and "())" not in call]


reduction("sum count_nonzero any all", "plain")
reduction("prod", "near_one")
reduction("max min amax amin", "wide", empty=False)
reduction("argmax argmin", "wide", empty=False, axes=False)
reduction("mean var std", "plain", empty=False)
CASES["asc.var"].append(Case("asc.var(x, 0, ddof=1)", {"x": ((9, 4), "plain")}, 9))
CASES["asc.sum"].append(Case("asc.sum(x.T, 0)", {"x": ((9, 40), "plain")}, 40))
CASES["asc.max"].append(Case("asc.max(x[::2, 1:], 1)", {"x": ((9, 40), "any")}))
for _name, _domain in (("cumsum", "plain"), ("cumprod", "near_one")):
    CASES[f"asc.{_name}"] = [
        Case(f"asc.{_name}{call}", {"x": (shape, _domain)}, int(np.prod(shape)))
        for call, shape in (("(x)", (37,)), ("(x)", (0,)), ("(x, 1)", (3, 129)), ("(x, 0)", (129, 3)),
                            ("(x)", (5, 4)), ("(x)", (4099,)))]

# ---- linear algebra, normalisation ----


def product(call, x, y, dtypes=FLOATS + INTS):
    return Case(call, {"x": (x, "plain"), "y": (y, "plain")}, x[-1] if x else 1, dtypes=dtypes)


CASES["asc.matmul"] = [
    product("asc.matmul(x, y)", (5, 7), (7, 3)), product("asc.matmul(x, y)", (1, 1), (1, 1)),
    product("asc.matmul(x, y)", (0, 4), (4, 3)), product("asc.matmul(x, y)", (3, 0), (0, 4)),
    product("asc.matmul(x, y)", (70, 65), (65, 40)),
    product("asc.matmul(x, y, transpose_x=True)", (33, 17), (33, 20)),
    product("asc.matmul(x, y, transpose_y=True)", (18, 33), (20, 33)),
    product("asc.matmul(x, y)", (2, 1, 5, 6), (3, 6, 4)),
    product("asc.matmul(x, y)", (6,), (6, 4)), product("asc.matmul(x, y)", (3, 6), (6,)),
    product("asc.matmul(x, y)", (150, 130), (130, 140), FLOATS)]
CASES["asc.dot"] = [product("asc.dot(x, y)", (9,), (9,)), product("asc.dot(x, y)", (0,), (0,)),
                    product("x.dot(y)", (1, 5), (5, 20)), product("asc.dot(x, y)", (33, 40), (40,))]
CASES["asc.batch_matmul"] = [
    product("asc.batch_matmul(x, y)", (3, 5, 7), (3, 7, 4)),
    product("asc.batch_matmul(x, y, transpose_y=True)", (2, 17, 20), (2, 18, 20)),
    product("asc.batch_matmul(x, y)", (0, 5, 7), (0, 7, 4))]
CASES["asc.bmm"] = [product("asc.bmm(x, y)", (3, 5, 7), (3, 7, 4)),
                    product("asc.bmm(x, y)", (2, 1, 1), (2, 1, 33))]
CASES["asc.outer"] = [Case("asc.outer(x, y)", {"x": ((a,), "any"), "y": ((b,), "any")},
                           dtypes=FLOATS + INTS) for a, b in ((5, 3), (1, 70), (0, 4), (130, 100))]
for _name in ("softmax", "log_softmax"):
    CASES[f"asc.{_name}"] = [
        Case(f"asc.{_name}{call}", {"x": (shape, "plain")}, max(shape))
        for call, shape in (("(x)", (5, 37)), ("(x)", (1,)), ("(x, 0)", (9, 33)), ("(x)", (0, 4)),
                            ("(x, axis=1)", (2, 70, 3)), ("(x)", (3, 5003)))]
CASES["asc.layer_norm"] = [
    Case("asc.layer_norm(x, weight, bias)", {"x": (s, "plain"), "weight": (s[-1:], "plain"),
                                             "bias": (s[-1:], "plain")}, s[-1])
    for s in ((5, 37), (1, 1), (0, 4), (3, 2053))] + [
        Case("asc.layer_norm(x, 2, 1, eps=0.01, axis=0)", {"x": ((9, 5), "plain")}, 9)]
CASES["asc.rms_norm"] = [
    Case("asc.rms_norm(x, weight)", {"x": (s, "plain"), "weight": (s[-1:], "plain")}, s[-1])
    for s in ((5, 37), (1, 1), (0, 4), (3, 2053))] + [
        Case("asc.rms_norm(x, 3, axis=0)", {"x": ((9, 5), "plain")}, 9)]

# ---- convolution and pooling ----


def convolution(call, x, w, bias=0):
    inputs = {"x": (x, "plain"), "weight": (w, "plain")}
    if bias:
        inputs["bias"] = ((bias,), "plain")
    return Case(f"asc.conv2d(x, weight{call})", inputs, int(np.prod(w[1:])), dtypes=FLOATS + INTS)


CASES["asc.conv2d"] = [
    convolution("", (2, 3, 7, 9), (4, 3, 3, 3)), convolution(", bias", (1, 1, 1, 1), (1, 1, 1, 1), 1),
    convolution(", bias, padding=1", (2, 3, 8, 11), (5, 3, 3, 3), 5),
    convolution(", stride=2, padding=(1, 2)", (1, 2, 9, 8), (3, 2, 3, 5)),
    convolution(", dilation=2, padding=2", (1, 3, 9, 8), (2, 3, 3, 3)),
    convolution(", bias, groups=2, stride=(2, 1)", (2, 4, 6, 5), (6, 2, 2, 3), 6),
    convolution(", groups=3", (1, 3, 5, 6), (3, 1, 3, 3)),
    convolution(", padding=3, dilation=(3, 1)", (1, 1, 4, 5), (1, 1, 2, 2)),
    convolution("", (0, 3, 7, 9), (4, 3, 3, 3)), convolution("", (1, 16, 20, 20), (32, 16, 1, 1)),
    convolution(", padding=4", (1, 1, 12, 11), (2, 1, 9, 9)),
    convolution(", bias, padding=1, groups=2", (2, 34, 9, 11), (6, 17, 3, 3), 6),
    convolution(", padding=(0, 2), dilation=(1, 2)", (3, 33, 12, 17), (18, 33, 3, 3)),
    convolution(", padding=1", (1, 3, 5, 259), (2, 3, 3, 3))]
for _name in ("max_pool2d", "avg_pool2d"):
    CASES[f"asc.{_name}"] = [
        Case(f"asc.{_name}(x, {call})", {"x": (shape, "any" if _name[0] == "m" else "plain")},
             terms)
        for call, shape, terms in (
            ("2", (2, 3, 7, 9), 4), ("(2, 3)", (1, 2, 4, 6), 6), ("3, 2, 1", (2, 3, 9, 8), 9),
            ("1", (1, 1, 1, 1), 1), ("(3, 1), stride=(1, 2)", (1, 2, 5, 7), 3), ("2", (0, 3, 4, 4), 4),
            ("2, 3", (1, 2, 9, 9), 4), ("(40, 30), 7, 9", (1, 1, 45, 40), 1200),
            ("16", (1, 2, 33, 32), 256))]

# ---- order ----

CASES["asc.sort"] = [
    Case(f"asc.sort{call}", {"x": (shape, domain)})
    for call, shape, domain in (
        ("(x)", (37,), "any"), ("(x)", (0,), "any"), ("(x)", (1,), "any"), ("(x, 0)", (9, 13), "ties"),
        ("(x, descending=True)", (3, 64), "ties"), ("(x, 1)", (2, 33, 3), "any"),
        ("(x)", (2, 2050), "wide"), ("(x)", (3, 0), "any"))]
CASES["asc.topk"] = [
    Case(f"asc.topk{call}", {"x": (shape, domain)})
    for call, shape, domain in (
        ("(x, 5)", (37,), "any"), ("(x, 0)", (4,), "any"), ("(x, 1)", (1,), "any"),
        ("(x, 3, axis=0)", (9, 13), "ties"), ("(x, 7)", (2, 1031), "ties"), ("(x, 64)", (64,), "wide"))]

# ---- shape ----


def moved(name, *calls):
    CASES[f"asc.{name}"] = [Case(call, {"x": (shape, "wide")}) for call, shape in calls]


moved("reshape", ("asc.reshape(x, (6, 4))", (4, 6)), ("asc.reshape(x, -1)", (3, 7)),
      ("x.reshape(2, 5)", (10,)), ("asc.reshape(x, (0, 3))", (0,)), ("asc.reshape(x, (1,))", (1, 1)),
      ("asc.reshape(x[:, 1:], (2, 9))", (3, 7)))
for _name in ("flatten", "ravel"):
    moved(_name, (f"asc.{_name}(x)", (4, 6)), (f"asc.{_name}(x)", (0, 3)), (f"asc.{_name}(x)", (1,)),
          (f"asc.{_name}(x.T)", (33, 65)))
for _name in ("transpose", "permute"):
    moved(_name, (f"asc.{_name}(x)", (4, 6)), (f"asc.{_name}(x, (2, 0, 1))", (3, 4, 5)),
          (f"x.{_name}(1, 0, 2)", (3, 4, 5)), (f"asc.{_name}(x)", (0, 3)), (f"asc.{_name}(x)", (130, 70)))
moved("swapaxes", ("asc.swapaxes(x, 0, 2)", (3, 4, 5)), ("asc.swapaxes(x, 0, -1)", (1, 7)),
      ("asc.swapaxes(x, 0, 1)", (0, 7)))
moved("broadcast_to", ("asc.broadcast_to(x, (3, 7))", (7,)), ("asc.broadcast_to(x, (2, 3, 5))", (3, 1)),
      ("asc.broadcast_to(x, (4,))", (1,)), ("asc.broadcast_to(x, (0, 3))", (3,)),
      ("asc.broadcast_to(x, (200, 129))", (129,)))
for _name in ("expand_dims", "unsqueeze"):
    moved(_name, (f"asc.{_name}(x, 0)", (5,)), (f"asc.{_name}(x, -1)", (3, 7)),
          (f"asc.{_name}(x, 1)", (0, 2)))
moved("squeeze", ("asc.squeeze(x)", (1, 5, 1)), ("asc.squeeze(x, 0)", (1, 5, 1)),
      ("asc.squeeze(x, axis=(0, 2))", (1, 5, 1)), ("asc.squeeze(x)", (1, 0)))
for _name in ("concat", "concatenate", "stack"):
    CASES[f"asc.{_name}"] = [
        Case(f"asc.{_name}((x, y){axis})", {"x": (a, "wide"), "y": (b, "wide")})
        for axis, a, b in (("", (3, 5), (3, 5)), (", 1", (3, 5), (3, 5)), (", axis=-1", (1,), (1,)),
                           ("", (0, 5), (0, 5)), (", 1", (129, 70), (129, 70)))] + (
        [Case(f"asc.{_name}([x, y], axis=1)", {"x": ((3, 5), "wide"), "y": ((3, 40), "wide")})]
        if _name != "stack" else [])
moved("split", ("asc.split(x, 3)", (6, 4)), ("asc.split(x, 2, axis=1)", (3, 8)), ("asc.split(x, 1)", (1,)),
      ("asc.split(x, 2)", (0, 3)))
moved("flip", ("asc.flip(x)", (5,)), ("asc.flip(x)", (3, 4)), ("asc.flip(x, 1)", (3, 129)),
      ("asc.flip(x, axis=(0, 1))", (3, 4)), ("asc.flip(x)", (0,)), ("asc.flip(x)", (1,)))
CASES["asc.pad"] = [Case(call, {"x": (shape, "wide")}) for call, shape in (
    ("asc.pad(x, 2)", (5,)), ("asc.pad(x, (1, 2))", (3, 4)), ("asc.pad(x, ((0, 1), (2, 0)), value=1)", (3, 4)),
    ("asc.pad(x, 1)", (0,)), ("asc.pad(x, 0)", (1,)), ("asc.pad(x, 3)", (64, 130)))]
moved("tile", ("asc.tile(x, 3)", (5,)), ("asc.tile(x, (2, 1))", (3, 4)), ("asc.tile(x, (2, 3, 1))", (3, 4)),
      ("asc.tile(x, 2)", (0,)), ("asc.tile(x, (50, 3))", (33, 9)))
CASES["asc.take"] = [
    Case(f"asc.take(x, indices{axis})", {"x": (x, "wide"), "indices": (i, f"below {n}", t)})
    for axis, x, i, n, t in (("", (3, 5), (4,), 15, I32), (", 0", (7, 3), (5,), 7, "int64"),
                             (", axis=1", (3, 9), (2, 4), 9, I32), (", 0", (3,), (0,), 3, I32),
                             (", 0", (1,), (1,), 1, "uint8"), (", 0", (400, 70), (150,), 400, I32))]
CASES["asc.gather"] = [
    Case(f"asc.gather(x, indices{axis})", {"x": (x, "wide"), "indices": (i, f"below {n}", I32)})
    for axis, x, i, n in (("", (7, 3), (5,), 7), (", axis=1", (3, 9), (4,), 9), ("", (1,), (1,), 1))]
CASES["asc.scatter"] = [
    Case(inputs={"x": (x, "wide"), "indices": ((k,), f"below {x[axis]}", I32), "values": (v, "wide")},
         body=f"    asc.scatter(x, indices, values, {axis})\n",
         expected=lambda x, indices, values, axis=axis: {"x": _scattered(x, indices, values, axis)})
    for x, k, v, axis in (((7, 3), 5, (5, 3), 0), ((3, 9), 4, (3, 4), 1), ((6,), 9, (9,), 0),
                          ((6,), 0, (0,), 0), ((5, 4), 3, (4,), 0), ((300, 40), 70, (70, 40), 0))]


def _scattered(x, indices, values, axis):
    x = np.moveaxis(x.copy(), axis, 0)
    values = np.moveaxis(np.broadcast_to(values, (*x.shape[1:][:axis], len(indices),
                                                  *x.shape[1:][axis:])), axis, 0)
    for i, at in enumerate(indices):
        x[at] = values[i]
    return np.moveaxis(x, 0, axis)


# ---- creation ----


def made(name, *calls, dtypes=()):
    CASES[f"asc.{name}"] = [Case(call, dtypes=dtypes) for call in calls]


for _name in ("zeros", "ones"):
    made(_name, f"asc.{_name}((3, 5), dtype=DTYPE)", f"asc.{_name}(7, DTYPE)",
         f"asc.{_name}((0, 4), DTYPE)", f"asc.{_name}((1,), DTYPE)", f"asc.{_name}((20011,), DTYPE)")
made("full", "asc.full((3, 5), 2, dtype=DTYPE)", "asc.full(0, 1, DTYPE)", "asc.full((1,), 1, DTYPE)",
     "asc.full((20011,), 3, DTYPE)")
for _name in ("zeros_like", "ones_like"):
    CASES[f"asc.{_name}"] = over(f"asc.{_name}(x)", "any")
CASES["asc.full_like"] = over("asc.full_like(x, 2)", "any")
for _name in ("empty", "shared_memory", "local", "aligned_alloc"):
    CASES[f"asc.{_name}"] = [
        Case(inputs={"x": (shape, "any")}, body=f"    t = asc.{_name}({shape}, DTYPE)\n    t[:] = x\n"
             "    return t\n", expected=lambda x: x) for shape in SHAPES]
CASES["asc.empty_like"] = [
    Case(inputs={"x": (shape, "any")}, body="    t = asc.empty_like(x)\n    t[:] = x\n    return t\n",
         expected=lambda x: x) for shape in SHAPES]
CASES["asc.arange"] = [Case(call, dtypes=FLOATS + INTS) for call in (
    "asc.arange(7, dtype=DTYPE)", "asc.arange(2, 30, 3, DTYPE)", "asc.arange(0, dtype=DTYPE)",
    "asc.arange(9, 2, -2, DTYPE)")] + [Case("asc.arange(0.0, 2.0, 0.25, DTYPE)", dtypes=FLOATS)]
made("eye", "asc.eye(4, dtype=DTYPE)", "asc.eye(3, 5, DTYPE)", "asc.eye(0, dtype=DTYPE)",
     "asc.eye(1, dtype=DTYPE)", "asc.eye(70, 65, DTYPE)")
CASES["asc.copy"] = over("asc.copy(x)", "wide") + [
    Case(inputs={"source": (s, "wide"), "x": (s, "wide")}, body="    asc.copy(source, x)\n",
         expected=lambda source, x: {"x": source}) for s in ((5, 7), (0,), (20011,))]
for _name in ("cast", "astype"):
    CASES[f"asc.{_name}"] = [Case(inputs={"x": (s, "plain" if t == "int32" else "any")},
                                  expected=lambda x, t=t: x.astype(t),
                                  body=f"    return asc.{_name}(x, asc.{t})\n",
                                  dtypes=() if t in ("float32", "bool") else SIGNED + ("float32",))
                             for s in SHAPES[:4] for t in ("float32", "int32", "bool")]
CASES["method.item"] = [Case("x.item()", {"x": (s, "wide")}) for s in ((1,), (1, 1))]
for _name, _call in (("prefetch", "asc.prefetch(x)"), ("barrier", "asc.barrier()"),
                     ("print", 'asc.print("x", x[0:1])'),
                     ("assert_shape", "asc.assert_shape(x, (-1, 3))"),
                     ("device_assert", "asc.device_assert(x.shape[1] == 3)"),
                     ("static_assert", "asc.static_assert(x.shape[0] == 4)")):
    CASES[f"asc.{_name}"] = [Case(inputs={"x": ((4, 3), "wide")}, expected=lambda x: x,
                                  body=f"    {_call}\n    return x[:]\n")]

# ---- Python's builtins ----


def body(name, text, expected, dtypes=("int32",), **inputs):
    CASES.setdefault(name, []).append(Case(inputs=inputs, body=text, expected=expected, dtypes=dtypes))


for _loop, _start in (("range", 0), ("asc.parallel_for", 0), ("asc.static_range", 0)):
    for _bounds in ("5", "1, 5", "0, 7, 3", "0", "3, 1"):
        _key = "asc." + _loop.removeprefix("asc.")
        body(_key, f"    for i in {_loop}({_bounds}):\n        x[i] += i\n",
             lambda x, b=_bounds: {"x": x + np.isin(np.arange(7), range(*eval(f"({b},)")))
                                   * np.arange(7).astype(x.dtype)}, LOOPED, x=((7,), "small"))
body("asc.range", "    for i in asc.range(1, 7, unroll=4):\n        x[i] = x[i - 1] + 1\n",
     lambda x: {"x": x[0] + np.arange(7).astype(x.dtype)}, ("int32", "float32"), x=((7,), "small"))
body("asc.range", "    for i in range(6, 0, -2):\n        x[i] += i\n",
     lambda x: {"x": x + np.array([0, 0, 2, 0, 4, 0, 6], x.dtype)}, LOOPED, x=((7,), "small"))
for _e in ((3, 5), (0, 5), (1, 1), (70, 33)):
    body("asc.parallel_for_grid",
         "    for i, j in asc.parallel_for_grid(x.shape[0], x.shape[1]):\n        x[i, j] += i + 2 * j\n",
         lambda x: {"x": x + (np.indices(x.shape) * np.array([1, 2])[:, None, None]).sum(0)},
         ("int32", "int64"), x=(_e, "small"))
_N = FLOATS + INTS
for _name in ("min", "max"):
    body(f"builtin.{_name}", f"    return {_name}(x[0], x[1], x[2]), {_name}(x)\n",
         lambda x, f=_name: (getattr(np, f)(x[:3]), getattr(np, f)(x)), _N, x=((7,), "wide"))
body("builtin.sum", "    return sum(x), sum((x[0], x[1]))\n", lambda x: (
    x.sum(0, dtype=x.dtype if x.dtype.kind == "f" else None), x[0] + x[1]), _N, x=((7,), "small"))
body("builtin.len", "    return x[len(x) - 1]\n", lambda x: x[-1], _N, x=((7,), "wide"))
body("builtin.int", "    return int(x[0]) + int(2.7)\n", lambda x: np.int64(x[0]) + 2, SIGNED + FLOATS,
     x=((3,), "plain"))
body("builtin.float", "    return float(x[0])\n", lambda x: np.float64(x[0]), INTS, x=((3,), "plain"))
body("builtin.bool", "    return bool(x[0]), bool(x[1] - x[1])\n", lambda x: (x[0] != 0, np.False_), _N,
     x=((3,), "plain"))
body("builtin.round", "    return round(x[0]), round(x[1])\n",
     lambda x: tuple(np.rint(x[:2]).astype(x.dtype if x.dtype.kind != "f" else np.int64)), _N,
     x=((3,), "plain"))
for _name in ("floor", "ceil", "trunc"):
    body(f"math.{_name}", f"    return math.{_name}(x[0])\n",
         lambda x, f=_name: getattr(np, f)(np.float64(x[0])).astype(
             x.dtype if x.dtype.kind != "f" else np.int64), _N, x=((3,), "plain"))
body("builtin.divmod", "    q, r = divmod(x[0], y[0])\n    return q, r\n",
     lambda x, y: (x[0] // y[0], x[0] % y[0]), INTS, x=((3,), "any"), y=((3,), "nonzero"))
body("asc.cdiv", "    return asc.cdiv(x[0], 3)\n", lambda x: -(-x[0] // x.dtype.type(3)), SIGNED,
     x=((3,), "any"))
body("builtin.enumerate", "    for i, k in enumerate((2, 0)):\n        x[i] += k\n",
     lambda x: {"x": x + np.array([2, 0, 0], x.dtype)}, LOOPED, x=((3,), "small"))
body("builtin.zip", "    for i, k in zip((0, 2), (1, 3)):\n        x[i] += k\n",
     lambda x: {"x": x + np.array([1, 0, 3], x.dtype)}, LOOPED, x=((3,), "small"))
body("builtin.reversed", "    for i in reversed(range(2)):\n        x[i] = x[i + 1]\n",
     lambda x: {"x": x[[2, 2, 2]]}, _N, x=((3,), "wide"))
for _name in ("tuple", "list"):
    body(f"builtin.{_name}", f"    t = {_name}(range(3))\n    x[t[1]] = x[t[2]]\n",
         lambda x: {"x": x[[0, 2, 2]]}, _N, x=((3,), "wide"))
CASES["asc.dims"] = [Case(inputs={"x": ((4,), "wide")}, body="    return x[N - 1]\n",
                          expected=lambda x: x[-1])]

# ---- atomics, blocks, random ----

for _name, _f in (("atomic_add", np.add), ("atomic_max", np.maximum), ("atomic_min", np.minimum)):
    for _n, _k in ((5, 40), (1, 7), (3, 0)):
        body(f"asc.{_name}", "    for i in asc.parallel_for(len(indices)):\n"
             f"        asc.{_name}(x, indices[i], values[i])\n",
             lambda x, indices, values, f=_f: {"x": _at(f, x, indices, values)}, INTS + FLOATS[2:],
             x=((_n,), "small"), indices=((_k,), f"below {_n}", I32), values=((_k,), "small"))
    body(f"asc.{_name}", f"    asc.{_name}(x, (1, i), 2)\n",
         lambda x, i, f=_f: {"x": _at(f, x, (1, i), x.dtype.type(2))}, INTS + FLOATS,
         x=((3, 5), "small"), i=(None, 3))


def _at(f, x, where, values):
    x = x.copy()
    f.at(x, where, values)
    return x


body("asc.block_idx", "    for i in range(asc.block_idx(), len(x), asc.num_blocks()):\n        x[i] += 1\n",
     lambda x: {"x": x + x.dtype.type(1)}, INTS, x=((9,), "small"))
body("asc.num_blocks", "    return asc.block_idx(), asc.num_blocks()\n", lambda x: (0, 1), INTS,
     x=((9,), "small"))
for _name in ("rand", "randn"):
    made(_name, f"asc.{_name}((3, 7), 42, DTYPE)", f"asc.{_name}(1, -5, DTYPE)",
         f"asc.{_name}((0, 3), 1, DTYPE)", f"asc.{_name}((1001,), 123456789012345, dtype=DTYPE)",
         dtypes=FLOATS)
