"""Statements. Part of the translator."""

import ast

import numpy as np

from . import dtypes, flow, indexing, library, ops
from .dtypes import FLOAT32, INT64
from .errors import Fault
from .expressions import BINARY
from .library.table import dtype_argument
from .state import MISSING, ControlScope, Slot, store_cell
from .values import (Method, Range, Unknown, describe, dtype_of, is_number, is_scalar, is_sequence,
                     is_tensor, shape_of, strong)

REFUSED = {
    "ClassDef": ("unsupported-class", "a kernel cannot define a class; use functions and tuples"),
    "FunctionDef": ("unsupported-nested-function", "a kernel cannot define a function inside; move "
                    "it to module level, where kernels may call it"),
    "With": ("unsupported-with", "'with' has no meaning in a kernel; write its body plainly"),
    "Try": ("unsupported-try", "kernels have no exceptions; test the condition with 'if' instead of "
            "'try'"),
    "Raise": ("unsupported-raise", "kernels have no exceptions; use assert, which is checked in "
              "debug mode"),
    "AsyncFor": ("unsupported-async", "'async' has no meaning in a kernel; use a plain 'for'"),
    "Delete": ("unsupported-del", "'del' has no meaning in a kernel; names end with the function"),
    "Import": ("unsupported-import", "a kernel cannot import; put the import at the top of the file"),
    "Global": ("unsupported-global", "a kernel cannot assign module variables; return the value or "
               "pass an array"),
    "Match": ("unsupported-match", "'match' is not supported in kernels; use if and elif"),
    "TypeAlias": ("unsupported-type-alias", "a kernel cannot define a type alias"),
}
for _new, _old in (("AsyncFunctionDef", "FunctionDef"), ("AsyncWith", "With"), ("TryStar", "Try"),
                   ("ImportFrom", "Import"), ("Nonlocal", "Global")):
    REFUSED[_new] = REFUSED[_old]

FALLS, JUMPS = False, True


