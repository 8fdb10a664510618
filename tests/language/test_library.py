"""Every row of the library's table on the interpreter, the simulator and the host, against the row's
own NumPy expression in float64.

The default run takes for each row its first case in float32 (or what it has) on the compiled drivers
and one more on one of the three, so that all dtypes and shapes come up over the table;
PYASC_LIBRARY_FULL=1 takes the whole product.
"""

import ast
import json
import math
import os
import subprocess
import zlib

import numpy as np
import pytest

import drivers
import reference
from library_cases import CASES, FLOATS, INTS

ROWS = json.loads(subprocess.run([str(drivers.BUILD / "bin" / "pyasc-library")], check=True,
                                 capture_output=True, text=True).stdout)
FULL = os.environ.get("PYASC_LIBRARY_FULL", "0") != "0"
DTYPES = {"any": ("float32", "float16", "bfloat16", *INTS, "bool", "float64"),
          "numeric": ("float32", "float16", "bfloat16", *INTS, "float64"),
          "float": ("float32", "float16", "bfloat16", "int32", "int8", "uint8", "bool", "float64"),
          "integer": ("int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")}
EPS = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -23, "float64": 2.0 ** -52}
TINY = {"float16": 2.0 ** -24, "bfloat16": 2.0 ** -126, "float32": 2.0 ** -126, "float64": 0}


def key(row):
    return f"{row['reach'][0]}.{row['name']}"


