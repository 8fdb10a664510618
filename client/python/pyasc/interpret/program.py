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
        self.names, self.kernels = {}, []
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
        self.files = files
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
        """The Function of a kernel by name, or the only one."""
        kernels = [k for f in self.files for k in f.kernels]
        if name is None:
            if len(kernels) != 1:
                known = ", ".join(k.node.name for k in kernels)
                raise Fault("unknown-kernel", "the file has several kernels; name one of them: "
                                              f"{known}" if kernels else "the file has no kernel: "
                                              "decorate a function with @asc.kernel")
            return kernels[0]
        for k in kernels:
            if k.node.name == name:
                return k
        close = library.closest(name, [k.node.name for k in kernels])
        hint = f"; did you mean '{close}'?" if close else \
            f"; it has {', '.join(k.node.name for k in kernels)}" if kernels else ""
        raise Fault("unknown-kernel", f"the file has no kernel '{name}'{hint}")

    def fold(self, translator, file, node):
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
        for s in ast.walk(tree):
            if isinstance(s, ast.FunctionDef) and any(map(_is_kernel_decorator, s.decorator_list)):
                file.kernels.append(Function(s, index))

    def _bind(self, index, file, body):
        for s in body:
            if isinstance(s, ast.FunctionDef):
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
            return self.fold(self.folder, index, node)
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
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
        node.func.attr == "dims"


def _module(name):
    return Module(library.ASC if name in OURS else library.NUMPY if name == "np" else name)