class Statements:
    def statement_list(self, stmts):
        """Translates statements into self.body; JUMPS when what follows is never reached."""
        for i, s in enumerate(stmts):
            frame, body, uncertain, loops = (self.frame, self.body, self.uncertain,
                                             len(self.frame.loops))
            env = None
            if isinstance(s, (ast.If, *flow.LOOPS)):
                env = {n: slot.copy() for n, slot in self.env.items()}
            try:
                if isinstance(s, ast.If):
                    end, consumed = self.if_statement(s, stmts[i + 1:])
                    if consumed or end == JUMPS:
                        return end
                elif self.statement(s) == JUMPS:
                    return JUMPS
            except Fault as fault:
                del self.frames[self.frames.index(frame) + 1:]
                self.record(fault)
                self.body, self.uncertain = body, uncertain
                del frame.loops[loops:]
                if env is not None:
                    self.env = env
                if isinstance(s, (ast.Return, ast.Break, ast.Continue)):
                    return JUMPS
        return FALLS

    def block(self, translate):
        """The statements that `translate` emits, and what it returned."""
        saved, self.body = self.body, []
        try:
            result = translate()
            return self.body, result
        finally:
            self.body = saved

    def statement(self, s):
        method = getattr(self, "_do_" + type(s).__name__, None)
        if method is None:
            code, message = REFUSED.get(type(s).__name__, (
                "unsupported-statement", "this statement is not supported in kernels"))
            raise self.fault(code, message, s)
        try:
            return method(s) or FALLS
        except Fault as fault:
            if fault.node is None:
                fault.node, fault.file = s, self.file
            raise

    def _do_Pass(self, s):
        self.emit(ast.Pass(), s)

    def _do_Expr(self, s):
        if isinstance(s.value, ast.Constant) and (isinstance(s.value.value, str) or
                                                  s.value.value is Ellipsis):
            return
        self.unused_call = s.value
        _, code = self.expr(s.value)
        if not isinstance(code, ast.Constant):
            self.emit(ast.Expr(code), s)

    def _do_Assert(self, s):
        self.assertion(s.test, s.msg, s, True)

    # ---- assignment ----

    def _do_Assign(self, s):
        update = flow.as_update(s)
        if update is not None:
            target = s.targets[0]
            in_place = isinstance(target, ast.Subscript) and not _moves(target, update.right)
            if isinstance(target, ast.Name):
                slot = self.env.get(target.id)
                in_place = slot is not None and slot.cell is not None and slot.cell.wide
            if in_place:
                aug = ast.copy_location(ast.AugAssign(target, update.op, update.right), s)
                return self._do_AugAssign(aug)
        value, code = self.expr(s.value)
        # The right side comes before what the targets evaluate.
        first = self.acts(code) and not isinstance(s.targets[0], ast.Name)
        if (len(s.targets) > 1 or first) and not isinstance(code, (ast.Constant, ast.Name)):
            name = self.temporary()
            self.emit_assign(name, code, s)
            code = ast.copy_location(ast.Name(name, ast.Load()), s)
        for t in s.targets:
            self.assign_target(t, value, code, s.value)

    def _do_AnnAssign(self, s):
        if s.value is None:
            return
        value, code = self.expr(s.value)
        t = self.local_annotation(s.annotation)
        if not is_scalar(value):
            raise self.fault("type-mismatch", f"the variable is annotated as a scalar, {t.name}, and "
                             f"this is {describe(value)}", s.value)
        value = ops.cast_for_store(value, t, "the annotated variable")
        code = self.settled(value, self.cast_code(code, t, s), s)
        self.assign_target(s.target, value, code, s.value)

    def local_annotation(self, node):
        """The dtype that a variable's annotation says."""
        # asc.tensor and asc.constexpr mean something for parameters alone.
        of_parameters = isinstance(node, ast.Attribute) and node.attr in ("tensor", "constexpr")
        if not of_parameters and not isinstance(node, ast.Subscript):
            t, _ = self.expr(node)
            if isinstance(t, library.Entry) and t.name in ("int", "float", "bool"):
                return dtype_argument(t)
            if isinstance(t, dtypes.DType):
                self.check_dtype(t, node)
                return t
        raise self.fault("bad-annotation", "a variable is annotated by the type of a scalar "
                         "(asc.float32, int, float, bool); one that names a tensor or a tuple takes "
                         "no annotation", node)

    def assign_target(self, target, value, code, value_node):
        if isinstance(target, ast.Name):
            if isinstance(value, (slice, Method)):
                raise self.fault("unsupported-value", f"a kernel variable cannot hold "
                                 f"{describe(value)}", value_node)
            return self.assign_name(target.id, value, code, target)
        if isinstance(target, ast.Subscript):
            base, cb = self.base(target.value)
            key, ck = self.expr(target.slice, True)
            self.note_access(target.value, target.slice, key)
            self.note_write(base)
            try:
                indexing.store(base, key, value)
            except Fault as fault:
                at_value = fault.code in ("float-to-int", "literal-overflow")
                fault.node = fault.node or (value_node if at_value else target)
                fault.file = self.file
                raise
            store = self.call("__store", [cb, ck, code], target)
            self.emit(ast.Expr(store), target)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.fault("bad-target", "kernels assign to names, elements and slices only",
                             target)
        self.unpack(target, value, code, value_node)

    def unpack(self, target, value, code, value_node):
        n = len(target.elts)
        for t in target.elts:
            if isinstance(t, ast.Starred):
                raise self.fault("unsupported-star", "starred targets are not supported; name each "
                                 "element", t)
        if is_sequence(value):
            items = list(value)
        elif is_tensor(value) and shape_of(value):
            rows = shape_of(value)[0]
            # As many as there are names where the extent of a slice shows only as it runs.
            items = [indexing.load(value, k) for k in range(n if rows is None else min(rows, 64))]
        else:
            raise self.fault("unpack-mismatch", f"cannot unpack {describe(value)}", value_node)
        if len(items) != n:
            raise self.fault("unpack-mismatch", f"cannot unpack {len(items)} values into {n} names",
                             value_node)
        name = None
        if not all(self.is_constant(v) for v in items) or self.acts(code):
            name = self.temporary()
            # Python evaluates the right side whole before it binds a name.
            self.emit_assign(name, self.call("__items", [code, self.const(n, value_node)],
                                             value_node), value_node)
        for k, (t, v) in enumerate(zip(target.elts, items)):
            part = self.const(v, value_node) if self.is_constant(v) else ast.copy_location(
                ast.Subscript(ast.copy_location(ast.Name(name, ast.Load()), t),
                              self.const(k, t), ast.Load()), t)
            self.assign_target(t, v, part, value_node)

    def _do_AugAssign(self, s):
        op = BINARY[type(s.op)]
        sums = op in ("+", "-")
        if isinstance(s.target, ast.Name):
            return self.augment_name(s, op, sums)
        if not isinstance(s.target, ast.Subscript):
            raise self.fault("bad-target", "kernels assign to names, elements and slices only",
                             s.target)
        base, cb = self.base(s.target.value)
        key, ck = self.expr(s.target.slice, True)
        self.note_access(s.target.value, s.target.slice, key)
        self.note_write(base)
        is_float = is_tensor(base) and dtype_of(base).is_float
        half = is_float and dtype_of(base).is_16
        wide = sums and is_float and (not half or self.sums_over_a_loop(s.target))
        effects = self.effects
        value, code = self.expr(s.value, wp=wide)
        try:
            indexing.augment(base, key, op, value, wide)
        except Fault as fault:
            fault.node = fault.node or (s.value if fault.code == "float-to-int" else s)
            fault.file = self.file
            raise
        self.emit_augment(cb, ck, op, code, wide, self.effects != effects, s)

    def emit_augment(self, cb, ck, op, code, wide, effects, s):
        """base[key] op= code; with `effects`, the code may write what the left side reads first."""
        if effects:
            begun = self.call("__begin_augment", [cb, ck], s)
            made = self.call("__end_augment", [begun, self.const(op, s), code, self.const(wide, s)], s)
        else:
            made = self.call("__augment", [cb, ck, self.const(op, s), code, self.const(wide, s)], s)
        self.emit(ast.Expr(made), s)

    def augment_name(self, s, op, sums):
        name = s.target.id
        slot = self.env.get(name)
        if slot is not None and slot.cell is not None and slot.cell.wide and sums and \
                not slot.maybe_unbound:
            cell = slot.cell
            value, code = self.expr(s.value, wp=True)
            if is_scalar(value):
                # The sum stays in float32; its type as a variable is that of the sum as written.
                t = ops.common_type(Unknown(cell.t), value)
                both = dtypes.promote(t, cell.t)
                if both is not cell.t:
                    self.memory.widen(cell.key, both)
                raw = ast.copy_location(ast.Name(name, ast.Load()), s)
                total = self.call("__" + op, [raw, self.cast_code(code, FLOAT32, s)], s)
                self.emit_assign(name, self.cast_code(total, FLOAT32, s), s)
                slot.value = MISSING
                return
        load = ast.copy_location(ast.Name(name, ast.Load()), s.target)
        old, old_code = self.read_name(name, load)
        wide_target = is_number(old) and dtype_of(old).is_float and not dtype_of(old).is_16
        effects = self.effects
        value, code = self.expr(s.value, wp=sums and wide_target)
        total = indexing.apply(op, old, value)
        if is_tensor(old):
            # In place, as NumPy does it: every name of the tensor sees it.
            self.accesses.setdefault(name, set()).add("?")
            self.note_write(old)
            ops.check_store(total, dtype_of(old), "a tensor")
            indexing._check_fits(shape_of(old), total)
            self.emit_augment(old_code, self.const(Ellipsis, s), op, code, False,
                              self.effects != effects, s)
            return
        if op == "@":
            made = self.call("__matmul", [old_code, code], s)
        else:
            made = self.call("__" + op, [old_code, code], s)
        made = self.settled(total, made, s)
        self.assign_name(name, total, made, s.target)

    def base(self, node):
        """The tensor that a subscript indexes."""
        self.quiet = True
        try:
            return self.expr(node)
        finally:
            self.quiet = False

    def note_write(self, tensor):
        """Remembers that the memory of a tensor is written."""
        if isinstance(tensor, Unknown) and tensor.root:
            self.written.add(tensor.root)

    def sums_over_a_loop(self, target):
        """Whether a loop around adds into one place of `target` again and again."""
        loops = [loop.node for loop in self.frame.loops if not loop.unrolled]
        if not loops:
            return False
        if self.frame.depends is None:
            self.frame.depends = _dependences(self.frame.node.body)
        closure, todo = set(), list(flow.reads_of(target.slice))
        while todo:
            name = todo.pop()
            if name not in closure:
                closure.add(name)
                todo += self.frame.depends.get(name, ())
        return any(isinstance(n, ast.While) or not (flow.targets_of(n.target) & closure)
                   for n in loops)

    # ---- branches ----

    def if_statement(self, s, rest):
        try:
            c, code = self.test(s.test)
        except Fault as fault:
            if fault.node is None:
                fault.node, fault.file = s.test, self.file
            raise
        if c.__class__ is not Unknown:
            # Decided here: the other branch does not exist, its types included.
            if self.acts(code):
                self.emit(ast.Expr(code), s.test)
            return self.statement_list([*(s.body if c else s.orelse), *rest]), True
        f = self.frame.flow.statements[id(s)]
        then, orelse, assigned, homes, consumed = s.body, s.orelse, f.assigned, f.live_out, False
        if f.has_break or f.has_continue or f.has_return:
            then_jumps, else_jumps = flow.always_jumps(s.body), flow.always_jumps(s.orelse)
            if then_jumps or else_jumps:
                # What follows belongs to the branch that goes on.
                consumed = True
                if not then_jumps:
                    then = [*then, *rest]
                if not else_jumps:
                    orelse = [*orelse, *rest]
                assigned = assigned | flow.assigned_in(rest)
                homes = frozenset()
        if (flow.reads_of(s.test) | flow.targets_of(s.test)) & assigned & homes:
            # The test sees what a variable was before the branches give it their common type.
            name = self.temporary()
            self.emit_assign(name, code, s.test)
            code = ast.copy_location(ast.Name(name, ast.Load()), s.test)
        scope = ControlScope(self, s, assigned, homes)
        scope.save()
        self.uncertain += 1
        self.set_bound(flow.bound_when(s.test, True))
        then_body, then_end = self.block(lambda: self.statement_list(then))
        if then_end == FALLS:
            scope.end_region()
        scope.restore()
        self.set_bound(flow.bound_when(s.test, False))
        else_body, else_end = self.block(lambda: self.statement_list(orelse))
        if else_end == FALLS:
            scope.end_region()
        self.uncertain -= 1
        scope.restore()
        scope.close(False)
        self.emit(ast.If(code, then_body or [ast.Pass()], else_body), s)
        return then_end and else_end, consumed

    # ---- jumps ----

    def _do_Return(self, s):
        for loop in self.frame.loops:
            if loop.parallel:
                raise self.fault("parallel-return", "a parallel loop cannot be left by return, since "
                                 "its iterations run in any order", s)
        # What a function hands on need be no value.
        self.unused_call = s.value
        value, code = (None, self.const(None, s)) if s.value is None else self.expr(s.value)
        frame = self.frame
        if len(self.frames) == 1 and is_tensor(value):
            self.return_node = s.value
        if frame.result_cell is None:
            frame.result = value
        else:
            store_cell(frame.result_cell, value, "the result", s, self.memory)
            code = self.cell_code(frame.result_cell, value, code, s)
        frame.return_node = s.value
        self.emit(ast.Return(code), s)
        return JUMPS

    def _do_Break(self, s):
        return self.jump(s, True)

    def _do_Continue(self, s):
        return self.jump(s, False)

    def jump(self, s, is_break):
        if not self.frame.loops:
            raise self.fault("jump-outside-loop", f"'{'break' if is_break else 'continue'}' outside "
                             "a loop", s)
        loop = self.frame.loops[-1]
        if is_break and loop.parallel:
            raise self.fault("parallel-break", "a parallel loop cannot be left by break, since its "
                             "iterations run in any order; use range", s)
        now = self.bound_names()
        loop.bound_at_exit = now if loop.bound_at_exit is None else loop.bound_at_exit & now
        if not loop.unrolled:
            self.emit(ast.Break() if is_break else ast.Continue(), s)
            return JUMPS
        if is_break:
            self.emit_assign(loop.broken, self.const(True, s), s)
            if self.uncertain == loop.uncertain:
                loop.stopped = True
        self.emit(ast.Break(), s)  # leaves the one-pass loop that is this iteration
        return JUMPS

    # ---- loops ----

    def _do_For(self, s):
        value, code = self.expr(s.iter)
        if is_sequence(value) or isinstance(value, Range) and value.kind == "static_range":
            return self.unrolled(s, value, code)
        rows = is_tensor(value)
        if rows and not shape_of(value):
            raise self.fault("not-iterable", "cannot iterate over a tensor without axes", s.iter)
        if not rows and not isinstance(value, Range):
            raise self.fault("not-iterable", f"cannot iterate over {describe(value)}; use range, "
                             "asc.parallel_for or asc.parallel_for_grid", s.iter)
        f = self.frame.flow.statements[id(s)]
        parallel = not rows and value.kind in ("parallel_for", "grid")
        rebound = flow.rebound_in(s.body) | flow.targets_of(s.target)
        assigned = self.reassigned(f.assigned, rebound)
        homes = f.live_out | f.carried
        if parallel:
            self.check_parallel(s, f)
        scope = ControlScope(self, s, assigned, homes, flow.summed_in(s.body))
        loop = self.enter_loop(s, parallel)
        scope.save()
        runs = self.surely_runs(value) if not rows else bool(shape_of(value)[0])
        self.uncertain += 1
        inner = ControlScope(self, s, assigned, ())
        inner.enter_iteration()
        name = self.temporary("i")
        if rows:
            item = indexing.load(value, Unknown(INT64))
            code = self.call("__rows", [code], s.iter)
        elif value.kind == "grid":
            item = tuple(Unknown(INT64) for _ in value.parts)
            code = self.call("__grid", [code], s.iter)
        else:
            item = Unknown(INT64)
            code = self.call("__parallel" if parallel else "__indices", [code], s.iter)

        def body():
            if isinstance(s.target, ast.Name) and self.plain_target(s.target.id):
                self.env[s.target.id] = Slot(item)
                target = ast.Name(s.target.id, ast.Store())
            else:
                target = ast.Name(name, ast.Store())
                self.assign_target(s.target, item, ast.copy_location(ast.Name(name, ast.Load()), s),
                                   s.iter)
            self.statement_list(s.body)
            return ast.copy_location(target, s.target)
        made, target = self.block(body)
        self.uncertain -= 1
        self.after_body(loop)
        scope.end_region()
        scope.restore()
        scope.close(not runs)
        self.frame.loops.pop()
        orelse, _ = self.block(lambda: self.orelse(s, f))
        self.emit(ast.For(target, code, made or [ast.Pass()], orelse), s)

    def plain_target(self, name):
        slot = self.env.get(name)
        return slot is None or slot.cell is None or not slot.required

    def reassigned(self, assigned, rebound):
        """Without names of tensors that are only updated in place, which stay what they are."""
        def stays(name):
            slot = self.env.get(name)
            return slot is not None and slot.value is not MISSING and is_tensor(slot.value) and \
                name not in rebound
        return {n for n in assigned if not stays(n)}

    def enter_loop(self, s, parallel=False, unrolled=False):
        from .translate import Loop
        loop = Loop(s, parallel, unrolled)
        loop.uncertain = self.uncertain
        self.frame.loops.append(loop)
        return loop

    def after_body(self, loop):
        if loop.bound_at_exit is not None:
            now = self.bound_names()
            for name, slot in self.env.items():
                if name not in loop.bound_at_exit or name not in now:
                    slot.maybe_unbound = True

    def surely_runs(self, value):
        """False when the loop may be known not to run; what only the run tells is left to it."""
        parts = value.parts
        if value.kind == "grid":
            return all(p.__class__ is Unknown or int(p) > 0 for p in parts)
        return not value.known() or value.count() > 0

    def orelse(self, s, f):
        if not s.orelse:
            return
        if not (f.has_break or f.has_return):
            self.statement_list(s.orelse)
            return
        scope = ControlScope(self, s.orelse[0], flow.assigned_in(s.orelse), f.live_out)
        scope.save()
        self.uncertain += 1
        self.statement_list(s.orelse)
        self.uncertain -= 1
        scope.end_region()
        scope.restore()
        scope.close(True)

    def _do_While(self, s):
        f = self.frame.flow.statements[id(s)]
        assigned = self.reassigned(f.assigned, flow.rebound_in(s.body))
        scope = ControlScope(self, s, assigned, f.live_out | f.carried, flow.summed_in(s.body))
        loop = self.enter_loop(s)
        scope.save()
        self.uncertain += 1
        ControlScope(self, s, assigned, ()).enter_iteration()
        before, (c, code) = self.block(lambda: self.test(s.test))
        forever = c.__class__ is not Unknown and c
        bound_by_test = self.bound_names() & set(assigned)
        scope.restore()
        for name in bound_by_test & set(self.env):
            self.env[name].maybe_unbound = False
        self.set_bound(flow.bound_when(s.test, True))
        ControlScope(self, s, assigned, ()).enter_iteration()
        made, _ = self.block(lambda: self.statement_list(s.body))
        self.uncertain -= 1
        if loop.bound_at_exit is not None:
            now = self.bound_names()
            for name, slot in self.env.items():
                slot.maybe_unbound = not (name in loop.bound_at_exit and
                                          (forever or name in now))
        scope.end_region()
        scope.restore()
        scope.close(not forever)
        for name in bound_by_test & set(self.env):
            self.env[name].maybe_unbound = False  # the test runs at least once
        if not f.has_break:
            self.set_bound(flow.bound_when(s.test, False))
        self.frame.loops.pop()
        if before:
            raise self.fault("unsupported-expression", "this condition of a while is not supported; "
                             "compute it in the body", s.test)
        orelse, _ = self.block(lambda: self.orelse(s, f))
        self.emit(ast.While(code, made or [ast.Pass()], orelse), s)

    # ---- loops over what is known ----

    def unrolled(self, s, value, code):
        if is_sequence(value) and not all(self.is_constant(v) for v in value):
            name = self.temporary()
            self.emit_assign(name, code, s.iter)
            items = [(v, self.const(v, s.iter) if self.is_constant(v) else ast.copy_location(
                ast.Subscript(ast.copy_location(ast.Name(name, ast.Load()), s.iter),
                              self.const(k, s.iter), ast.Load()), s.iter))
                for k, v in enumerate(value)]
        else:
            items = [(v, self.const(v, s.iter)) for v in self.static_items(value, s.iter)]
        f = self.frame.flow.statements[id(s)]
        jumps = f.has_break or f.has_continue or f.has_return
        scope = None
        loop = self.enter_loop(s, unrolled=True)
        if jumps:
            self.frame.loops.pop()
            scope = ControlScope(self, s, f.assigned, f.live_out | f.carried,
                                 flow.summed_in(s.body))
            self.frame.loops.append(loop)
            loop.broken = self.temporary("broken")
            self.emit_assign(loop.broken, self.const(False, s), s)
        end = FALLS
        saved_path = self.frame.path
        for k, (item, item_code) in enumerate(items):
            if loop.stopped:
                break
            self.frame.path = f"{saved_path}/{k}"

            def body(item=item, item_code=item_code):
                self.assign_target(s.target, item, item_code, s.iter)
                return self.statement_list(s.body)
            if not jumps:
                body()
                continue
            made, body_end = self.block(body)
            once = ast.For(ast.Name(self.temporary("once"), ast.Store()),
                           ast.Tuple([ast.Constant(0)], ast.Load()), made or [ast.Pass()], [])
            guard = ast.UnaryOp(ast.Not(), ast.Name(loop.broken, ast.Load()))
            self.emit(ast.If(guard, [ast.copy_location(once, s)], []), s)
            if body_end == JUMPS and flow.always_returns(s.body):
                end = JUMPS
                break
        self.frame.path = saved_path
        self.frame.loops.pop()
        if scope is not None:
            scope.end_region()
            scope.close(not items)
        if end == FALLS and s.orelse and not (loop.stopped and self.uncertain == loop.uncertain):
            if jumps:
                orelse, _ = self.block(lambda: self.orelse(s, f))
                guard = ast.UnaryOp(ast.Not(), ast.Name(loop.broken, ast.Load()))
                self.emit(ast.If(guard, orelse or [ast.Pass()], []), s)
            else:
                self.statement_list(s.orelse)
        return end

    # ---- parallel loops ----

    def check_parallel(self, s, f):
        """Iterations may share a variable by a reduction only."""
        rebound = flow.rebound_in(s.body)
        targets = flow.targets_of(s.target)
        for name in sorted(f.live_out | f.carried):
            slot = self.env.get(name)
            if slot is not None and slot.value is not MISSING and is_tensor(slot.value) and \
                    name not in rebound:
                continue
            if name in targets:
                raise self.fault("parallel-variable", f"'{name}' is read after a parallel loop, "
                                 "whose iterations have no last one; use range", s.target)
            kinds, own_reads, first = _reductions(s.body, name)
            if None in kinds or len(set(kinds)) > 1:
                raise self.fault("parallel-variable", "the iterations of a parallel loop run in any "
                                 f"order and share '{name}': it can be summed (+=) or combined by "
                                 "min or max, not assigned; use range, or write to a tensor", first)
            read = _first_read(s.body, name, own_reads)
            if read is not None:
                fault = self.fault("parallel-variable", f"'{name}' is reduced by the iterations of "
                                   "a parallel loop and also read in them here, where its value "
                                   "depends on their order; read it after the loop", read)
                fault.notes.append(("reduced here", first))
                raise fault


