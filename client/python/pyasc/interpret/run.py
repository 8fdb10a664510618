"""Runs kernels: binds, translates once a signature, executes, and says where a fault was."""

import ast
import collections
import random

import numpy as np

from . import dtypes, library, ops, runtime
from .bind import PYTHON, TENSOR_NAMES, Binder, last_name, parameters_of
from .context import CONTEXT
from .dtypes import BFLOAT16, BOOL, FLOAT32, INT64
from .errors import Diagnostic, Fault, Place
from .program import File, Program
from .state import MISSING
from .translate import Options, Translator
from .values import (Tensor, Unknown, describe, dtype_of, is_number, is_scalar, is_sequence,
                     is_tensor, load_scalar, shape_of, shape_text, strong)

_PROGRAMS, _COMPILED = collections.OrderedDict(), collections.OrderedDict()
_KEPT = 256
_LONGEST_LINE = 400


class Rejected(Exception):
    """The kernel, or its use of types, is wrong. `diagnostics` are errors.Diagnostic."""

    def __init__(self, diagnostics):
        super().__init__("\n".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics


class Failed(Exception):
    """The kernel ran and failed."""

    def __init__(self, diagnostics):
        super().__init__("\n".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics


class Outcome:
    """What a run gave. `results` maps "return", or "return.0", ... to arrays and NumPy scalars;
    `prints` are the lines of asc.print; `written` names the parameters that the kernel may write."""

    def __init__(self, results, prints, written):
        self.results, self.prints, self.written = results, prints, written

    @property
    def value(self):
        """The result as the kernel returned it: None, one value, or a tuple."""
        if list(self.results) == ["return"]:
            return self.results["return"]
        return tuple(self.results.values()) if self.results else None


# ---- arrays ----

def tensor_type(array, name):
    """The element type of a NumPy array; TypeError, naming the argument, when it has none."""
    t = dtypes.BY_NUMPY.get(array.dtype.type)
    if t is not None and array.dtype.isnative:
        return t
    if array.dtype.name == "bfloat16" or array.dtype == np.dtype("V2"):
        return BFLOAT16
    raise TypeError(f"argument '{name}' has element type {array.dtype}, which kernels do not know; "
                    "convert it with .astype(...)")


def _as_tensor(array, t):
    return Tensor(t, array.view(np.uint16) if t is BFLOAT16 else array)


def _bfloat16_numpy():
    try:
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    except ImportError:
        return np.dtype("V2")


def _to_numpy(value, t):
    """A result as NumPy has it, sharing nothing with the kernel's tensors."""
    if value.__class__ is Tensor:
        a = np.array(value.a, order="C", copy=True)
        return a.view(_bfloat16_numpy()) if t is BFLOAT16 else a
    if t is BFLOAT16:
        return dtypes.bfloat16_bits(value.value).reshape(()).view(_bfloat16_numpy())[()]
    return value


# ---- compiled kernels ----

class Compiled:
    """A kernel translated for one signature."""

    def __init__(self, program, function, types, options):
        self.program, self.function, self.options = program, function, options
        binder = Binder(program, function, types, options)
        self.parameters = binder.bind()
        self.elementwise = any(p.elementwise for p in self.parameters)
        self._check_elementwise()
        values = [Unknown(p.t) if p.elementwise else
                  Unknown(p.t, p.value.shape, p.name) if is_tensor(p.value) else p.value
                  for p in self.parameters]
        translator = Translator(program, options, runtime.FUNCTIONS)
        translator.symbols = {n: size for n, (size, _) in binder.symbols.items()}
        translator.return_node = None
        unit, name, result = translator.kernel(function, values)
        self.shape = self._elements() if self.elementwise else None
        self.results = self._results(result, translator, binder)
        self._find_written(translator)
        self.codes = {}
        self.call = self._compile(unit, name)

    def _elements(self):
        """The shape that a kernel of scalars is applied over."""
        try:
            return ops.broadcast(*(p.value for p in self.parameters if p.elementwise))
        except Fault as fault:
            fault.node, fault.file = self.function.node, self.function.file
            raise

    def _check_elementwise(self):
        if not self.elementwise:
            return
        for p in self.parameters:
            if is_tensor(p.value) and not p.elementwise:
                break
        else:
            return
        p = next(p for p in self.parameters if p.elementwise)
        raise Fault("type-mismatch", f"parameter '{p.name}' is a scalar, and the argument is an array "
                    f"of shape {shape_text(p.value.shape)}; annotate it asc.{p.t.name}[...]: only a "
                    "kernel whose arguments are all annotated as scalars is applied to each element",
                    p.node.annotation, self.function.file)

    def _compile(self, unit, name):
        scope = dict(unit.globals)
        scope["__builtins__"] = {}
        for made, tree, file in unit.functions:
            path = self.program.files[file].path
            try:
                code = compile(ast.Module([tree], []), path, "exec")
            except SyntaxError as error:  # CPython nests no more than 20 blocks
                raise Fault("nesting-too-deep", "this is nested deeper than the interpreter can "
                            f"follow: {error.msg}", tree, file) from None
            exec(code, scope)  # defines the function; nothing of the kernel runs
            self.codes[scope[made].__code__] = file
        return scope[name]

    def _find_written(self, translator):
        """Which parameters may be written, and whether one buffer may be given for two of them."""
        names = {p.name for p in self.parameters if is_tensor(p.value)}
        self.written = translator.written & names
        if "?" in translator.written:
            self.written = names
        self.accesses = {n: translator.accesses.get(n, set()) for n in names}

    # ---- results ----

    def _results(self, value, translator, binder):
        """[(name, dtype)], after checks against the annotation."""
        node = self.function.node
        if value is None:
            if node.returns is not None and not _is_none(node.returns):
                raise Fault("missing-return", "the kernel declares a result here and returns nothing; "
                            "return it, or drop the annotation", node.returns, self.function.file)
            return []
        where = getattr(translator, "result_node", None) or _return_node(node)
        try:
            values = list(value) if is_sequence(value) else [value]
            returns = [None] * len(values) if node.returns is None else \
                self._annotations(node.returns, value, len(values))
            out = []
            for i, (v, r) in enumerate(zip(values, returns)):
                name = f"return.{i}" if is_sequence(value) else "return"
                out.append((name, self._result(v, r, binder)))
            return out
        except Fault as fault:
            if fault.node is None:
                fault.node, fault.file = where, self.function.file
            raise

    def _annotations(self, returns, value, n):
        """The annotation of each result."""
        def wrong(message):
            return Fault("result-mismatch", message, returns, self.function.file)

        each, is_tuple, any_count = [returns], False, False
        if isinstance(returns, ast.Tuple):
            each, is_tuple = returns.elts, True
        elif isinstance(returns, ast.Subscript) and last_name(returns.value) in ("tuple", "Tuple"):
            each = returns.slice.elts if isinstance(returns.slice, ast.Tuple) else [returns.slice]
            is_tuple = True
            any_count = len(each) == 2 and isinstance(each[1], ast.Constant) and \
                each[1].value is Ellipsis
            each = each[:1] * n if any_count else each
        elif last_name(returns) in ("tuple", "Tuple"):
            each, is_tuple = [None] * n, True
        if _is_none(returns):
            raise wrong(f"the kernel declares that it returns nothing, and returns {describe(value)}")
        if is_sequence(value) and not is_tuple:
            raise wrong(f"the kernel declares one result here and returns a tuple of {n}")
        if not is_sequence(value) and is_tuple:
            raise wrong(f"the kernel declares a tuple of results here and returns {describe(value)}")
        if len(each) != n:
            raise wrong(f"the kernel declares {len(each)} results here and returns {n}")
        return each

    def _result(self, v, annotation, binder):
        if not is_number(v):
            raise Fault("type-mismatch", "a kernel returns numbers, tensors and tuples of them, not "
                                         f"{describe(v)}")
        has_dims = isinstance(annotation, ast.Subscript)
        base = annotation.value if has_dims else annotation
        t = dtype_of(strong(v) if is_scalar(v) else v)
        if base is not None:
            name, file = last_name(base), self.function.file
            plain = isinstance(base, ast.Name) and name in PYTHON
            any_tensor = name in TENSOR_NAMES
            want = PYTHON[name] if plain else dtypes.BY_NAME.get(name)
            if plain and has_dims or want is None and not any_tensor:
                raise Fault("bad-annotation", "the annotation of a result is no type; use "
                            "asc.float32, asc.float32[N, M], asc.tensor, int, float, bool, or "
                            "tuple[...] of them", annotation, file)
            if (has_dims or any_tensor) and is_scalar(v) and not self.elementwise:
                raise Fault("result-mismatch", "the kernel declares a tensor here and returns "
                            f"{describe(v)}", annotation, file)
            if want is not None:
                binder.check_dtype(want, annotation)
                ops.check_store(v, want, "the result")
                t = want
            if has_dims and is_tensor(v):
                self._check_result_shape(v, annotation, binder)
        if self.elementwise and is_tensor(v):
            raise Fault("type-mismatch", "a kernel of scalars that is applied to arrays must return "
                                         f"scalars, not {describe(v)}")
        return t

    @staticmethod
    def _check_result_shape(v, annotation, binder):
        s = annotation.slice
        dims = list(s.elts) if isinstance(s, ast.Tuple) else [s]
        if len(dims) == 1 and isinstance(dims[0], ast.Constant) and dims[0].value is Ellipsis:
            return
        fits = len(dims) == len(v.shape)
        for d, have in zip(dims, v.shape):
            if isinstance(d, ast.Slice):
                continue
            linear = binder.linear(d)
            fits = fits and linear is not None and (bool(linear[1]) or have in (None, linear[0]))
        if not fits:
            raise Fault("shape-mismatch", f"the result has shape {shape_text(v.shape)}, which is not "
                                          "the one that the kernel declares")

    # ---- running ----

    def check_memory(self, arguments):
        """Refuses outputs that cannot be written, and buffers that are shared with them."""
        arrays = {n: a for n, a in arguments.items() if isinstance(a, np.ndarray)}
        for name in sorted(self.written & set(arrays)):
            a = arrays[name]
            if not a.flags.writeable:
                raise ValueError(f"the kernel writes argument '{name}', which is read-only; pass a "
                                 "copy")
            if any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape)) and a.size:
                raise ValueError(f"the kernel writes argument '{name}', in which several indices are "
                                 "one element; pass a copy")
            for other, b in arrays.items():
                if other == name or not np.shares_memory(a, b):
                    continue
                texts = self.accesses[name] | self.accesses[other]
                same = a.__array_interface__["data"] == b.__array_interface__["data"] and \
                    a.shape == b.shape and a.strides == b.strides
                if not (same and len(texts) == 1 and "?" not in texts):
                    raise ValueError(f"the kernel writes argument '{name}', which shares memory with "
                                     f"'{other}'; pass a copy")

    def run(self, arguments):
        values = []
        saved = []
        for p in self.parameters:
            if p.name not in arguments or p.value.__class__ is not Unknown:
                values.append(strong(p.value))
            elif is_tensor(p.value):
                a = arguments[p.name]
                if p.name in self.written:
                    saved.append((a, a.copy()))
                values.append(_as_tensor(a, p.t))
            else:
                value = arguments[p.name]
                if p.t.is_int and not p.t.low <= value <= p.t.high:
                    raise Fault("argument-overflow", f"the argument for parameter '{p.name}' is "
                                f"{value}, which does not fit {p.t.name}", p.node,
                                self.function.file)
                values.append(dtypes.scalar(value, p.t))
        try:
            with np.errstate(all="ignore"):
                if self.elementwise:
                    return self._run_elements(values)
                return self._named(self.call(*values))
        except BaseException:
            # A run that fails leaves its arguments as they were, as a service's does.
            for a, copy in saved:
                a[...] = copy
            raise

    def _run_elements(self, values):
        parts = [np.broadcast_to(v.a, self.shape) if p.elementwise else v
                 for p, v in zip(self.parameters, values)]
        out = {name: np.empty(self.shape, t.storage) for name, t in self.results}
        for at in np.ndindex(*self.shape):
            args = [load_scalar(p.t, v[at]) if p.elementwise else v
                    for p, v in zip(self.parameters, parts)]
            for name, value in self._named(self.call(*args), False).items():
                out[name][at] = value
        return {name: _to_numpy(Tensor(t, out[name]), t) for name, t in self.results}

    def _named(self, value, numpy=True):
        values = list(value) if is_sequence(value) else [value]
        out = {}
        for (name, t), v in zip(self.results, values):
            v = ops.cast(v, t) if not (v.__class__ is Tensor and v.t is t) else v
            if numpy:
                v = _to_numpy(v, t)
            elif t is BFLOAT16:
                v = dtypes.bfloat16_bits(v.value)
            out[name] = v
        return out

    def place(self, traceback):
        """The (file, node-like position) of the innermost frame of the kernel."""
        found = None
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code in self.codes:
                positions = list(code.co_positions())
                at = positions[traceback.tb_lasti // 2] if hasattr(code, "co_positions") else None
                found = (self.codes[code], traceback.tb_lineno, at)
            traceback = traceback.tb_next
        return found


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _return_node(function):
    from .flow import statements
    found = function
    for s in statements(function.body):
        if isinstance(s, ast.Return) and s.value is not None:
            found = s.value
    return found


# ---- diagnostics ----

def _place_of(node, file, program):
    if node is None or not hasattr(node, "lineno"):
        return Place(file), ""
    line = node.lineno
    text = program[file].line(line)
    column = _column(text, node.col_offset)
    end_line = getattr(node, "end_lineno", None) or line
    if isinstance(node, (ast.FunctionDef, ast.If, ast.For, ast.While)):
        end_line = line
        end_column = column
    else:
        end = getattr(node, "end_col_offset", None)
        end_column = column if end is None else _column(program[file].line(end_line), end)
    return Place(file, line, column, end_line, end_column), text[:_LONGEST_LINE]


def _column(text, offset):
    """A column counted in characters from 1, from an offset in UTF-8 bytes."""
    return len(text.encode()[:offset].decode(errors="replace")) + 1


def _diagnostic(fault, files):
    place, line = _place_of(fault.node, fault.file, files)
    notes = []
    for message, node, *file in fault.notes:
        at, text = _place_of(node, file[0] if file else fault.file, files)
        notes.append(Diagnostic(3, "", message, at, text))
    return Diagnostic(1, fault.code, fault.message, place, line, notes)


# ---- entries ----

def _remember(cache, key, make):
    found = cache.get(key)
    if found is None:
        found = cache[key] = make()
        while len(cache) > _KEPT:
            cache.popitem(last=False)
    return found


def argument_type(value, name, constexpr):
    """What is known of an argument before the run; the value itself for constexpr."""
    if isinstance(value, np.ndarray):
        return Unknown(tensor_type(value, name), value.shape)
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"argument '{name}' is a {type(value).__name__}; kernels take NumPy arrays "
                        "and numbers")
    if constexpr:
        return value
    return Unknown(BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else FLOAT32)