def to_bfloat16(x):
    """The nearest bfloat16 of float32 numbers, ties to even, as two bytes each."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype(np.uint16)


def from_bfloat16(raw):
    return (np.ascontiguousarray(raw).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def numbers(shape, domain, dtype, rng):
    """Numbers of a domain, as the kernel gets them and as the reference does."""
    n = math.prod(shape)
    if domain.startswith("below "):
        size = int(domain.split()[1])
        low = -size if np.dtype(dtype).kind == "i" else 0
        x = rng.integers(low, size, n).astype(dtype).reshape(shape)
        return x, x
    if dtype == "bool":
        x = rng.integers(0, 2, n).astype(bool).reshape(shape)
        if domain == "nonzero":
            x[...] = True
        return x, x
    if dtype in FLOATS:
        x = {"any": lambda: rng.standard_normal(n) * 3, "wide": lambda: rng.standard_normal(n) * 3,
             "plain": lambda: rng.standard_normal(n), "small": lambda: rng.integers(-2, 4, n) * 1.0,
             "exponent": lambda: rng.integers(-2, 4, n) * 1.0,
             "ties": lambda: rng.integers(-3, 3, n) * 1.0, "unit": lambda: rng.uniform(-1, 1, n),
             "nonnegative": lambda: rng.exponential(2, n), "positive": lambda: rng.uniform(0.3, 3, n),
             "above_minus_one": lambda: rng.exponential(2, n) - 0.99,
             "near_one": lambda: 1 + rng.standard_normal(n) / (8 + n),
             "nonzero": lambda: rng.choice([-1, 1], n) * rng.uniform(0.3, 3, n)}[domain]()
        if domain in ("any", "wide", "ties") and n >= 9:
            x[rng.permutation(n)[:7]] = [0.0, -0.0, np.inf, -np.inf, np.nan, np.nan, -0.5]
        if dtype == "bfloat16":
            raw = to_bfloat16(x.astype(np.float32)).reshape(shape)
            return raw.view("V2"), from_bfloat16(raw).astype(np.float64)
        x = x.astype(dtype).reshape(shape)
        return x, x.astype(np.float64)
    info = np.iinfo(dtype)
    low, high = {"wide": (info.min, info.max), "small": (-2, 3), "positive": (0, 3), "shift": (0, 7),
                 "exponent": (0, 3),
                 "ties": (-3, 3), "plain": (-5, 5), "near_one": (-2, 2), "unit": (-1, 1),
                 "nonnegative": (0, 50), "above_minus_one": (0, 50), "nonzero": (1, 9),
                 "any": (-50, 50)}[domain]
    low = max(low, info.min)
    x = rng.integers(low, high, n, dtype=dtype, endpoint=True)
    if domain == "nonzero" and info.min < 0:
        x *= rng.choice(np.array([-1, 1], dtype), n)
    if domain == "wide" and n >= 9:
        x[:3] = [info.min, info.max, 0]
    return x.reshape(shape), x.reshape(shape)


def arguments_of(row, call, tensors, dtype):
    """The row's parameters bound to a call's arguments: what its reference expression sees."""
    signature = ast.parse(f"def f({row['signature']}): pass").body[0].args
    node = ast.parse(call, mode="eval").body
    values = {"asc": None, "np": np, "DTYPE": np.float64 if dtype in FLOATS else np.dtype(dtype), **tensors}
    given = [eval(compile(ast.Expression(a), "call", "eval"), values) for a in node.args]
    if isinstance(node.func.value, ast.Name) and node.func.value.id in tensors:
        given.insert(0, tensors[node.func.value.id])
    names = [a.arg for a in signature.args]
    bound = dict(zip(names, given))
    for name, default in zip(reversed(names), reversed(signature.defaults)):
        bound.setdefault(name, ast.literal_eval(default))
    if signature.vararg:
        rest = given[len(names):]
        bound[signature.vararg.arg] = rest[0] if len(rest) == 1 else tuple(rest) or None
    for keyword in node.keywords:
        bound[keyword.arg] = eval(compile(ast.Expression(keyword.value), "call", "eval"), values)
    return bound


def expected_of(row, case, tensors, dtype):
    with np.errstate(all="ignore"):
        if case.expected:
            return case.expected(**tensors)
        bound = arguments_of(row, case.call, tensors, dtype)
        if row["name"] in ("floor", "ceil", "trunc", "round", "rint") and \
                bound["x"].dtype.kind != "f":
            return bound["x"]  # since NumPy 2.1
        if row["name"] == "arange" and bound["stop"] is None:
            bound.update(start=0, stop=bound["start"])
        return eval(row["reference"], {"np": np, "math": math, **vars(reference), **bound})


def check(got, want, dtype, terms, magnitude, what):
    """got of `dtype` against want: exact, or within what rounding may do."""
    if np.asarray(got).dtype == np.dtype("V2"):
        got, name = from_bfloat16(got).reshape(np.shape(got)), "bfloat16"
    else:
        got = np.asarray(got)
        name = got.dtype.name
    want = np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if name not in EPS:
        assert want.dtype.kind in "iub", f"{what}: {name}, expected {want.dtype}"
        np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=what)
        return
    # Arithmetic is done in float32 at least, and rounded once to the result's type.
    compute = EPS["float64"] if dtype == name == "float64" else EPS["float32"]
    got, want = got.astype(np.float64), want.astype(np.float64)
    largest = {"float16": 65504.0, "bfloat16": 3.3895e38}.get(name, 3.4028235e38)
    if name != "float64":
        want = np.where(np.abs(want) > largest * (1 + EPS[name] / 2), np.sign(want) * np.inf, want)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=what)
    limit = np.abs(np.where(np.isfinite(want), want, 0)) * (EPS[name] * 0.51 + compute * 8) + TINY[name]
    limit = limit + terms * compute * magnitude
    with np.errstate(all="ignore"):
        error = np.where((got == want) | np.isnan(want), 0, np.abs(got - want))
    worst = np.argmax(error - limit) if error.size else 0
    assert np.all(error <= limit), \
        f"{what}: {got.flat[worst]!r} for {want.flat[worst]!r}, limit {limit.flat[worst]:.3g}"


def chosen(row):
    """(case, dtype, drivers) of a row."""
    pairs = [(c, t) for c in CASES.get(key(row), ()) for t in c.dtypes or DTYPES[row["dtypes"]]]
    if FULL:
        return [(c, t, drivers.DRIVERS) for c, t in pairs]
    # One on both compiled drivers, and one that varies, the same in each run.
    number = zlib.crc32(key(row).encode())
    again = pairs[number % len(pairs)]
    return [(*pairs[0], ("sim", "host")), (*again, drivers.DRIVERS[number // 7 % 3:][:1])]


RUNS = list({run_id: run for run in (
    (row, case, dtype, driver) for row in ROWS if CASES.get(key(row))
    for case, dtype, where in chosen(row) for driver in where
    if dtype != "float64" or driver != "sim")
    for run_id in [(key(run[0]), id(run[1]), run[2], run[3])]}.values())


def run_id(run):
    row, case, dtype, driver = run
    return f"{key(row)}-{CASES[key(row)].index(case)}-{dtype}-{driver}"


# How wrong an implementation that is right may be beyond rounding its result: a row's own operations
# on intermediate results of that size.
EXTRA = {"fma": 1, "gelu": 4, "softplus": 2, "log_softmax": 8, "rand": 0, "randn": 64, "mean": 2, "var": 4,
         "std": 4, "softmax": 8, "layer_norm": 64, "rms_norm": 16, "tan": 8, "log": 2, "log2": 2,
         "log10": 2, "log1p": 2, "arange": 1}
# By how much errors of the argument of exp, a power or a window's sum grow.
RELATIVE = {"erfc": 64, "exp": 8, "exp2": 8, "sinh": 8, "cosh": 8, "tanh": 4, "prod": 1, "cumprod": 1}


def kernel_of(row, case, dtype):
    """A kernel's text, its arguments, and what the reference sees of them."""
    rng = np.random.default_rng(zlib.crc32(run_id((row, case, dtype, "")).encode()))
    arrays, tensors = {}, {}
    for name, (shape, domain, *own) in case.inputs.items():
        if shape is None:
            arrays[name] = tensors[name] = domain
            continue
        arrays[name], tensors[name] = numbers(shape, domain, own[0] if own else dtype, rng)
        if row["dtypes"] == "float" and not own:
            tensors[name] = tensors[name].astype(np.float64)
    before = "import math\nimport numpy as np\nN = asc.dims('N')\n\n"
    body = (case.body or f"    return {case.call}\n").replace("DTYPE", f"asc.{dtype}")
    parameters = ", ".join(n if s[0] is not None else f"{n}: int" for n, s in case.inputs.items())
    if row["name"] == "dims":
        parameters = f"x: asc.{dtype}[N]"
    source = "import pyasc as asc\n" + drivers.kernel(parameters, body, before=before)
    return source, arrays, tensors


