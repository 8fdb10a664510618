"""A kernel of the fuzzer: its text and inputs, and the case files that keep one.

A case file is a kernel's text under a head of comments: what it shows, then one line an argument,
`# name: dtype = nested lists or a number`.
"""

import dataclasses
import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "language"))

import drivers  # noqa: E402,F401  puts the package into sys.path
from pyasc.interpret import dtypes  # noqa: E402

CASES = Path(__file__).parent / "cases"
HEAD = "import pyasc as asc\n"


@dataclasses.dataclass
class Kernel:
    text: str
    args: dict  # name -> array (bfloat16 as V2) or number
    family: str = ""

    def uses_float64(self):
        return "float64" in self.text or any(
            getattr(a, "dtype", None) == np.float64 for a in self.args.values())


# ---- arrays ----

def to_array(values, dtype):
    """An array of a kernel's dtype, by name, from numbers."""
    if dtype == "bfloat16":
        bits = dtypes.bfloat16_bits(np.asarray(values, np.float32)).astype(np.uint16)
        return np.asarray(bits).view("V2")
    with np.errstate(invalid="ignore"):
        return np.array(values, dtype)


def dtype_name(array):
    return "bfloat16" if array.dtype == np.dtype("V2") else array.dtype.name


def numbers(array):
    """The elements as NumPy can compute with them."""
    array = np.asarray(array)
    if array.dtype == np.dtype("V2"):
        return dtypes.from_bfloat16_bits(np.ascontiguousarray(array).view(np.uint16)).reshape(
            array.shape)
    return array


# ---- case files ----

def case_text(kernel, title):
    text = kernel.text
    while text.startswith("# "):  # the head of the file that it came from
        text = text.split("\n", 1)[1]
    lines = [f"# {title}"]
    for name, a in kernel.args.items():
        if isinstance(a, np.ndarray):
            shape = f"[{', '.join(map(str, a.shape))}]" if a.size == 0 or a.ndim == 0 else ""
            lines.append(f"# {name}: {dtype_name(a)}{shape} = {_literal(numbers(a))}")
        else:
            lines.append(f"# {name}: {type(a).__name__} = {a!r}")
    return "\n".join(lines) + "\n" + text


def _literal(a):
    if a.ndim == 0:
        return repr(a.item())
    return repr(a.tolist())


_ARGUMENT = re.compile(r"# (\w+): (\w+)(?:\[([\d, ]*)\])? = (.*)$")


def read_case(path):
    """(Kernel, its title)."""
    text = Path(path).read_text()
    args, title = {}, []
    for line in text.split("\n"):
        found = _ARGUMENT.match(line)
        if not found and (args or not line.startswith("# ")):
            break
        if not found:
            title.append(line.removeprefix("# "))
            continue
        name, dtype, shape, value = found.groups()
        value = eval(value, {"nan": float("nan"), "inf": float("inf")})
        if dtype in ("int", "float") or dtype == "bool" and isinstance(value, bool):
            args[name] = value
        elif shape is None and not isinstance(value, list):
            args[name] = np.dtype(dtype).type(value)
        else:
            a = to_array(value, dtype)
            args[name] = a.reshape([int(n) for n in shape.split(",") if n.strip()]) \
                if shape is not None else a
    return Kernel(text, args, "case"), " ".join(title)
