"""What of the language kernels have touched. What there is comes from Python's grammar, from the
compiler's table of library functions and from the package's dtypes; what was touched from the texts."""

import ast

import kernel  # noqa: F401  puts the package and tests/language into sys.path
from pyasc.interpret.statements import REFUSED
from pyasc.types import DTYPES
from test_library import ROWS

# Nodes that docs/language.md says are refused, besides the statements that the interpreter lists.
NO_MEANING = {"Lambda", "Yield", "YieldFrom", "Await", "GeneratorExp", "DictComp", "SetComp", "Dict",
              "Set", "Starred", "TypeAlias", "AsyncFunctionDef", "AsyncFor", "AsyncWith", "Raise"}
# What no random kernel can hold, with the reason. Anything else that no kernel touches is missing.
IMPOSSIBLE = {}
LOOPS = ("range", "asc.range", "asc.parallel_for", "asc.parallel_for_grid", "asc.static_range", "tuple",
         "list", "enumerate", "zip", "reversed", "tensor")


def _kinds(base):
    return {c.__name__ for c in base.__subclasses__()}


def everything():
    """What should be covered, by kind."""
    statements = {s for s in _kinds(ast.stmt) if s not in REFUSED} | {"FunctionDef", "Import"}
    expressions = _kinds(ast.expr) - NO_MEANING
    operators = {f"{o} (binary)" for o in _kinds(ast.operator)} | {
        f"{o} (augmented)" for o in _kinds(ast.operator)}
    operators |= _kinds(ast.unaryop) | _kinds(ast.boolop) | _kinds(ast.cmpop)
    extra = {"for-else", "while-else", "chained comparison", "chained assignment", "tuple target",
             "nested tuple target", "negative step", "slice with step", "default argument",
             "keyword argument", "several results", "early return", "unroll"}
    return {"statement": statements - {"Try", "ClassDef"}, "expression": expressions,
            "operator": operators, "dtype": {d.name for d in DTYPES},
            "loop": set(LOOPS) - {"list"} | {"list"},
            "form": extra,
            "library": {f"{r['reach'][0]}.{r['name']}" for r in ROWS}}


BY_NAME = {}
for _row in ROWS:
    for _reach in _row["reach"]:
        BY_NAME[_reach, _row["name"]] = f"{_row['reach'][0]}.{_row['name']}"
MODULES = {"asc": "asc", "np": "numpy", "math": "math"}


class Covered:
    def __init__(self):
        self.counts = {kind: {} for kind in everything()}

    def note(self, kind, what):
        counts = self.counts[kind]
        counts[what] = counts.get(what, 0) + 1

    def add(self, text, dtypes=()):
        for dtype in dtypes:
            self.note("dtype", dtype)
        functions = set()
        tree = ast.parse(text)
        for node in ast.walk(tree):
            name = type(node).__name__
            if isinstance(node, ast.stmt):
                self.note("statement", name)
            elif isinstance(node, ast.expr):
                self.note("expression", name)
            elif isinstance(node, (ast.unaryop, ast.boolop, ast.cmpop)):
                self.note("operator", name)
            method = getattr(self, "_" + name, None)
            if method:
                method(node, functions)

    def _BinOp(self, node, _):
        self.note("operator", f"{type(node.op).__name__} (binary)")

    def _AugAssign(self, node, _):
        self.note("operator", f"{type(node.op).__name__} (augmented)")

    def _Compare(self, node, _):
        if len(node.ops) > 1:
            self.note("form", "chained comparison")

    def _Assign(self, node, _):
        if len(node.targets) > 1:
            self.note("form", "chained assignment")
        for t in node.targets:
            if isinstance(t, ast.Tuple):
                nested = any(isinstance(e, ast.Tuple) for e in t.elts)
                self.note("form", "nested tuple target" if nested else "tuple target")

    def _Slice(self, node, _):
        if node.step is not None:
            self.note("form", "slice with step")

    def _While(self, node, _):
        if node.orelse:
            self.note("form", "while-else")

    def _FunctionDef(self, node, _):
        if node.args.defaults:
            self.note("form", "default argument")
        returns = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
        if len(returns) > 1:
            self.note("form", "early return")
        if any(isinstance(r.value, ast.Tuple) for r in returns):
            self.note("form", "several results")

    def _For(self, node, _):
        if node.orelse:
            self.note("form", "for-else")
        i = node.iter
        if isinstance(i, ast.Call):
            head = ast.unparse(i.func)
            if head in LOOPS:
                self.note("loop", head)
            if len(i.args) == 3 and ast.unparse(i.args[2]).startswith("-"):
                self.note("form", "negative step")
            if any(k.arg == "unroll" for k in i.keywords):
                self.note("form", "unroll")
        elif isinstance(i, ast.Tuple):
            self.note("loop", "tuple")
        elif isinstance(i, (ast.List, ast.ListComp)):
            self.note("loop", "list")
        elif isinstance(i, ast.Name):
            self.note("loop", "tensor")

    def _Attribute(self, node, _):
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        if base == "asc" and node.attr in self._dtypes():
            self.note("dtype", node.attr)
        found = BY_NAME.get((MODULES.get(base, "method"), node.attr))
        if found:
            self.note("library", found)

    def _Call(self, node, _):
        if node.keywords:
            self.note("form", "keyword argument")
        if isinstance(node.func, ast.Name):
            found = BY_NAME.get(("builtin", node.func.id))
            if found:
                self.note("library", found)

    @staticmethod
    def _dtypes():
        return {d.name for d in DTYPES}

    def missing(self):
        """What nothing touched, and what is listed as impossible and is not."""
        found = {}
        for kind, names in everything().items():
            names = names - set(self.counts[kind]) ^ {n for k, n in IMPOSSIBLE if k == kind}
            if names:
                found[kind] = sorted(names)
        return found