def compile_files(files, kernel, arguments, constants=(), options=None):
    """The Compiled of a kernel for arguments by name. `files` are (path, text, first line);
    `constants` ((file, name), value) pairs. Raises Rejected."""
    options = options or Options()
    files = tuple(files)
    key = (files, tuple((k, type(v).__name__, repr(v)) for k, v in constants))
    parsed = [File(*f) for f in files] if key not in _PROGRAMS else _PROGRAMS[key].files
    try:
        with np.errstate(all="ignore"):
            return _compile(key, parsed, kernel, arguments, constants, options)
    except Fault as fault:
        raise Rejected([_diagnostic(fault, parsed)]) from None
    except RecursionError:
        fault = Fault("nesting-too-deep", "this is nested deeper than the interpreter can follow")
        raise Rejected([_diagnostic(fault, parsed)]) from None


def _compile(key, parsed, kernel, arguments, constants, options):
    program = _remember(_PROGRAMS, key, lambda: Program(parsed, constants))
    function = program.kernel(kernel)
    constexpr = {p.name for p in parameters_of(function.node)
                 if p.node.annotation is not None and "constexpr" in ast.dump(p.node.annotation)}
    types = {n: argument_type(v, n, n in constexpr) for n, v in arguments.items()}
    precision, debug = program.kernel_options(function)
    # What the call says of precision goes before the text.
    mixed, debug = options.mixed or precision == "mixed", options.debug or debug
    options = Options(debug, mixed, options.float64)
    signature = (key, function.node.name, debug, mixed, options.float64,
                 tuple((n, repr(t), type(t).__name__) for n, t in types.items()))
    return _remember(_COMPILED, signature, lambda: Compiled(program, function, types, options))


