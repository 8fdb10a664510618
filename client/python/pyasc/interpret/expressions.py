"""Expressions: their values and their code. Part of the translator."""

import ast

from . import dtypes, flow, indexing, library, ops
from .dtypes import BOOL, FLOAT32
from .errors import Fault
from .state import MISSING, ControlScope, Slot
from .values import (Method, Module, Range, Unknown, describe, dtype_of, is_number, is_scalar,
                     is_sequence, is_tensor, is_weak, shape_of, strong, truth)

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
          ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&",
          ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
UNARY = {ast.USub: ("__negate", ops.negate), ast.UAdd: ("__plus", ops.plus),
         ast.Invert: ("__invert", ops.invert), ast.Not: ("__not", ops.logical_not)}
REFUSED = {
    ast.Lambda: ("unsupported-lambda", "kernels have no lambda; define a function at module level"),
    ast.Dict: ("unsupported-dict", "kernels have no dictionaries; use tuples or variables"),
    ast.DictComp: ("unsupported-dict", "kernels have no dictionaries; use tuples or variables"),
    ast.Set: ("unsupported-set", "kernels have no sets; use a tuple"),
    ast.SetComp: ("unsupported-set", "kernels have no sets; use a tuple"),
    ast.Await: ("unsupported-async", "'await' has no meaning in a kernel"),
    ast.Yield: ("unsupported-generator", "kernels have no generators; write results into a tensor"),
    ast.YieldFrom: ("unsupported-generator",
                    "kernels have no generators; write results into a tensor"),
    ast.Starred: ("unsupported-star", "a starred expression is not supported here"),
}
MAX_ITEMS = 4096


