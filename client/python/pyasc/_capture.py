"""What of the user's program a kernel needs: its text, the helpers it reaches, constants' values.

Sent is, for each Python file with functions that the kernel reaches, a text that holds just these
functions, each on its own lines of the file (the lines between are blank), so that positions in
diagnostics are the user's. Below them stand the imports that the functions' names need. Constants
travel by their values at the time of the call. What is neither function, constant, dtype nor
library is refused by name.
"""

import ast
import builtins
import inspect
import math
import types as python_types

import numpy as np

from . import library, types
from .errors import CaptureError

MAX_SOURCE_BYTES = 1 << 20
_MISSING = object()


class FunctionSource:
    """The text of one function, taken when this object is made."""

    def __init__(self, function):
        self.function = function
        self.path = inspect.getsourcefile(function) or function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise CaptureError(f"{self.path}:{function.__code__.co_firstlineno}: error: the source "
                               f"of '{function.__name__}' cannot be found ({error}); kernels and "
                               "their helpers have to stand in a file") from None
        indent = len(lines[0]) - len(lines[0].lstrip())
        self.indent = indent
        dedented = [line[indent:] if line[:indent].isspace() or not indent else line
                    for line in lines]
        try:
            tree = ast.parse("".join(dedented))
        except SyntaxError as error:
            raise CaptureError(f"{self.path}:{first + (error.lineno or 1) - 1}: error: the source of "
                               f"'{function.__name__}' cannot be read on its own: {error.msg}") \
                from None
        node = tree.body[0]
        if not isinstance(node, ast.FunctionDef):
            raise CaptureError(f"{self.path}:{first}: error: '{function.__name__}' is no function "
                               "made by def; kernels cannot call it")
        self.node = node
        self._text, self._first = dedented, first
        # Decorators are Python's business; the kernel's one is written anew.
        self.lines = [line.rstrip("\r\n") for line in dedented[node.lineno - 1:]]
        self.first_line = first + node.lineno - 1
        self._places = dict(_names_read(node, self._freeze_defaults()))
        self.reads = list(self._places)

    def error(self, message, name=""):
        """A CaptureError at the first place that reads `name`, perhaps dotted; else at the def."""
        wanted = tuple(name.split("."))
        node = next((node for path, node in self._places.items()
                     if path[:len(wanted)] == wanted), None)
        node = node or next((n for path, n in self._places.items() if path[0] == wanted[0]), None)
        at = node or self.node
        line = self._text[at.lineno - 1].rstrip("\r\n")
        begin = len(line.encode()[:at.col_offset].decode(errors="replace"))
        end = begin + 1
        if node is not None and node.end_lineno == node.lineno:
            end = len(line.encode()[:node.end_col_offset].decode(errors="replace"))
        elif node is None:
            begin = line.find(self.node.name, begin)
            end = begin + len(self.node.name)
        number = self._first + at.lineno - 1
        under = " " * (self.indent + begin) + "^" + "~" * (end - begin - 1)
        return CaptureError(f"{self.path}:{number}:{self.indent + begin + 1}: error: {message}\n"
                            f"{number:5} | {' ' * self.indent}{line}\n      | {under}",
                            self.path, number)

    def _freeze_defaults(self):
        """Python computes a default where the function is defined; later assignments to what it
        was computed from do not matter. Writes the values into the text, and returns the
        expressions whose place they take."""
        arguments = self.node.args
        positional = (self.function.__defaults__ or ())[::-1]
        by_name = self.function.__kwdefaults__ or {}
        pairs = list(zip(arguments.defaults[::-1], positional))
        pairs += [(node, by_name[argument.arg])
                  for argument, node in zip(arguments.kwonlyargs, arguments.kw_defaults)
                  if node is not None and argument.arg in by_name]
        # From the end, so that what is yet to come keeps its place.
        pairs.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset), reverse=True)
        frozen = []
        for node, value in pairs:
            if isinstance(node, ast.Constant) or not (_is_constant(value) or _is_literal(value)):
                continue
            begin, end = node.lineno - self.node.lineno, node.end_lineno - self.node.lineno
            head = self.lines[begin].encode()[:node.col_offset].decode()
            tail = self.lines[end].encode()[node.end_col_offset:].decode()
            # The lines that it stood on stay: what comes after them keeps its number.
            self.lines[begin:end + 1] = ([head + _literal_text(value)] + [""] * (end - begin))
            self.lines[end] += tail
            frozen.append(node)
        return frozen


