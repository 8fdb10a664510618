"""A kernel's parameters against the arguments of a launch: dtypes, symbolic axes, defaults."""

import ast

import numpy as np

from . import dtypes, flow, library, ops
from .dtypes import BFLOAT16, BOOL, FLOAT32, INT64
from .errors import Fault
from .state import MISSING
from .values import Unknown, describe, is_number, is_tensor, shape_text

TENSOR_NAMES = ("tensor", "Tensor", "ndarray", "array")
PYTHON = {"int": INT64, "float": FLOAT32, "bool": BOOL}


class Parameter:
    """`value` is what the translator starts from; `elementwise`: a scalar that is given an array."""

    def __init__(self, node, default):
        self.node, self.name, self.default = node, node.arg, default
        self.value = MISSING
        self.t = None
        self.elementwise = False
        self.given = False


def last_name(node):
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def parameters_of(function):
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    return [Parameter(p, d) for p, d in zip(positional, defaults)] + \
        [Parameter(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults)]


class Binder:
    """`types` maps names to what is given: a Unknown for an array or a scalar, or the value of a
    constexpr argument."""

    def __init__(self, program, function, types, options):
        self.program, self.function, self.options = program, function, options
        self.node = function.node
        self.types = types
        self.symbols = {}

    def bind(self):
        a = self.node.args
        if a.vararg or a.kwarg:
            raise self.fault("unsupported-star", "a kernel has no * or ** parameters; name each "
                             "argument", a.vararg or a.kwarg)
        parameters = parameters_of(self.node)
        names = [p.name for p in parameters]
        for p in parameters:
            self.bind_one(p)
        for name in self.types:
            if name not in names:
                close = library.closest(name, names)
                hint = f"; did you mean '{close}'?" if close else \
                    f"; it has {', '.join(names)}" if names else "; it has none"
                raise self.fault("unknown-argument", f"kernel '{self.node.name}' has no parameter "
                                 f"'{name}'{hint}", self.node)
        self.bind_shapes(parameters)
        return parameters

    def fault(self, code, message, node):
        return Fault(code, message, node, self.function.file)

    def fail(self, p, code, message):
        fault = self.fault(code, message, p.node.annotation or p.node)
        fault.notes.append((f"in kernel '{self.node.name}'", self.node))
        return fault

    def check_dtype(self, t, node):
        if t is dtypes.FLOAT64 and not self.options.float64:
            raise self.fault("float64-unsupported", "the AI Core has no float64; use float32, or "
                             "compile for the host target", node)

    def bind_one(self, p):
        annotation = p.node.annotation
        base = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        has_dims = isinstance(annotation, ast.Subscript)
        name = last_name(base)
        constexpr, any_tensor = name == "constexpr", name in TENSOR_NAMES
        python = isinstance(base, ast.Name) and name in PYTHON
        t = PYTHON[name] if python else None
        if annotation is not None and not constexpr and not any_tensor and not python:
            t = dtypes.BY_NAME.get(name)
            if t is None:
                raise self.fail(p, "bad-annotation", f"parameter '{p.name}' has an annotation that "
                                "is no type; use asc.float32, asc.float32[N, M], asc.tensor, "
                                "asc.constexpr, int, float or bool")
        if python and has_dims:
            raise self.fail(p, "bad-annotation", f"a Python type has no shape; write asc.{t.name}"
                            "[...]")
        if t is not None:
            self.check_dtype(t, annotation)
        given = self.types.get(p.name, MISSING)
        if given is MISSING:
            return self.bind_default(p, t, has_dims)
        p.given = True
        if given.__class__ is not Unknown:
            return self.bind_constant(p, given, t, has_dims, constexpr, python)
        if constexpr:
            raise self.fail(p, "not-static", f"parameter '{p.name}' is asc.constexpr: its value must "
                            "be given at compile time")
        if given.shape is None:
            if has_dims or any_tensor:
                raise self.fail(p, "type-mismatch", f"parameter '{p.name}' is a tensor, and the "
                                f"argument is {describe(given)}")
            want = t or given.t
            # `float` takes an int, as in Python; asc.float32 is a type and does not.
            widens = python and want.is_float and given.t.is_int
            if not widens and (want.is_float != given.t.is_float
                               or (want is BOOL) != (given.t is BOOL)):
                hint = ""
                if want.is_float and given.t.is_int:
                    hint = "; pass a float, such as 1.0 for 1 (annotated float, it takes both, and no arrays)"
                elif want.is_int and given.t.is_float:
                    hint = "; pass a whole number, or annotate " + (
                        "the parameter float" if python else "it asc.float32")
                kind = {"bool": "a bool", "int64": "an int", "float32": "a float"}
                raise self.fail(p, "type-mismatch", f"parameter '{p.name}' is "
                                f"{name if python else want.name}, and the argument is "
                                f"{kind.get(given.t.name, given.t.name)}{hint}")
            self.check_dtype(want, p.node)
            p.t, p.value = want, Unknown(want)
            return
        if python:
            raise self.fail(p, "type-mismatch", f"parameter '{p.name}' is "
                            f"{'an' if name[0] == 'i' else 'a'} {name}, and the argument "
                            f"is an array; annotate it asc.{given.t.name}[...] or asc.tensor")
        if t is not None and t is not given.t:
            raise self.fail(p, "type-mismatch", f"parameter '{p.name}' is {t.name}, and the argument "
                            f"is {given.t.name}; convert the array, or change the annotation")
        self.check_dtype(given.t, p.node)
        p.t, p.value = given.t, given
        p.elementwise = t is not None and not has_dims

    def bind_default(self, p, t, has_dims):
        if p.default is None:
            raise self.fail(p, "missing-argument", f"no argument was given for parameter '{p.name}'")
        try:
            value = self.program.fold(self.function.file, p.default)
        except Fault:
            raise self.fail(p, "bad-default", f"the default value of '{p.name}' is no constant") \
                from None
        if t is not None and not has_dims and value.__class__ in (int, float, bool):
            try:
                value = ops.cast_for_store(value, t, "the parameter")
            except Fault as fault:
                fault.node, fault.file = p.default, self.function.file
                raise
        number = value.__class__ in (int, float, bool) or is_number(value)
        if t is not None and (value is not None and not is_tensor(value) if has_dims else not number):
            raise self.fail(p, "bad-default", f"parameter '{p.name}' is "
                            f"{'a tensor' if has_dims else t.name}, and its default is "
                            f"{describe(value)}; drop the default, or the annotation")
        p.value = value

    def bind_constant(self, p, value, t, has_dims, constexpr, python):
        kind = BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else FLOAT32
        if t is not None and not has_dims:
            widens = python and t.is_float and kind is INT64
            if not widens and (t.is_float != kind.is_float or (t is BOOL) != (kind is BOOL)):
                raise self.fail(p, "type-mismatch", f"parameter '{p.name}' is {t.name}, and the "
                                f"argument is {describe(value)}")
            if t.is_int and kind is INT64 and not t.low <= value <= t.high:
                raise self.fail(p, "argument-overflow", f"the argument for parameter '{p.name}' is "
                                f"{value}, which does not fit {t.name}")
            value = ops.cast(value, t)
        elif has_dims and not constexpr:
            raise self.fail(p, "type-mismatch", f"parameter '{p.name}' is a tensor, and the argument "
                            f"is {describe(value)}")
        p.value = value

    # ---- symbolic axes ----

    def linear(self, node):
        """An axis as (constant, unknown name or "", factor); None when it is no such thing."""
        if isinstance(node, ast.Name):
            found = self.program.find(self.function.file, node.id)
            if found is not None and isinstance(found.value, int):
                return int(found.value), "", 0
            if node.id in self.symbols:
                return self.symbols[node.id][0], "", 0
            return 0, node.id, 1
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value, "", 0
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            x = self.linear(node.operand)
            return x and (-x[0], x[1], -x[2])
        if not isinstance(node, ast.BinOp):
            try:
                value = self.program.fold(self.function.file, node)
            except Fault:
                return None
            return (value, "", 0) if type(value) is int else None
        x, y = self.linear(node.left), self.linear(node.right)
        if x is None or y is None:
            return None
        (a, u, p), (b, v, q) = x, y
        unknown = u or v
        if isinstance(node.op, (ast.Add, ast.Sub)):
            if u and v and u != v:
                return 0, unknown, 0
            sign = 1 if isinstance(node.op, ast.Add) else -1
            return a + sign * b, unknown, p + sign * q
        if isinstance(node.op, ast.Mult):
            if u and v:
                return 0, unknown, 0
            return (a * b, unknown, p * b) if not v else (a * b, unknown, q * a)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            if unknown:
                return 0, unknown, 0
            if b == 0:
                return None
            return (a // b if isinstance(node.op, ast.FloorDiv) else a % b), "", 0
        return None

    def bind_shapes(self, parameters):
        pending = []
        for p in parameters:
            annotation = p.node.annotation
            if not isinstance(annotation, ast.Subscript) or not is_tensor(p.value) or \
                    last_name(annotation.value) == "constexpr":
                continue
            s = annotation.slice
            dims = list(s.elts) if isinstance(s, ast.Tuple) else [s]
            if len(dims) == 1 and isinstance(dims[0], ast.Constant) and dims[0].value is Ellipsis:
                continue
            if len(dims) != len(p.value.shape):
                axes = "axis" if len(dims) == 1 else "axes"
                raise self.fault("rank-mismatch", f"parameter '{p.name}' has {len(dims)} {axes}, and "
                                 f"the argument has {len(p.value.shape)}: shape "
                                 f"{shape_text(p.value.shape)}", annotation)
            pending += [(p, d, i) for i, d in enumerate(dims) if not isinstance(d, ast.Slice)]
        # Plain names first, in order, then what is computed from them.
        for plain in (True, False):
            progress = True
            while progress and pending:
                progress, later = False, []
                for item in pending:
                    if plain and not isinstance(item[1], ast.Name) or not self.bind_axis(item):
                        later.append(item)
                    else:
                        progress = True
                pending = later
        for p, d, _ in pending:
            unknown = " and ".join(f"'{n}'" for n in sorted(flow.reads_of(d))
                                   if n not in self.symbols)
            raise self.fault("bad-annotation", f"the arguments' shapes do not tell {unknown}: an axis "
                             "may be arithmetic on sizes that stand alone somewhere; give each an "
                             "axis of its own in another parameter, as N in asc.float32[N]", d)

    def bind_axis(self, item):
        p, d, axis = item
        actual = p.value.shape[axis]
        linear = self.linear(d)
        if linear is None:
            raise self.fault("bad-annotation", "an axis of a shape is a number, a name such as N, "
                             "or arithmetic (+ - * // %) on them", d)
        constant, unknown, factor = linear
        if not unknown:
            if constant < 0:
                raise self.fault("bad-annotation", f"an axis of a shape has {constant} elements "
                                 "here; a size is 0 or more", d)
            if constant != actual:
                raise self.mismatch(item, constant)
        elif factor:
            rest = actual - constant
            if rest % factor or rest // factor < 0:
                raise self.fault("dim-mismatch", f"parameter '{p.name}' has size {actual} on axis "
                                 f"{axis}, which no size {unknown} gives", d)
            self.symbols[unknown] = (rest // factor, p)
        else:
            return False
        return True

    def mismatch(self, item, expected):
        p, d, axis = item
        text = f"parameter '{p.name}' has size {p.value.shape[axis]} on axis {axis}, expected " \
            f"{expected}"
        note = None
        for name in sorted(flow.reads_of(d)):
            if name in self.symbols:
                size, other = self.symbols[name]
                text += f", since {name} is {size} in parameter '{other.name}'"
                if other is not p:
                    note = (f"'{other.name}' is declared here", other.node)
                    break
        fault = self.fault("dim-mismatch", text, d)
        if note:
            fault.notes.append(note)
        return fault
