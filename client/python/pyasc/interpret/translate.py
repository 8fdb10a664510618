"""From a kernel's tree to a Python function that runs on the interpreter's values.

One walk finds types and writes code: an expression gives its value (an Unknown where only the run
can tell) and the tree that computes it. A condition that is known selects its branch here, loops
over tuples are unrolled and helpers are specialised, so that types are those of this launch. The
walk is repeated until no variable widens any more.

The generated code keeps the lines, columns and variable names of the kernel, so that Python's
debugger shows the kernel.
"""

import ast

import numpy as np

from . import dtypes, flow, library, ops
from .calls import Calls
from .dtypes import FLOAT32
from .errors import Fault
from .expressions import Expressions
from .state import MISSING, Slot, TypeMemory, store_cell
from .statements import Statements
from .values import (Function, Method, Module, Range, Unknown, dtype_of, is_scalar, is_sequence,
                     is_tensor, is_weak, strong)

MAX_ATTEMPTS = 40
MAX_DEPTH = 64


class Options:
    def __init__(self, debug=False, mixed=False, float64=False):
        self.debug, self.mixed, self.float64 = debug, mixed, float64


class Frame:
    """A function that is being translated."""

    def __init__(self, node, file, function_flow, call_node, path):
        self.node, self.file, self.flow = node, file, function_flow
        self.call_node, self.path = call_node, path
        self.env = {}
        self.loops = []
        self.result = MISSING
        self.result_cell = None
        self.depends = None


class Loop:
    def __init__(self, node, parallel=False, unrolled=False):
        self.node, self.parallel, self.unrolled = node, parallel, unrolled
        self.bound_at_exit = None
        self.broken = None  # for unrolled loops: the flag that a break sets
        self.stopped = False


class Unit:
    """What translation makes: functions as (name, tree, file), and the globals that they use."""

    def __init__(self):
        self.functions = []
        self.globals = {}


