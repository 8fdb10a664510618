"""Between NumPy's arrays and the service's tensors."""

import numpy as np

from .types import DTYPES, TensorType

INLINE_BYTES = 64 << 10
CHUNK_BYTES = 1 << 20

_BFLOAT16 = 11
_CODES = {1: "?", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<u1", 7: "<u2", 8: "<u4", 9: "<u8",
          10: "<f2", 12: "<f4", 13: "<f8"}
_NUMBERS = {np.dtype(code): number for number, code in _CODES.items()}


def dtype_number(dtype, name):
    """pyasc.v1.DType of a NumPy dtype; TypeError, naming the argument, when it has none."""
    number = _NUMBERS.get(dtype)
    if number is not None:
        return number
    # ml_dtypes' bfloat16, and the two-byte void that it is saved as.
    if dtype.name == "bfloat16" or dtype == np.dtype("V2"):
        return _BFLOAT16
    if dtype == object:
        raise TypeError(f"argument '{name}' is an array of Python objects, which is no tensor; "
                        "convert it with .astype(...)")
    if dtype.newbyteorder("<") in _NUMBERS:
        raise TypeError(f"argument '{name}' has the wrong byte order ({dtype.str}); convert it with "
                        "a.astype(a.dtype.newbyteorder('<'))")
    known = ", ".join(d.name for d in DTYPES)
    raise TypeError(f"argument '{name}' has element type {dtype}; kernels know {known}")


def numpy_dtype(number):
    """The NumPy dtype of a pyasc.v1.DType. bfloat16 is ml_dtypes' where that is installed, else a
    two-byte void."""
    if number == _BFLOAT16:
        try:
            import ml_dtypes
            return np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            return np.dtype("V2")
    return np.dtype(_CODES[number])


def raw_bytes(array):
    """The elements in row-major order, whatever the strides."""
    return np.asarray(array, order="C").tobytes()


def from_bytes(number, shape, data):
    """A new writable array."""
    array = np.empty(shape, numpy_dtype(number))
    flat = np.frombuffer(data, np.uint8)
    if array.nbytes != flat.nbytes:
        raise ValueError(f"{array.nbytes} bytes were expected, but {flat.nbytes} came")
    array.reshape(-1).view(np.uint8)[:] = flat
    return array


def write_back(array, data):
    """Writes elements in row-major order through the strides of `array`."""
    source = np.frombuffer(data, array.dtype).reshape(array.shape)
    array[...] = source


def has_overlapping_elements(array):
    """Whether two indices of `array` may be one place, so that writing it has no meaning."""
    return any(stride == 0 and extent > 1 for stride, extent in zip(array.strides, array.shape)) \
        and array.size > 0


def format_type(value):
    """ "f32[2,3]" for reports."""
    short = {"bool": "bool", "bfloat16": "bf16"}
    def name(number):
        long = DTYPES[number - 1].name
        return short.get(long) or long.replace("uint", "u").replace("int", "i").replace("float", "f")
    if isinstance(value, TensorType):
        return f"{name(value.dtype.number)}[{','.join(map(str, value.shape))}]"
    return f"{name(dtype_number(value.dtype, '?'))}[{','.join(map(str, value.shape))}]"
