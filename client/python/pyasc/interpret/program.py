"""The files of a request as kernels see them: module constants, functions, imports, kernels.

Host code at module level is skipped: nothing of a text is ever executed but the kernel.
"""

import ast
import textwrap

from . import library, runtime
from .errors import Fault
from .flow import expressions, statements
from .state import MISSING
from .translate import ModuleName, Options, Translator, Unit
from .values import Function, Module, Unknown, truth

OURS = ("pyasc", "asc")


class File:
    def __init__(self, path, text, first_line=1):
        self.path, self.text, self.first_line = path, text, first_line
        self.names, self.kernels, self.first_function = {}, [], None
        self.lines = text.splitlines()

    def line(self, number):
        at = number - self.first_line
        return self.lines[at] if 0 <= at < len(self.lines) else ""


def _is_kernel_decorator(d):
    if isinstance(d, ast.Call):
        return _is_kernel_decorator(d.func)
    return isinstance(d, ast.Attribute) and d.attr == "kernel" and isinstance(d.value, ast.Name) or \
        isinstance(d, ast.Name) and d.id == "kernel"


class Program:
    """Parsed files. `constants` are (file, name) -> value that override the text."""

    def __init__(self, files, constants=()):
        self.files, self.captured, self.defaults = files, bool(constants), {}
        self.folder = Translator(self, Options(), runtime.FUNCTIONS)
        self.folder.unit, self.folder.constants = Unit(), {}
        self.folder.frames, self.folder.counter = [], 0
        self.folder.effects, self.folder.accesses, self.folder.written = 0, {}, set()
        for index, file in enumerate(files):
            self._bind_file(index, file)
        for (index, name), value in dict(constants).items():
            files[index].names[name] = ModuleName(value)

    # ---- look-up ----

    def find(self, file, name):
        return self.files[file].names.get(name)

    def find_elsewhere(self, file, name):
        for i, other in enumerate(self.files):
            found = other.names.get(name) if i != file else None
            if found is not None and found.value is not MISSING and found.imported is None and \
                    not isinstance(found.value, Module):
                return found
        return None

    def names(self, file):
        return self.files[file].names

    def kernel(self, name):
        """The Function of a kernel of the first file by name, or the only one."""
        kernels = self.files[0].kernels
        names = ", ".join(k.node.name for k in kernels)
        if not kernels:
            raise Fault("no-kernel", "the file has no kernel; decorate a function with @asc.kernel",
                        self.files[0].first_function or
                        ast.Pass(lineno=self.files[0].first_line, col_offset=0))
        if not name:
            if len(kernels) == 1:
                return kernels[0]
            raise Fault("ambiguous-kernel", f"the file has several kernels ({names}); name one",
                        kernels[1].node)
        for k in reversed(kernels):  # as in Python, the last definition of a name counts
            if k.node.name == name:
                return k
        found = self.find(0, name)
        if found is not None and isinstance(found.value, Function):
            raise Fault("unknown-kernel", f"'{name}' is no kernel: decorate it with @asc.kernel",
                        found.node)
        raise Fault("unknown-kernel", f"there is no kernel '{name}'; the file has {names}")

    def kernel_options(self, kernel):
        """(precision, debug) as the kernel's decorator says."""
        precision, debug = "", False
        for d in kernel.node.decorator_list:
            if not _is_kernel_decorator(d):
                raise Fault("unknown-decorator", "a kernel has the decorator @asc.kernel alone; host "
                            "decorators are not run", d, kernel.file)
            if not isinstance(d, ast.Call):
                continue
            for x in d.args:
                raise Fault("unknown-option", "@asc.kernel takes options by name: precision, debug",
                            x, kernel.file)
            for k in d.keywords:
                try:
                    value = self.fold(kernel.file, k.value)
                except Fault:
                    value = None
                if k.arg == "precision" and isinstance(value, str):
                    if value not in ("mixed", "auto", ""):
                        raise Fault("unknown-option", f"unknown precision '{value}'; it is 'mixed' "
                                    "or 'auto'", k, kernel.file)
                    precision = value
                elif k.arg == "debug" and isinstance(value, int):
                    debug = debug or bool(value)
                elif k.arg in ("precision", "debug"):
                    raise Fault("unknown-option", f"the option '{k.arg}' needs a constant", k,
                                kernel.file)
                elif k.arg not in ("target", "soc", "server", "timeout", "sanitize"):  # launches' own
                    raise Fault("unknown-option", f"@asc.kernel has no option '{k.arg}'; it has "
                                "precision, debug, target, soc, server, timeout and sanitize", k,
                                kernel.file)
        return precision, debug

    def fold(self, file, node):
        """The value of a module-level expression."""
        t = self.folder
        saved = t.frames, getattr(t, "module_file", 0)
        t.frames, t.module_file = [], file
        try:
            value, _ = t.expr(node)
        finally:
            t.frames, t.module_file = saved
        if not t.is_constant(value):
            raise Fault("host-data", "this is no constant", node, file)
        return value

    def default_of(self, function, node):
        """A default value, which is computed where its function is defined."""
        if self.captured:  # constants that came with the request have no place among the statements
            return self.fold(function.file, node)
        value = self.defaults.get(id(node), MISSING)
        if value is not MISSING:
            return value
        self.fold(function.file, node)  # says what is wrong with it, if something is
        raise Fault("bad-default", "the default value is not known where "
                    f"'{function.node.name}' is defined; define its constants above, or pass the "
                    "argument", node, function.file)

    # ---- binding ----

    def _bind_file(self, index, file):
        file.names["asc"] = ModuleName(Module(library.ASC))
        try:
            tree = ast.parse(textwrap.dedent(file.text))
        except SyntaxError as error:
            where = ast.Pass(lineno=(error.lineno or 1) + file.first_line - 1,
                             col_offset=max((error.offset or 1) - 1, 0))
            raise Fault("syntax-error", error.msg, where, index) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Fault("syntax-error", f"the text cannot be read: {error}") from None
        if file.first_line != 1:
            ast.increment_lineno(tree, file.first_line - 1)
        self._bind(index, file, tree.body)
        file.first_function = next((s for s in statements(tree.body)
                                    if isinstance(s, ast.FunctionDef)), None)
        for s in ast.walk(tree):
            if isinstance(s, ast.FunctionDef) and any(map(_is_kernel_decorator, s.decorator_list)):
                file.kernels.append(Function(s, index))

    def _bind(self, index, file, body):
        for s in body:
            if isinstance(s, ast.FunctionDef):
                for d in (*s.args.defaults, *s.args.kw_defaults):
                    if d is not None:
                        self.defaults[id(d)] = self._folded(index, d)
                file.names[s.name] = ModuleName(Function(s, index), s)
            elif isinstance(s, ast.Import):
                for a in s.names:
                    name = a.asname or a.name.split(".")[0]
                    file.names[name] = ModuleName(_module(a.name if a.asname else name), a)
            elif isinstance(s, ast.ImportFrom):
                self._bind_from(file, s, index)
            elif isinstance(s, ast.Assign):
                value = self._folded(index, s.value)
                for t in s.targets:
                    self._set(file, t, value, s.value)
            elif isinstance(s, ast.AnnAssign):
                if s.value is not None:
                    self._set(file, s.target, self._folded(index, s.value), s.value)
            elif isinstance(s, ast.If):
                c = self._folded(index, s.test)
                if c is MISSING:
                    self._hide(index, file, [*s.body, *s.orelse])
                else:
                    self._bind(index, file, s.body if truth(c) else s.orelse)
            elif isinstance(s, ast.Try):
                self._bind(index, file, s.body)
            else:
                self._hide(index, file, [s])

    def _bind_from(self, file, s, index):
        for a in s.names:
            name = a.asname or a.name
            module = (s.module or "").split(".")[0]
            if module in OURS or s.module in (library.MATH, library.NUMPY):
                try:
                    value = library.module_attribute(library.ASC if module in OURS else s.module,
                                                     a.name)
                except KeyError:
                    value = MISSING
                file.names[name] = ModuleName(value, a)
            else:
                file.names[name] = ModuleName(MISSING, a, imported=a.name)

    def _folded(self, index, node):
        try:
            return self.fold(index, node)
        except Fault:
            return MISSING

    def _set(self, file, target, value, value_node):
        if isinstance(target, ast.Name):
            if value is MISSING and _makes_dims(value_node):
                return  # symbolic axes, which annotations bind
            file.names[target.id] = ModuleName(value, target)
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            fits = isinstance(value, (tuple, list)) and len(value) == len(target.elts)
            for i, t in enumerate(target.elts):
                self._set(file, t, value[i] if fits else MISSING, value_node)

    def _hide(self, index, file, body):
        """What host code assigns has a value that only running it would tell."""
        for s in statements(body):
            for n in ast.walk(s) if not isinstance(s, (ast.FunctionDef, ast.ClassDef)) else ():
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                    file.names[n.id] = ModuleName(MISSING, n)
            if isinstance(s, ast.FunctionDef) and s.name not in file.names:
                file.names[s.name] = ModuleName(Function(s, index), s)


def _makes_dims(node):
    return isinstance(node, ast.Call) and \
        getattr(node.func, "attr", getattr(node.func, "id", "")) == "dims"


def _module(name):
    return Module(library.ASC if name in OURS else library.NUMPY if name == "np" else name)