def run_files(files, kernel, arguments, constants=(), options=None, shuffle=None, echo=None):
    """Runs a kernel on arguments by name; arrays are written in place. `shuffle`: a seed that mixes
    the iterations of parallel loops. `echo` is called with each line that the kernel
    prints and its line in the source.
    Raises Rejected and Failed; TypeError and ValueError for arguments that cannot be."""
    files = tuple(files)
    compiled = compile_files(files, kernel, arguments, constants, options)
    compiled.check_memory(arguments)
    run = runtime.RUN
    saved = run.prints, run.shuffle, run.echo, run.partial
    run.prints, run.echo, run.partial = [], echo, ""
    run.shuffle = None if shuffle is None else random.Random(shuffle)
    CONTEXT.mixed = compiled.options.mixed
    try:
        try:
            results = compiled.run(arguments)
        finally:
            runtime.end_prints()
        return Outcome(results, run.prints, compiled.written)
    except (Fault, UnboundLocalError, RecursionError, MemoryError) as error:
        raise Failed([_run_diagnostic(error, compiled)]) from error
    finally:
        run.prints, run.shuffle, run.echo, run.partial = saved


def _run_diagnostic(error, compiled):
    if isinstance(error, UnboundLocalError):
        error = Fault("possibly-unbound", str(error)).with_traceback(error.__traceback__)
    elif isinstance(error, RecursionError):
        error = Fault("recursion", "calls are nested too deep").with_traceback(error.__traceback__)
    elif isinstance(error, MemoryError):
        text = str(error)
        error = Fault("out-of-memory", "the tensors of the kernel need more memory than there is"
                      + (f": {text[0].lower()}{text[1:]}" if text else "")
                      ).with_traceback(error.__traceback__)
    files = compiled.program.files
    if isinstance(error, Fault) and error.node is not None:
        place, text = _place_of(error.node, error.file, files)
        return Diagnostic(1, error.code, error.message, place, text)
    found = compiled.place(error.__traceback__)
    if found is None:
        return Diagnostic(1, error.code, error.message, Place())
    file, line, at = found
    node = ast.Pass(lineno=line, col_offset=0)
    if at is not None and at[0] is not None and at[2] is not None:
        node = ast.Pass(lineno=at[0], end_lineno=at[1], col_offset=at[2], end_col_offset=at[3])
    place, text = _place_of(node, file, files)
    return Diagnostic(1, error.code, error.message, place, text)