def _names_read(node, left_out):
    """Names, as tuples of a dotted path, that a function reads and does not bind itself, but for
    those in the expressions `left_out`; each with the first expression that reads it."""
    bound = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            bound.add(child.id)
    seen = set()

    def visit(child):
        if any(child is other for other in left_out):
            return
        path, base = [], child
        while isinstance(base, ast.Attribute):
            path.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name) and isinstance(base.ctx, ast.Load):
            dotted = (base.id, *reversed(path))
            if base.id not in bound and dotted not in seen:
                seen.add(dotted)
                yield dotted, child
            return
        for grandchild in ast.iter_child_nodes(child):
            yield from visit(grandchild)

    # The decorators are not sent; annotations and defaults are.
    for part in (node.args, node.returns, *node.body):
        if part is not None:
            yield from visit(part)


class Capture:
    """Everything that is sent for one kernel. `key` is equal for equal requests."""

    def __init__(self, kernel_source, sources):
        self._sources = sources
        self._files = {}
        self._order = []
        self._constants = {}
        self._lookups = []
        self._add_function(kernel_source, kernel_source.function.__name__)
        self.kernel = kernel_source.function.__name__
        self._kernel_source = kernel_source
        self._check_ambiguity()
        self.contents = [self._content(path) for path in self._order]
        size = sum(len(content) for content, _ in self.contents)
        if size > MAX_SOURCE_BYTES:
            raise kernel_source.error(f"'{self.kernel}' and what it reaches have {size} bytes of "
                                      "source; 1 MiB is the limit")
        self.constants = tuple(sorted(
            (self._order.index(path), name, type(value).__name__, repr(value))
            for (path, name), value in self._constants.items()))
        self._values = {(self._order.index(path), name): value
                        for (path, name), value in self._constants.items()}
        self.key = (self.kernel, tuple(self.contents), self.constants)

    def path(self, file):
        """The user's path of a file of the request."""
        return self._order[file] if file < len(self._order) else f"<file {file}>"

    def values(self):
        """The captured constants: {(file, name): value}."""
        return dict(self._values)

    def fill(self, request):
        """Puts files, kernel and constants into a CompileRequest."""
        for content, first_line in self.contents:
            request.files.add(content=content, first_line=first_line)
        request.kernel = self.kernel
        for (file, name), value in sorted(self._values.items()):
            set_scalar(request.constants.add(file=file, name=name).value, value)

    def restore_columns(self, diagnostics):
        """The text was sent without its indentation; puts the user's columns back, and the line
        where it is missing."""
        for diagnostic in diagnostics:
            # What a run found comes without the line: the device has no text.
            if not diagnostic.source_line:
                diagnostic.source_line = self._line(diagnostic.range)
            self._restore(diagnostic.range)
            indent = self._indent(diagnostic.range)
            if indent and diagnostic.source_line:
                diagnostic.source_line = " " * indent + diagnostic.source_line
            for fixit in diagnostic.fixits:
                self._restore(fixit.range)
            self.restore_columns(diagnostic.notes)

    def _restore(self, span):
        indent = self._indent(span)
        if span.column:
            span.column += indent
        if span.end_column:
            span.end_column += indent

    def _line(self, span):
        if not span.line or span.file >= len(self.contents):
            return ""
        content, first_line = self.contents[span.file]
        lines = content.decode().split("\n")
        at = span.line - first_line
        return lines[at] if 0 <= at < len(lines) else ""

    def _indent(self, span):
        if not span.line or span.file >= len(self._order):
            return 0
        for source in self._files[self._order[span.file]].functions.values():
            if source.first_line <= span.line < source.first_line + len(source.lines):
                return source.indent
        return 0

    # Collecting.

    def _file(self, path):
        if path not in self._files:
            self._files[path] = _File()
            self._order.append(path)
        return self._files[path]

    def _add_function(self, source, name):
        file = self._file(source.path)
        known = file.functions.get(name)
        if known is not None and known.function is not source.function:
            raise source.error(f"two different functions are named '{name}' in {source.path}; "
                               f"rename one of them (the other is at line {known.first_line})")
        if known is not None:
            return
        self._bind(source, name, ("function", id(source.function)))
        file.functions[name] = source
        for path in source.reads:
            self._resolve(source, path)

    def _resolve(self, source, path):
        value = _lookup(source.function, path[0])
        if value is _MISSING:
            # A symbolic extent of an annotation, or an error that the compiler explains.
            return
        if inspect.ismodule(value):
            self._resolve_module(source, path, value)
        else:
            self._capture(source, path[0], value)

    def _resolve_module(self, source, path, module):
        name = path[0]
        if module.__name__ == "pyasc":
            self._import(source, name, f"import pyasc as {name}")
            if len(path) > 1 and not hasattr(module, path[1]):
                raise source.error(f"'{source.function.__name__}' uses {'.'.join(path[:2])}, which "
                                   "pyasc does not have", ".".join(path))
            return
        if module.__name__ in ("numpy", "math"):
            self._import(source, name, f"import {module.__name__} as {name}")
            return
        if len(path) == 1:
            raise source.error(f"'{source.function.__name__}' uses the module '{name}' as a value",
                               name)
        value = getattr(module, path[1], _MISSING)
        dotted = ".".join(path[:2])
        if value is _MISSING:
            raise source.error(f"'{source.function.__name__}' uses {dotted}, which the module does "
                               "not have", dotted)
        if inspect.ismodule(value):
            raise source.error(f"'{source.function.__name__}' uses {'.'.join(path)}; import the "
                               f"name itself: from {dotted} import ...", dotted)
        self._import(source, name, f"import {_module_word(module.__name__)} as {name}", "module")
        function = _function_of(value)
        if function is not None:
            helper = self._sources(function)
            if function.__name__ != path[1]:
                raise source.error(f"{dotted} is another name of {function.__name__}; call it by "
                                   "that", dotted)
            if helper.path == source.path:
                raise source.error(f"{dotted} stands in the file that uses it; call it by its name",
                                   dotted)
            self._lookups.append((source, path[1], helper.path))
            self._add_function(helper, function.__name__)
        elif _is_constant(value):
            where = getattr(module, "__file__", None) or module.__name__
            self._file(where)
            self._lookups.append((source, path[1], where))
            self._set_constant(source, where, path[1], value, dotted)
        else:
            self._refuse(source, dotted, value)

    def _capture(self, source, name, value):
        if isinstance(value, types.Dim):
            return
        if _is_numpy(value) or getattr(value, "__module__", None) == "math":
            module = "numpy" if _is_numpy(value) else "math"
            self._import(source, name, f"from {module} import {value.__name__} as {name}")
            return
        function = _function_of(value)
        if function is not None:
            self._capture_function(source, name, function)
        elif _is_constant(value):
            self._bind(source, name, ("constant", type(value), repr(value)))
            self._set_constant(source, source.path, name, value, name)
        elif isinstance(value, (types.DType, types.Marker)):
            self._import(source, name, f"from pyasc import {value.name} as {name}")
        elif isinstance(value, types.TensorType):
            self._assign(source, name, repr(value))
        elif isinstance(value, type) and issubclass(value, np.generic):
            self._import(source, name, f"from numpy import {value.__name__} as {name}")
        elif getattr(library, getattr(value, "__name__", ""), _MISSING) is value:
            self._import(source, name, f"from pyasc import {value.__name__} as {name}")
        elif _is_literal(value):
            self._assign(source, name, repr(value))
        elif getattr(builtins, name, _MISSING) is value:
            return
        else:
            self._refuse(source, name, value)

    def _capture_function(self, source, name, function):
        helper = self._sources(function)
        if helper.path == source.path:
            if function.__name__ != name:
                raise source.error(f"'{source.function.__name__}' calls '{name}', another name of "
                                   f"'{function.__name__}'; call it by that", name)
        else:
            module = _module_word(function.__module__)
            self._import(source, name, f"from {module} import {function.__name__} as {name}",
                         "module")
            self._lookups.append((source, function.__name__, helper.path))
        self._add_function(helper, function.__name__)

    def _refuse(self, source, name, value):
        raise source.error(
            f"kernel function '{source.function.__name__}' uses '{name}', a {type(value).__name__}, "
            "which is no constant of a kernel; numbers, bools, tuples of them, dtypes and functions "
            "may be used from outside, anything else is passed as an argument", name)

    def _bind(self, source, name, meaning):
        names = self._file(source.path).names
        if names.setdefault(name, meaning) != meaning:
            raise source.error(f"functions of {source.path} that the kernel reaches use '{name}' for "
                               "different things; rename one of them", name)

    def _import(self, source, name, line, kind="library"):
        self._bind(source, name, (kind, line))
        self._file(source.path).epilogue[line] = None

    def _assign(self, source, name, text):
        self._bind(source, name, ("literal", text))
        # Inside a literal a dtype is written asc.float32.
        self._file(source.path).epilogue[f"{name} = {text}"] = None

    def _set_constant(self, source, path, name, value, shown):
        value = _plain(value)
        if isinstance(value, int) and not isinstance(value, bool) and not -2**63 <= value < 2**63:
            raise source.error(f"the constant '{shown}' does not fit into 64 bits", shown)
        self._constants[(path, name)] = value

    def _check_ambiguity(self):
        """The compiler looks a name of another module up in all other files that it was sent."""
        for user, name, target in self._lookups:
            for path, file in self._files.items():
                meaning = file.names.get(name, ("none",))[0]
                found = (path, name) in self._constants or meaning not in ("none", "module")
                if found and path not in (user.path, target):
                    raise user.error(f"'{name}' of {target}, which is used here, has a namesake in "
                                     f"{path} that the kernel reaches too; rename one of them",
                                     name)

    def _content(self, path):
        file = self._files[path]
        functions = sorted(file.functions.values(), key=lambda s: s.first_line)
        lines = []
        first = functions[0].first_line if functions else 1
        # The kernel's decorator takes the line above its def, which it has anyway.
        if any(s is self._kernel_source for s in functions) and \
                functions[0] is self._kernel_source and first > 1:
            first -= 1
        for source in functions:
            at = first + len(lines)
            if source.first_line < at:
                # Only a def on the very line of another one comes here.
                raise source.error(f"'{source.function.__name__}' shares a line with another "
                                   "function; give it lines of its own")
            lines += [""] * (source.first_line - at)
            if source is self._kernel_source:
                if lines and not lines[-1].strip():
                    lines[-1] = "@asc.kernel"
                else:
                    raise source.error(f"the line above 'def {self.kernel}' has to be empty or its "
                                       "decorator's")
            lines += source.lines
        lines += file.epilogue
        return "\n".join(lines).encode() + b"\n", first