class Translator(Expressions, Statements, Calls):
    def __init__(self, program, options, runtime):
        self.program, self.options = program, options
        self.runtime = runtime
        self.memory = TypeMemory()
        self.flows = {}
        self.symbols = {}

    # ---- the kernel ----

    def kernel(self, function, values):
        """Translates a kernel for parameter values; a Unit, the name of its function, and the value
        of its result."""
        for _ in range(MAX_ATTEMPTS):
            self.memory.changed = False
            self.unit = Unit()
            self.frames, self.specialised, self.counter = [], {}, 0
            self.constants, self.uncertain, self.effects = {}, 0, 0
            self.accesses, self.written, self.faults = {}, set(), []
            name = value = None
            try:
                name, value = self.function(function, values, None, "")
            except Fault as fault:
                self.faults.append(fault)
            # While types still widen, a fault may be one of a type that does not stay.
            if not self.memory.changed:
                if self.faults:
                    raise self.faults[0]
                return self.unit, name, value
        raise Fault("variable-type", "the types of this kernel's variables do not settle",
                    function.node)

    def function(self, function, values, call_node, path):
        """Translates a function for argument values; its generated name and its result's value."""
        node = function.node
        if id(node) not in self.flows:
            self.flows[id(node)] = flow.FunctionFlow(node)
        frame = Frame(node, function.file, self.flows[id(node)], call_node, path)
        parameters = flow.parameters(node)
        for p, v in zip(parameters, values):
            # A kernel's constants are weak, as those of the module are.
            frame.env[p.arg] = Slot(v if call_node is None else strong(v))
        self.frames.append(frame)
        saved = getattr(self, "body", None), self.uncertain
        self.body, self.uncertain = [], 0 if call_node is None else self.uncertain
        try:
            if not frame.flow.returns_only_at_end:
                frame.result_cell = self.new_cell("<return>", path)
            self.statement_list(node.body)
            value = self.result_value(frame)
            body = self.body or [ast.Pass()]
        finally:
            self.frames.pop()
            self.body, self.uncertain = saved
        self.counter += 1
        name = node.name if call_node is None else f"{node.name}__{self.counter}"
        made = ast.FunctionDef(
            name=name, args=ast.arguments(posonlyargs=[], args=[ast.arg(arg=p.arg)
                                                                for p in parameters],
                                          kwonlyargs=[], kw_defaults=[], defaults=[]),
            body=body, decorator_list=[])
        ast.copy_location(made, node)
        self.unit.functions.append((name, ast.fix_missing_locations(made), function.file))
        return name, value

    def result_value(self, frame):
        if frame.result_cell is None:
            return None if frame.result is MISSING else frame.result
        cell = frame.result_cell
        if cell.kind == "unset":
            return None
        none = cell.kind == "fixed" and cell.fixed is None
        if not none and not flow.always_returns(frame.node.body):
            where = "kernel " if frame.call_node is None else ""
            raise self.fault("missing-return", f"{where}'{frame.node.name}' returns a value on some "
                             "paths only; add a return at its end", frame.call_node or frame.node)
        return cell.load()

    # ---- state ----

    @property
    def frame(self):
        return self.frames[-1]

    @property
    def env(self):
        return self.frames[-1].env

    @env.setter
    def env(self, env):
        self.frames[-1].env = env

    @property
    def file(self):
        return self.frames[-1].file if self.frames else self.module_file

    def record(self, fault):
        """Keeps a fault of a statement, which is then left out."""
        for frame in reversed(self.frames):
            if frame.call_node is not None:
                caller = self.frames[self.frames.index(frame) - 1]
                fault.notes.append((f"in '{frame.node.name}', called here", frame.call_node,
                                    caller.file))
        self.faults.append(fault)

    def fault(self, code, message, node=None):
        return Fault(code, message, node, self.file)

    def key(self, node, name):
        path = self.frame.path
        kind = type(node).__name__  # an expression may begin where its statement does
        return f"{path}@{self.file}:{node.lineno}:{node.col_offset}:{kind}:{name}"

    def new_cell(self, name, path):
        from .state import Cell
        return Cell(f"{path}:{name}", False)

    def temporary(self, what="t"):
        self.counter += 1
        return f"__{what}{self.counter}"

    def bound_names(self):
        return {n for n, s in self.env.items() if not s.maybe_unbound}

    def set_bound(self, names):
        """From here on these are bound: flow.bound_when."""
        for name in names & set(self.env):
            self.env[name].maybe_unbound = False

    # ---- names ----

    def read_name(self, name, node):
        """The value of a name and the code that reads it."""
        if self.frames:
            slot = self.env.get(name)
            if slot is not None:
                value = slot.value
                if value is MISSING and slot.cell is not None:
                    value = slot.cell.load()
                if slot.maybe_unbound or value is MISSING:
                    raise self.fault("possibly-unbound", f"'{name}' may be read before it is "
                                     "assigned; assign it on every path, or before the statement",
                                     node)
                if self.is_constant(value):
                    return value, self.const(value, node)
                code = slot.code or ast.copy_location(ast.Name(name, ast.Load()), node)
                if slot.cell is not None and slot.cell.wide:
                    code = self.cast_code(code, slot.cell.t, node)
                return value, code
            if name in self.frame.flow.locals:
                raise self.fault("unbound-variable", f"'{name}' is read before it is assigned", node)
        value = self.global_value(name, node)
        return value, self.const(value, node)

    def global_value(self, name, node):
        found = self.program.find(self.file, name)
        if found is not None:
            return found.value_for(self, node)
        entry = library.TABLE.get((library.BUILTIN, name))
        if entry is not None:
            return entry
        if name in self.symbols:
            return self.symbols[name]
        if name == "__name__":
            return "kernel"
        local = list(self.env) if self.frames else []
        close = library.closest(name, [*local, *self.program.names(self.file)])
        if not close and (library.ASC, name) in library.TABLE:
            close = f"asc.{name}"
        hint = f"; did you mean '{close}'?" if close else ""
        raise self.fault("unknown-name", f"the name '{name}' is not defined{hint}", node)

    def assign_name(self, name, value, code, node):
        """Emits `name = code`, as the type that the name has here."""
        slot = self.env.get(name)
        if slot is None or slot.cell is None or not slot.required:
            self.env[name] = Slot(strong(value))
            if is_weak(value):
                code = self.strong_code(value, code, node)
            self.emit_assign(name, code, node)
            return
        slot.maybe_unbound = False
        slot.code = None
        held = store_cell(slot.cell, value, name, node, self.memory)
        self.emit_cell(slot.cell, name, value, code, node)
        keep = slot.cell.kind in ("scalar", "fixed") and not slot.cell.wide
        slot.value = held if keep else MISSING

    def strong_code(self, value, code, node):
        """Code of a literal's value as a variable holds it."""
        held = strong(value)
        return self.cast_code(code, dtype_of(held), node) if self.acts(code) else self.const(held, node)

    def emit_cell(self, cell, name, value, code, node):
        self.emit_assign(name, self.cell_code(cell, value, code, node), node)

    def cell_code(self, cell, value, code, node):
        """Code of `value` as the cell holds it."""
        if cell.kind in ("scalar", "tensor"):
            t = FLOAT32 if cell.wide else cell.t
            if is_scalar(value) and value.__class__ is not Unknown:
                return self.cast_code(code, t, node) if self.acts(code) else \
                    self.const(ops.cast(strong(value), t), node)
            return code if dtype_of(value) is t else self.cast_code(code, t, node)
        if cell.kind == "tuple":
            return self.call("__cast_items", [code, self.const(_types(cell), node)], node)
        return code

    # ---- code ----

    def emit(self, statement, node):
        self.body.append(ast.copy_location(statement, node))

    def emit_assign(self, name, code, node):
        if isinstance(code, ast.Name) and code.id == name:
            return
        self.emit(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], code), node)

    def call(self, name, args, node):
        """A call of a function of the runtime."""
        if name not in self.unit.globals:
            self.unit.globals[name] = self.runtime[name]
        return ast.copy_location(
            ast.Call(ast.copy_location(ast.Name(name, ast.Load()), node), args, []), node)

    def cast_code(self, code, t, node):
        return self.call(f"__cast_{t.name}", [code], node)

    def is_constant(self, value):
        """Whether a value is known whole, so that code may hold it."""
        if is_sequence(value):
            return all(self.is_constant(v) for v in value)
        if isinstance(value, slice):
            return all(self.is_constant(v) for v in (value.start, value.stop, value.step))
        if isinstance(value, (Range, Method)):
            return False
        return value.__class__ is not Unknown

    @staticmethod
    def acts(code):
        """Whether code does more than give a value, so that it cannot be left out: calls of helpers
        and of what writes, bindings."""
        return any(isinstance(n, ast.NamedExpr) or getattr(n, "acts", False) for n in ast.walk(code))

    def settled(self, value, code, node):
        """Code of a value: itself where it is known and computing it does nothing else."""
        return self.const(value, node) if self.is_constant(value) and not self.acts(code) else code

    def after(self, first, code, node):
        """`code` behind what evaluating `first` does."""
        if not self.acts(first):
            return code
        both = ast.copy_location(ast.Tuple([first, code], ast.Load()), node)
        return ast.copy_location(ast.Subscript(both, self.const(1, node), ast.Load()), node)

    def const(self, value, node):
        """Code of a value that is known."""
        if value is None or value is Ellipsis or value.__class__ in (int, float, bool, str):
            return ast.copy_location(ast.Constant(value), node)
        if is_sequence(value):
            kind = ast.Tuple if isinstance(value, tuple) else ast.List
            return ast.copy_location(kind([self.const(v, node) for v in value], ast.Load()), node)
        if isinstance(value, slice):
            return self.call("__slice", [self.const(v, node) for v in
                                         (value.start, value.stop, value.step)], node)
        if value.__class__ in dtypes.BY_NUMPY:
            key = (value.__class__, value.tobytes())
        else:
            key = id(value)
        name = self.constants.get(key)
        if name is None:
            name = self.constants[key] = f"__c{len(self.constants)}"
            self.unit.globals[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _types(cell):
    return tuple(None if c.kind == "fixed" or c.kind == "unset" else
                 _types(c) if c.kind == "tuple" else (FLOAT32 if c.wide else c.t)
                 for c in cell.items)


class ModuleName:
    """What a module-level name means: a value, or why it has none."""

    def __init__(self, value=MISSING, node=None, imported=None, file=0):
        self.value, self.node, self.imported, self.file = value, node, imported, file

    def value_for(self, translator, node):
        if self.imported is not None:
            other = translator.program.find_elsewhere(translator.file, self.imported)
            if other is not None:
                return other.value
            fault = translator.fault("unknown-name", f"'{node.id}' is imported from a module whose "
                                     "text was not sent; define it in this file", node)
            fault.notes.append(("imported here", self.node))
            raise fault
        if self.value is MISSING:
            fault = translator.fault("host-data", f"'{node.id}' is computed by host code, which is "
                                     "not run; pass it as a parameter or make it a constant "
                                     "expression", node)
            fault.notes.append(("assigned here", self.node))
            raise fault
        return self.value