class Expressions:
    def expr(self, node, ix=False, wp=False):
        """(value, code) of an expression. `ix`: it is part of an index, whose integers have 64 bits;
        `wp`: it is part of a sum, whose 16-bit products are taken in float32."""
        effects = self.effects
        try:
            value, code = getattr(self, "_" + type(node).__name__, self._refused)(node, ix, wp)
        except Fault as fault:
            if fault.node is None:
                fault.node, fault.file = node, self.file
            raise
        if self.effects == effects and self.is_constant(value) and \
                not isinstance(code, ast.Constant):
            code = self.const(value, node)
        return value, code

    def _refused(self, node, ix, wp):
        code, message = REFUSED.get(type(node), ("unsupported-expression", "this expression is not "
                                                 "supported in kernels"))
        raise self.fault(code, message, node)

    def test(self, node):
        """(truth, code) of a condition; the truth is an Unknown when only the run can tell."""
        value, code = self.expr(node)
        try:
            return truth(value), code
        except Fault as fault:
            fault.node, fault.file = node, self.file
            raise

    # ---- leaves ----

    def _Constant(self, node, ix, wp):
        v = node.value
        if isinstance(v, complex):
            raise self.fault("unsupported-complex", "kernels have no complex numbers; use two float "
                             "tensors", node)
        if isinstance(v, bytes):
            raise self.fault("string-data", "kernels have no bytes; use a uint8 tensor", node)
        if isinstance(v, int) and v >= 2**64:
            raise self.fault("integer-too-large", "the integer does not fit into 64 bits; no type "
                             "here could hold it", node)
        return v, self.const(v, node)

    quiet = False  # the name that comes next is indexed or asked for its shape, not used whole

    def _Name(self, node, ix, wp):
        quiet, self.quiet = self.quiet, False
        value, code = self.read_name(node.id, node)
        if not quiet and is_tensor(value) and self.frames:
            self.accesses.setdefault(node.id if len(self.frames) == 1 else None, set()).add("?")
        return value, code

    def _Attribute(self, node, ix, wp):
        value, code = self.base(node.value) if node.attr in ("shape", "ndim", "size", "dtype") else \
            self.expr(node.value)
        found = self.attribute(value, node)
        if isinstance(found, Method):
            return found, code  # the owner's code; the call takes it as its first argument
        if self.is_constant(found):
            return found, self.const(found, node)
        return found, self.call("__attribute", [code, self.const(node.attr, node)], node)

    def attribute(self, value, node):
        name = node.attr
        if isinstance(value, Module):
            return self.module_attribute(value, node)
        if is_number(value):
            shape = shape_of(value)
            if name == "shape":
                return tuple(Unknown(dtypes.INT64, extent=True) if d is None else d
                             for d in shape)
            if name == "dtype":
                return dtype_of(value)
            if name == "ndim":
                return len(shape)
            if name == "size":
                n = library.shape.size_of(shape)
                return Unknown(dtypes.INT64, extent=True) if n is None else n
            if name == "itemsize":
                return dtype_of(value).itemsize
            if name in ("T", "mT") and is_tensor(value):
                order = list(reversed(range(len(shape))))
                if name == "mT":
                    if len(shape) < 2:
                        raise Fault("rank-mismatch", "mT needs at least two axes")
                    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
                return indexing.transposed(value, tuple(order))
            entry = library.TABLE.get((library.METHOD, name))
            if entry is not None:
                return Method(entry, value)
            close = library.closest(name, ["shape", "dtype", "ndim", "size", "T", "mT"] + [
                n for r, n in library.TABLE if r == library.METHOD])
            hint = f"; did you mean '{close}'?" if close else ""
            raise self.fault("unknown-attribute", f"a tensor has no attribute '{name}'{hint}", node)
        if isinstance(value, dtypes.DType) and name in ("itemsize", "name"):
            return getattr(value, name)
        if is_sequence(value) and name == "append":
            raise self.fault("unsupported-list", "lists do not grow in kernels; build it in one go: "
                             "[f(i) for i in range(4)]", node)
        raise self.fault("unknown-attribute", f"{describe(value)} has no attribute '{name}' in "
                         "kernels", node)

    def module_attribute(self, module, node):
        if module.name in (library.ASC, library.MATH, library.NUMPY):
            try:
                return library.module_attribute(module.name, node.attr)
            except KeyError:
                pass
            close = library.closest(node.attr, [n for _, n in library.TABLE])
            hint = f"; did you mean '{module.name}.{close}'?" if close else ""
            raise self.fault("unknown-function", f"'{module.name}' has no '{node.attr}' in kernels"
                             f"{hint}", node)
        other = self.program.find_elsewhere(self.file, node.attr)
        if other is not None:
            return other.value
        raise self.fault("unknown-module", f"kernels cannot use the module '{module.name}'; they "
                         "reach asc, math, numpy's constants and dtypes, and functions of the files "
                         "that were sent", node)

    # ---- operators ----

    def _BinOp(self, node, ix, wp):
        op = BINARY[type(node.op)]
        wp = wp and op in "+-*"
        x, cx = self.expr(node.left, ix, wp)
        y, cy = self.expr(node.right, ix, wp)
        if op == "@":
            return library.linalg.matmul(x, y), self.call("__matmul", [cx, cy], node)
        if ix:
            (x, cx), (y, cy) = self.index(x, cx, node), self.index(y, cy, node)
        if wp and op == "*":
            return ops.multiply_wide(x, y), self.call("__multiply_wide", [cx, cy], node)
        return ops.BY_SYMBOL[op](x, y), self.call("__" + ops.BY_SYMBOL[op].op, [cx, cy], node)

    def index(self, value, code, node):
        """A value of an index expression, as 64 bits."""
        wide = ops.index64(value)
        if wide is not value:
            code = self.call("__index", [code], node)
        return wide, code

    def _UnaryOp(self, node, ix, wp):
        x, code = self.expr(node.operand, ix, wp and not isinstance(node.op, ast.Not))
        if ix and not isinstance(node.op, ast.Not):
            x, code = self.index(x, code, node)
        name, function = UNARY[type(node.op)]
        return function(x), self.call(name, [code], node)

    def _BoolOp(self, node, ix, wp):
        is_and = isinstance(node.op, ast.And)
        value, code = self.expr(node.values[0])
        scope = None
        for i, next_node in enumerate(node.values[1:]):
            t = truth(value)
            if t.__class__ is not Unknown:
                if t != is_and:
                    return value, code
                before = code
                value, code = self.expr(next_node)
                code = self.after(before, code, node)
                continue
            if scope is None:
                scope = self.open_maybe(node, node.values[i + 1:])
            y, cy = self.expr(next_node)
            if not (is_scalar(value) and is_scalar(y)):
                raise self.fault("variable-type", "both sides of 'and' and 'or' must be numbers when "
                                 f"the left one is known only at run time: {describe(value)} and "
                                 f"{describe(y)}", node)
            t = BOOL if dtype_of(value) is BOOL and dtype_of(y) is BOOL else ops.common_type(value, y)
            code = ast.copy_location(ast.BoolOp(node.op, [code, cy]), node)
            code = self.cast_code(code, t, node)
            value = Unknown(t)
        self.close_maybe(scope)
        return value, code

    def open_maybe(self, node, parts):
        """Before expressions that are evaluated on some paths only: the names that they bind get
        cells, since what such a name holds behind them depends on the path."""
        self.uncertain += 1
        names = {n.target.id for p in parts for n in ast.walk(p) if isinstance(n, ast.NamedExpr)}
        scope = ControlScope(self, node, names, names)
        scope.save()
        return scope

    def close_maybe(self, scope):
        if scope is not None:
            self.uncertain -= 1
            scope.restore()
            scope.close(True)

    def _Compare(self, node, ix, wp):
        left, cl = self.expr(node.left)
        value, codes = MISSING, []
        last = len(node.ops) - 1
        scope = None
        for i, (op, right_node) in enumerate(zip(node.ops, node.comparators)):
            if i == 1:
                scope = self.open_maybe(node, node.comparators[1:])
            right, cr = self.expr(right_node)
            kept = cr
            if i < last and not isinstance(cr, (ast.Constant, ast.Name)):
                name = self.temporary()
                cr = ast.copy_location(ast.NamedExpr(
                    ast.copy_location(ast.Name(name, ast.Store()), right_node), cr), right_node)
                kept = ast.copy_location(ast.Name(name, ast.Load()), right_node)
            here, code = self.one_comparison(op, left, right, cl, cr, node)
            codes.append(code)
            if value is MISSING:
                value = here
            elif is_tensor(value) or is_tensor(here):
                raise self.fault("ambiguous-truth", "a chained comparison asks for the truth of a "
                                 "whole tensor; write (a < b) & (b < c)", node)
            else:
                value = here if self.is_constant(value) else Unknown(BOOL)
            if i < last and self.is_constant(value) and not value:
                break  # what follows is not looked at, as behind `and`
            left, cl = right, kept
        self.close_maybe(scope)
        if len(codes) == 1:
            return value, codes[0]
        return value, self.cast_code(ast.copy_location(ast.BoolOp(ast.And(), codes), node), BOOL,
                                     node)

    def one_comparison(self, op, x, y, cx, cy, node):
        if type(op) in COMPARE:
            symbol = COMPARE[type(op)]
            return ops.COMPARISONS[symbol](x, y), self.call("__" + symbol, [cx, cy], node)
        function = {ast.Is: ops.identical, ast.IsNot: ops.not_identical, ast.In: ops.contains,
                    ast.NotIn: ops.not_contains}[type(op)]
        return function(x, y), self.call("__" + function.__name__, [cx, cy], node)

    def _IfExp(self, node, ix, wp):
        c, cc = self.test(node.test)
        if c.__class__ is not Unknown:
            value, code = self.expr(node.body if c else node.orelse, ix)
            return value, self.after(cc, code, node)
        scope = self.open_maybe(node, [node.body, node.orelse])
        self.set_bound(flow.bound_when(node.test, True))
        x, cx = self.expr(node.body, ix)
        scope.end_region()
        scope.restore()
        self.set_bound(flow.bound_when(node.test, False))
        y, cy = self.expr(node.orelse, ix)
        scope.end_region()
        self.uncertain -= 1
        scope.restore()
        scope.close(False)
        made = ast.copy_location(ast.IfExp(cc, cx, cy), node)
        if is_scalar(x) and is_scalar(y):
            t = ops.common_type(x, y)
            return Unknown(t), self.cast_code(made, t, node)
        if is_tensor(x) and is_tensor(y) and shape_of(x) == shape_of(y):
            t = ops.common_type(x, y)
            return Unknown(t, shape_of(x)), self.cast_code(made, t, node)
        if self.is_constant(x) and self.is_constant(y) and x == y:
            return x, made
        raise self.fault("variable-type", "both sides of a conditional expression must be numbers "
                         "when its condition is known only at run time: "
                         f"{describe(x)} and {describe(y)}", node)

    # ---- subscripts, sequences ----

    def _Subscript(self, node, ix, wp):
        base, cb = self.base(node.value)
        key, ck = self.expr(node.slice, True)
        self.note_access(node.value, node.slice, key)
        return indexing.load(base, key), self.call("__load", [cb, ck], node)

    def note_access(self, base, key_node, key):
        """Remembers how a parameter's memory is indexed, for the aliasing rule."""
        name = base.id if isinstance(base, ast.Name) else None
        keys = key if isinstance(key, tuple) else (key,)
        whole = any(k is None or k is Ellipsis or isinstance(k, slice) for k in keys)
        text = "?" if whole or name is None or len(self.frames) > 1 else ast.dump(key_node)
        self.accesses.setdefault(name, set()).add(text)

    def _Slice(self, node, ix, wp):
        parts = [(None, self.const(None, node)) if p is None else
                 self.index(*self.expr(p, True), node)
                 for p in (node.lower, node.upper, node.step)]
        return slice(*(v for v, _ in parts)), self.call("__slice", [c for _, c in parts], node)

    def _Tuple(self, node, ix, wp):
        values, codes = [], []
        for e in node.elts:
            if isinstance(e, ast.Starred):
                inner, code = self.expr(e.value)
                if not is_sequence(inner):
                    raise self.fault("unsupported-star", "only tuples and lists can be spread here",
                                     e)
                values += inner
                codes.append(ast.copy_location(ast.Starred(code, ast.Load()), e))
                continue
            v, c = self.expr(e, ix)
            values.append(v)
            codes.append(c)
        kind = type(node)
        made = ast.copy_location(kind(codes, ast.Load()), node)
        return (tuple if kind is ast.Tuple else list)(values), made

    _List = _Tuple

    def static_items(self, value, node):
        """The items of something that is known before the run, with codes relative to `value`'s."""
        if is_sequence(value):
            return list(value)
        if not isinstance(value, Range) or value.kind == "grid":
            raise self.fault("not-static", "expected something that is known at compile time: a "
                             "range with constant bounds, a tuple or a list", node)
        if not value.known():
            raise self.fault("not-static", "the bounds of a range that is unrolled must be "
                             "constants", node)
        n = value.count()
        if n > MAX_ITEMS:
            raise self.fault("unroll-too-large", f"cannot unroll {n} iterations (at most "
                             f"{MAX_ITEMS}); use range", node)
        start, stop, step = (int(p) for p in value.parts)
        return [dtypes.INT64.np(i) for i in range(start, stop, step)]

    def items_with_code(self, node):
        """[(value, code)] of an iterable that is known before the run."""
        value, code = self.expr(node)
        items = self.static_items(value, node)
        if all(self.is_constant(v) for v in items):
            return [(v, self.const(v, node)) for v in items]
        name = self.temporary()
        self.emit_assign(name, code, node)
        return [(v, self.const(v, node) if self.is_constant(v) else ast.copy_location(
            ast.Subscript(ast.copy_location(ast.Name(name, ast.Load()), node),
                          self.const(k, node), ast.Load()), node))
            for k, v in enumerate(items)]

    def _ListComp(self, node, ix, wp):
        if not self.frames:
            raise self.fault("unsupported-expression", "no comprehension at module level", node)
        saved = dict(self.env)
        values, codes = [], []

        def run(depth):
            if depth == len(node.generators):
                v, c = self.expr(node.elt)
                values.append(v)
                codes.append(c)
                return
            g = node.generators[depth]
            for value, code in self.items_with_code(g.iter):
                self.bind_target(g.target, value, code)
                keep = True
                for condition in g.ifs:
                    t, _ = self.test(condition)
                    if t.__class__ is Unknown:
                        raise self.fault("not-static", "the condition of a comprehension must be "
                                         "known at compile time", condition)
                    keep = keep and t
                if keep and len(values) <= MAX_ITEMS:
                    run(depth + 1)

        run(0)
        self.env = saved
        return values, ast.copy_location(ast.List(codes, ast.Load()), node)

    _GeneratorExp = _ListComp

    def bind_target(self, target, value, code):
        """Binds the names of a comprehension to code, without assigning anything."""
        if isinstance(target, ast.Name):
            self.env[target.id] = Slot(strong(value), code=code)
            return
        if not isinstance(target, (ast.Tuple, ast.List)) or not is_sequence(value) or \
                len(value) != len(target.elts):
            raise self.fault("unpack-mismatch", f"cannot unpack {describe(value)}", target)
        for k, (t, v) in enumerate(zip(target.elts, value)):
            self.bind_target(t, v, ast.copy_location(
                ast.Subscript(code, self.const(k, target), ast.Load()), target))

    def _NamedExpr(self, node, ix, wp):
        if not self.frames:
            raise self.fault("unsupported-walrus", "':=' binds names inside of functions only; assign "
                             "in a statement of its own", node)
        value, code = self.expr(node.value)
        name = node.target.id
        self.effects += 1
        slot = self.env.get(name)
        if slot is not None and slot.cell is not None and slot.required:
            from .state import store_cell
            held = store_cell(slot.cell, value, name, node, self.memory)
            code = self.cell_code(slot.cell, value, code, node)
            slot.maybe_unbound = False
            slot.value = held if slot.cell.kind in ("scalar", "fixed") and not slot.cell.wide \
                else MISSING
        else:
            self.env[name] = Slot(strong(value))
            if is_weak(value):
                code = self.strong_code(value, code, node)
        made = ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), node),
                                               code), node)
        slot = self.env[name]
        if slot.cell is not None and slot.cell.wide:
            return Unknown(slot.cell.t), self.cast_code(made, slot.cell.t, node)
        return (slot.cell.load() if slot.value is MISSING else slot.value), made

    def _JoinedStr(self, node, ix, wp):
        value, code = self.text(node)
        if isinstance(value, str):
            return value, self.const(value, node)
        raise self.fault("string-data", "strings made at run time exist only in asc.print and "
                         "assert", node)

    def text(self, node):
        """A string or f-string: its value when known, else MISSING, and the code that makes it."""
        if not isinstance(node, ast.JoinedStr):
            value, code = self.expr(node)
            if not isinstance(value, str):
                raise self.fault("unsupported-message", "expected a string or an f-string", node)
            return value, code
        parts, known = [], True
        text = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += part.value
                parts.append(self.const(part.value, part))
                continue
            spec = ""
            if part.format_spec is not None:
                spec, _ = self.text(part.format_spec)
                if spec is MISSING:
                    raise self.fault("unsupported-message", "a format is known at compile time", part)
            value, code = self.expr(part.value)
            if not (is_number(value) or isinstance(value, (str, dtypes.DType)) or
                    is_sequence(value) or value is None):
                raise self.fault("unsupported-message", "only numbers can be printed", part)
            if spec and is_number(value):
                t = dtype_of(value)
                try:
                    format(0.0 if t.is_float else False if t is BOOL else 0, spec)
                except ValueError as error:
                    raise self.fault("unsupported-message", f"format '{spec}': {error}",
                                     part.value) from None
            if self.is_constant(value):
                text += self.runtime["__format"](value, spec)
            else:
                known = False
            parts.append(self.call("__format", [code, self.const(spec, part)], part))
        if known:
            return text, self.const(text, node)
        return MISSING, self.call("__join", [ast.copy_location(ast.Tuple(parts, ast.Load()), node)],
                                  node)