class _File:
    def __init__(self):
        self.functions = {}
        self.names = {}
        # Lines to add; a dict keeps their order and drops doubles.
        self.epilogue = {}


def _lookup(function, name):
    code = function.__code__
    if name in code.co_freevars:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:
            return _MISSING
    value = function.__globals__.get(name, _MISSING)
    if value is not _MISSING:
        return value
    # Names that only annotations use are no free variables of the code.
    return _MISSING


def _function_of(value):
    """The Python function of a helper or of another kernel; None for anything else."""
    value = getattr(value, "__pyasc_function__", value)
    if isinstance(value, python_types.FunctionType) and value.__module__ != library.__name__:
        return value
    return None


def _module_word(name):
    """A word that stands for a module of the user's; the compiler ignores which."""
    word = (name or "").split(".")[0]
    reserved = ("pyasc", "asc", "math", "numpy", "np", "__future__", "__main__")
    return word if word.isidentifier() and word not in reserved else "user_module"


def _is_numpy(value):
    return callable(value) and not isinstance(value, type) and \
        (getattr(value, "__module__", None) or "").split(".")[0] == "numpy" or \
        isinstance(value, np.ufunc)


def _is_constant(value):
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def _plain(value):
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    # A subclass, such as an IntEnum's member, is its number.
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value


def _literal_text(value):
    """Python text for a constant or literal."""
    value = _plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _is_literal(value):
    """Strings, and tuples and lists of plain numbers, whose repr is Python text for them."""
    if isinstance(value, str):
        return True
    if isinstance(value, (tuple, list)):
        return all(_is_literal(item) for item in value)
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in (bool, int) or value is None


def set_scalar(message, value):
    """Fills a ScalarValue from a Python or NumPy number."""
    value = _plain(value)
    if isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int):
        message.int_value = value
    else:
        message.float_value = value


class SourceCache:
    """The sources of functions, read once each: the file may change while the program runs."""

    def __init__(self):
        self._sources = {}

    def __call__(self, function):
        # The code object tells a redefined function (a notebook's cell run again) from the old.
        source = self._sources.get(function.__code__)
        if source is None or source.function is not function:
            source = FunctionSource(function)
            self._sources[function.__code__] = source
        return source


SOURCES = SourceCache()