@pytest.mark.parametrize("run", RUNS, ids=run_id)
def test_row_means_its_numpy_expression(run, server):
    row, case, dtype, driver = run
    source, arrays, tensors = kernel_of(row, case, dtype)
    got = drivers.run(driver, source, arrays, server)
    want = expected_of(row, case, tensors, dtype)
    want = want if isinstance(want, dict) else \
        {"return": want} if not isinstance(want, (tuple, list)) else \
        {f"return.{i}": w for i, w in enumerate(want)}
    sizes = [np.abs(t[np.isfinite(t)]).max() for t in tensors.values()
             if np.asarray(t).dtype.kind == "f" and np.isfinite(t).any()]
    magnitude = max([1.0] + [float(s) ** 2 for s in sizes])
    if row["name"] == "fma":  # the product is rounded to the dtype, as that of operators is
        magnitude *= EPS.get(dtype, 0) / EPS["float64" if dtype == "float64" else "float32"] * 2
    terms = case.terms + EXTRA.get(row["name"], 0) + RELATIVE.get(row["name"], 0)
    got = {**{n: a for n, a in arrays.items() if n in want}, **got}  # those that nothing wrote
    assert set(want) <= set(got), (sorted(want), sorted(got))
    for name, expected in want.items():
        # Random numbers are float32 that are then cast.
        made_in = "float32" if row["name"] in ("rand", "randn") else dtype
        check(got[name], expected, made_in, terms, magnitude, f"{source}\n{name}")


# What the Ascend C printer may refuse, by its diagnostic's code.
NO_TEXT = {"no-ascendc-form"}


@pytest.mark.parametrize("row", ROWS, ids=key)
def test_row_has_ascend_c_or_a_place_where_not(row, server):
    case = CASES[key(row)][0]
    dtype = (case.dtypes or DTYPES[row["dtypes"]])[0]
    source, arrays, _ = kernel_of(row, case, dtype)
    try:
        drivers.compile("ascend", source, arrays, server)
    except drivers.Wrong as refused:
        assert refused.line > 0 and refused.code in NO_TEXT, refused


@pytest.mark.parametrize("row", ROWS, ids=key)
def test_row_has_a_case(row):
    assert CASES.get(key(row)), f"{key(row)} has no case in library_cases.py"


def test_every_case_belongs_to_a_row():
    assert set(CASES) <= {key(row) for row in ROWS}