def _moves(target, value):
    """Whether `target` may name another place once `value` is computed."""
    def has(node, *kinds):
        return any(isinstance(n, kinds) for n in ast.walk(node))
    return has(value, ast.NamedExpr) or \
        has(value, ast.Call) and has(target.slice, ast.Subscript, ast.Call, ast.NamedExpr)


def _dependences(body):
    """name -> names that it is computed from."""
    depends = {}
    for s in flow.statements(body):
        pairs = [(s.target, s.iter)] if isinstance(s, ast.For) else \
            [(t, s.value) for t in s.targets] if isinstance(s, ast.Assign) else []
        for target, on in pairs:
            for name in flow.targets_of(target):
                depends.setdefault(name, set()).update(flow.reads_of(on))
    return depends


_CLASSES = {ast.Add: "+", ast.Sub: "+", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|",
            ast.BitXor: "^"}


def _is(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _reductions(body, name):
    """How statements combine `name`: a class each, None for a plain assignment; the reads that the
    reductions make themselves; the first such statement."""
    kinds, own_reads, first = [], set(), None
    conditional = set()
    for s in flow.statements(body):
        if isinstance(s, ast.If):
            kind = _conditional_extremum(s, name)
            if kind:
                kinds.append(kind)
                own_reads.update(id(n) for n in ast.walk(s.test) if _is(n, name))
                conditional.add(id(s.body[0]))
                first = first or s.body[0]
            continue
        if isinstance(s, ast.While) or name not in {n for e in flow.expressions(s)
                                                    for n in flow.targets_of(e)}:
            continue
        first = first or s
        if id(s) in conditional:
            continue
        kind, reads = _reduction_class(s, name)
        kinds.append(kind)
        own_reads.update(map(id, reads))
    return kinds, own_reads, first


def _reduction_class(s, name):
    if isinstance(s, ast.AugAssign):
        return _CLASSES.get(type(s.op)), []
    if not isinstance(s, ast.Assign) or len(s.targets) != 1 or not _is(s.targets[0], name):
        return None, []
    v = s.value
    if isinstance(v, ast.BinOp):
        if _is(v.left, name):
            return _CLASSES.get(type(v.op)), [v.left]
        if _is(v.right, name) and not isinstance(v.op, ast.Sub):
            return _CLASSES.get(type(v.op)), [v.right]
        return None, []
    if isinstance(v, ast.Call):
        f = getattr(v.func, "id", getattr(v.func, "attr", ""))
        reads = [a for a in v.args if _is(a, name)]
        if reads and f in ("max", "maximum", "min", "minimum"):
            return f[:3], reads
    return None, []


def _conditional_extremum(s, name):
    """`if e > m: m = e` is a maximum."""
    if s.orelse or len(s.body) != 1 or not isinstance(s.test, ast.Compare) or \
            len(s.test.ops) != 1 or not isinstance(s.body[0], ast.Assign):
        return ""
    a, c = s.body[0], s.test
    greater = isinstance(c.ops[0], (ast.Gt, ast.GtE))
    if not greater and not isinstance(c.ops[0], (ast.Lt, ast.LtE)):
        return ""
    if len(a.targets) != 1 or not _is(a.targets[0], name):
        return ""
    if _is(c.comparators[0], name) and flow.same(c.left, a.value):
        return "max" if greater else "min"
    if _is(c.left, name) and flow.same(c.comparators[0], a.value):
        return "min" if greater else "max"
    return ""


def _first_read(body, name, known):
    """The first place in the text that reads `name`, but for those that are known."""
    reads = [n for s in flow.statements(body) for e in flow.expressions(s) for n in ast.walk(e)
             if _is(n, name) and isinstance(n.ctx, ast.Load) and id(n) not in known]
    return min(reads, key=lambda n: (n.lineno, n.col_offset), default=None)
