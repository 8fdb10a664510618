"""Calls: library functions, casts, helpers. Part of the translator."""

import ast

from . import dtypes, flow, library, ops
from .context import CONTEXT
from .errors import Fault
from .state import MISSING
from .values import (Function, Method, Module, Range, Unknown, describe, dtype_of, is_extent,
                     is_number, is_scalar, is_sequence, is_tensor, is_weak, shape_of, strong)

# Functions whose arguments are index arithmetic: always, or where they stand in an index.
RANGES = ("range", "parallel_for", "parallel_for_grid", "static_range")
PASSES = ("min", "max", "abs", "int", "minimum", "maximum")
DTYPE_NAMES = {t.name for t in dtypes.ALL}


class Calls:
    unused_call = None  # a call whose value nobody needs

    def _Call(self, node, ix, wp):
        callee, owner = self.expr(node.func)
        entry = callee.entry if isinstance(callee, Method) else callee
        if isinstance(entry, library.Entry) and entry.name in ("print", "device_assert") and \
                not isinstance(callee, Method):
            return self.print(node) if entry.name == "print" else self.device_assert(node)
        index = isinstance(entry, library.Entry) and (entry.name in RANGES or
                                                      entry.name in PASSES and ix)
        args, codes = [], []
        for a in node.args:
            if isinstance(a, ast.Starred):
                inner, code = self.expr(a.value)
                if not is_sequence(inner):
                    raise self.fault("unsupported-star", "only a tuple or list can be spread into "
                                     "arguments", a)
                args += inner
                codes.append(ast.copy_location(ast.Starred(code, ast.Load()), a))
                continue
            v, c = self.expr(a, index)
            if index:
                v, c = self.index(v, c, a)
            args.append(v)
            codes.append(c)
        kwargs, kwcodes = {}, []
        for k in node.keywords:
            if k.arg is None:
                raise self.fault("unsupported-star", "'**' arguments are not supported; write them "
                                 "out", k.value)
            v, c = self.expr(k.value, index)
            kwargs[k.arg] = v
            kwcodes.append(ast.keyword(k.arg, c))
        if isinstance(callee, Method):
            args.insert(0, callee.owner)
            codes.insert(0, owner)
            callee = callee.entry
        if isinstance(callee, library.Entry):
            return self.library_call(callee, args, kwargs, codes, kwcodes, node)
        if isinstance(callee, dtypes.DType):
            return self.cast_call(callee, args, kwargs, codes, node)
        if isinstance(callee, Function):
            return self.helper(callee, args, kwargs, codes, kwcodes, node)
        raise self.fault("not-callable", f"{describe(callee)} cannot be called", node)

    def library_call(self, entry, args, kwargs, codes, kwcodes, node):
        entry.bind(args, kwargs)
        if entry.name in ("zeros", "ones", "empty", "full", "cast", "astype", "local", "rand", "randn",
                          "shared_memory", "aligned_alloc", "arange", "eye") or "_like" in entry.name:
            for v in (*args, *kwargs.values()):
                if v is dtypes.FLOAT64:
                    self.check_dtype(v, node)
        if entry.name == "scatter" or entry.name.startswith("atomic_"):
            self.note_write(args[0] if args else kwargs.get("tensor", kwargs.get("x")))
        if entry.name == "copy" and (len(args) > 1 or "destination" in kwargs):
            self.note_write(args[1] if len(args) > 1 else kwargs["destination"])
        if not entry.pure:
            self.effects += 1
        CONTEXT.translating += 1
        CONTEXT.mixed = self.options.mixed
        try:
            value = entry.function(*args, **kwargs)
        finally:
            CONTEXT.translating -= 1
        if not self.frames:
            return value, ast.Constant(None)
        made = ast.Call(self.const(entry.function, node), codes, kwcodes)
        made.acts = not entry.pure
        ast.copy_location(made, node)
        runs = entry.folds is False or entry.folds == "literals" and any(
            is_scalar(a) and not is_weak(a) and dtype_of(a).is_float for a in args)
        if runs and is_scalar(value) and value.__class__ is not Unknown:
            t = dtype_of(value)
            return Unknown(t), self.cast_code(made, t, node)
        return value, made

    def check_dtype(self, t, node):
        if t is dtypes.FLOAT64 and not self.options.float64:
            raise self.fault("float64-unsupported", "the AI Core has no float64; use float32, or "
                             "compile for the host target", node)

    def cast_call(self, t, args, kwargs, codes, node):
        if len(args) != 1 or kwargs:
            raise self.fault("argument-count", f"a cast takes one argument: asc.{t.name}(x)", node)
        if not is_number(args[0]):
            raise self.fault("type-mismatch", f"cannot cast {describe(args[0])} to {t.name}", node)
        self.check_dtype(t, node)
        name = "__convert_" if is_tensor(args[0]) else "__cast_"
        return ops.cast(args[0], t), self.call(name + t.name, codes, node)

    # ---- helpers ----

    def helper(self, function, args, kwargs, codes, kwcodes, node):
        f = function.node
        if not self.frames:
            raise self.fault("host-data", "module constants cannot call functions", node)
        for frame in self.frames:
            if frame.node is f:
                fault = self.fault("recursion", f"'{f.name}' calls itself; kernels cannot recurse, "
                                   "use a loop", node)
                fault.notes.append((f"'{f.name}' is defined here", f))
                raise fault
        if len(self.frames) > 64:
            raise self.fault("recursion", "calls are nested more than 64 deep", node)
        before = []
        if kwcodes and any(self.acts(c) for c in (*codes, *(k.value for k in kwcodes))) and \
                not any(isinstance(c, ast.Starred) for c in codes):
            before, codes, kwcodes = self.in_order(codes, kwcodes, node)
        values, ordered = self.helper_arguments(function, args, kwargs, codes, kwcodes, node)
        key = (id(f), tuple(_type_key(v) for v in values))
        made = self.specialised.get(key)
        if made is None:
            path = f"({f.name}:{key[1]})"
            made = self.function(function, values, node, path)
            self.specialised[key] = made
        name, value = made
        if value is None and node is not self.unused_call and not any(
                isinstance(s, ast.Return) and s.value is not None for s in flow.statements(f.body)):
            fault = self.fault("no-value", f"'{f.name}' returns nothing, and its value is used here; "
                               "end it with a return, or call it as a statement of its own", node)
            fault.notes.append((f"'{f.name}' is defined here", f))
            raise fault
        self.effects += 1
        made = ast.Call(ast.copy_location(ast.Name(name, ast.Load()), node), ordered, [])
        made.acts = True
        if before:
            made = ast.Subscript(ast.copy_location(ast.Tuple([*before, made], ast.Load()), node),
                                 self.const(-1, node), ast.Load())
        return value, ast.copy_location(made, node)

    def in_order(self, codes, kwcodes, node):
        """Bindings of arguments in the order in which they are written, whatever that of the
        parameters; and the arguments that read them."""
        before, names = [], []
        for code in (*codes, *(k.value for k in kwcodes)):
            name = self.temporary()
            before.append(ast.copy_location(ast.NamedExpr(
                ast.copy_location(ast.Name(name, ast.Store()), node), code), node))
            names.append(ast.copy_location(ast.Name(name, ast.Load()), node))
        n = len(codes)
        return before, names[:n], [ast.keyword(k.arg, c) for k, c in zip(kwcodes, names[n:])]

    def helper_arguments(self, function, args, kwargs, codes, kwcodes, node):
        """Values and codes in the order of the function's parameters."""
        f = function.node
        a = f.args
        note = (f"'{f.name}' is defined here", f)

        def refuse(code, message, at=node):
            fault = self.fault(code, message, at)
            fault.notes.append(note)
            return fault
        if a.vararg or a.kwarg:
            raise refuse("unsupported-star", "a function with * or ** parameters cannot be called "
                         "from a kernel")
        if any(isinstance(c, ast.Starred) for c in codes):
            codes = self.spread(codes, args, node)
        positional = [*a.posonlyargs, *a.args]
        if len(args) > len(positional):
            raise refuse("argument-count", f"'{f.name}' takes {len(positional)} positional "
                         f"arguments, and the call has {len(args)}")
        defaults = dict(zip([p.arg for p in positional][len(positional) - len(a.defaults):],
                            a.defaults))
        defaults.update({p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None})
        by_name = {k.arg: (kwargs[k.arg], k.value) for k in kwcodes}
        values, ordered = [], []
        for i, p in enumerate([*positional, *a.kwonlyargs]):
            if i < len(args):
                if p.arg in by_name:
                    raise refuse("argument-count", f"'{f.name}' got two values for '{p.arg}'")
                value, code = args[i], codes[i]
            elif p.arg in by_name:
                value, code = by_name.pop(p.arg)
            elif p.arg in defaults:
                value = self.program.default_of(function, defaults[p.arg])
                code = self.const(value, node)
            else:
                raise refuse("argument-count", f"'{f.name}' is missing its argument '{p.arg}'")
            value, code = self.parameter(p, value, code, node)
            values.append(value)
            ordered.append(code)
        for name in by_name:
            raise refuse("unknown-argument", f"'{f.name}' has no parameter '{name}'")
        return values, ordered

    def spread(self, codes, args, node):
        """Codes one by one, where `*tuple` stood among them."""
        name = self.temporary()
        whole = ast.copy_location(ast.Tuple(codes, ast.Load()), node)
        self.emit_assign(name, whole, node)
        return [ast.copy_location(ast.Subscript(ast.copy_location(ast.Name(name, ast.Load()), node),
                                                self.const(i, node), ast.Load()), node)
                for i in range(len(args))]

    def parameter(self, p, value, code, node):
        annotation = p.annotation
        if isinstance(annotation, ast.Attribute):
            if annotation.attr == "constexpr" and is_number(value) and \
                    not self.is_constant(value) and not is_extent(value):
                fault = self.fault("not-static", f"'{p.arg}' must be known at compile time, and this "
                                   f"is {describe(value)}", node)
                fault.notes.append(("declared asc.constexpr here", p))
                raise fault
            t = dtypes.BY_NAME.get(annotation.attr)
            if t is not None and is_weak(value) and (t.is_float or not isinstance(value, float)):
                value = ops.cast(value, t)
        if is_weak(value):
            value = strong(value)
        if self.is_constant(value) and is_number(value):
            code = self.strong_code(value, code, node)
        return value, code

    # ---- what is said rather than computed ----

    def print(self, node):
        self.effects += 1
        codes = []
        for a in node.args:
            if isinstance(a, ast.JoinedStr):
                codes.append(self.text(a)[1])
                continue
            value, code = self.expr(a)
            if not (is_number(value) or value is None or is_sequence(value) or
                    isinstance(value, (str, dtypes.DType))):
                raise self.fault("type-mismatch", "what is printed must be a number or a tensor, not "
                                 f"{describe(value)}", a)
            codes.append(self.call("__format", [code, self.const("", a)], a))
        options = {"sep": " ", "end": "\n"}
        for k in node.keywords:
            if k.arg not in options:
                raise self.fault("unknown-argument", f"print() has no argument '{k.arg}'; it is "
                                 "called as print(*values, sep=None, end=None)", k.value)
            value, _ = self.expr(k.value)
            if value is not None:
                if not isinstance(value, str):
                    raise self.fault("type-mismatch", f"{k.arg} of print() is a string known at "
                                     f"compile time, not {describe(value)}", k.value)
                options[k.arg] = value
        if not self.options.debug:
            return None, ast.copy_location(ast.Constant(None), node)
        made = self.call("__print", [self.const(node.lineno, node),
                                     self.const(options["sep"], node),
                                     self.const(options["end"], node), *codes], node)
        return None, made

    def device_assert(self, node):
        if not 1 <= len(node.args) + len(node.keywords) <= 2 or not node.args:
            raise self.fault("argument-count", "device_assert() does not take these arguments; it is "
                             "called as device_assert(condition, message=None)", node)
        message = node.args[1] if len(node.args) > 1 else \
            node.keywords[0].value if node.keywords else None
        self.assertion(node.args[0], message, node, False)
        self.effects += 1
        return None, ast.copy_location(ast.Constant(None), node)

    def assertion(self, test, message, node, static):
        c, code = self.test(test)
        text, text_code = ("", self.const("", node))
        if message is not None and not (isinstance(message, ast.Constant) and
                                        message.value is None):
            text, text_code = self.text(message)
        if c.__class__ is not Unknown:
            if c:
                return
            if static and self.uncertain == 0:
                shown = "" if text is MISSING else text
                raise self.fault("assertion-failed", "assertion failed"
                                 + (f": {shown}" if message is not None else ""), node)
        if not self.options.debug:
            return
        fail = self.call("__fail", [self.const(message is not None, node), text_code], node)
        self.emit(ast.If(ast.copy_location(ast.UnaryOp(ast.Not(), code), node),
                         [ast.copy_location(ast.Expr(fail), node)], []), node)


def _type_key(v):
    if isinstance(v, Unknown):
        return (v.t.name, v.shape, v.root, v.extent)
    if is_number(v):
        return (dtype_of(v).name, is_weak(v), repr(v))
    if is_sequence(v):
        return (type(v).__name__, *(_type_key(x) for x in v))
    if isinstance(v, (str, type(None))):
        return v
    return id(v)
