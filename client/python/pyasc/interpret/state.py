"""Variables while a function is translated: what each holds, and the cells that paths share."""

from . import dtypes, ops
from .dtypes import FLOAT32
from .errors import Fault
from .values import (Unknown, describe, dtype_of, is_scalar, is_sequence, is_tensor, shape_of,
                     shape_text, strong)

MISSING = object()


class Cell:
    """A variable that several paths or iterations store: one type over all of them. `wide`: a sum
    of a 16-bit float, which the generated code keeps in float32 and rounds where it is read."""

    def __init__(self, key, sums):
        self.key, self.sums = key, sums
        self.kind, self.t, self.shape, self.items, self.fixed = "unset", None, None, None, None
        self.node = None
        self.root = None

    @property
    def wide(self):
        return self.kind == "scalar" and self.sums and self.t.is_16

    def load(self):
        if self.kind == "scalar":
            return Unknown(self.t)
        if self.kind == "tensor":
            return Unknown(self.t, self.shape, self.root)
        if self.kind == "tuple":
            return self.sequence(c.load() for c in self.items)
        return self.fixed if self.kind == "fixed" else MISSING


class Slot:
    """What is known of a name at one point of the program."""

    __slots__ = ("value", "maybe_unbound", "cell", "required", "code")

    def __init__(self, value=MISSING, cell=None, required=False, maybe_unbound=False, code=None):
        self.value, self.cell, self.required = value, cell, required
        self.maybe_unbound, self.code = maybe_unbound, code

    def copy(self):
        return Slot(self.value, self.cell, self.required, self.maybe_unbound, self.code)


class TypeMemory:
    """Types of cells that turned out wider than their first store; kept from attempt to attempt
    until none changes."""

    def __init__(self):
        self.widened = {}
        self.changed = False

    def widen(self, key, t):
        if self.widened.get(key) is not t:
            self.widened[key] = t
            self.changed = True


def store_cell(cell, value, name, node, memory):
    """Notes that `value` is stored; returns what a reader right after finds."""
    if cell.kind == "unset":
        cell.node = node
        if is_scalar(value) or is_tensor(value):
            t = dtype_of(value)
            known = memory.widened.get(cell.key)
            if known is not None:
                t = dtypes.promote(t, known) or t
            cell.t = t
            cell.kind = "scalar" if is_scalar(value) else "tensor"
            cell.shape = shape_of(value)
        elif is_sequence(value):
            cell.kind, cell.sequence = "tuple", type(value)
            cell.items = [Cell(f"{cell.key}.{i}", cell.sums) for i in range(len(value))]
        else:
            cell.kind, cell.fixed = "fixed", value

    def mismatch(was):
        if name.startswith("the "):  # the result, which is no variable
            fault = Fault("variable-type", f"{name} is {describe(value)} here and {was} on another "
                                           "path; give both paths one type and shape")
            fault.notes.append(("the other path is here", cell.node))
            return fault
        fault = Fault("variable-type", f"'{name}' is assigned {describe(value)} here and {was} on "
                                       "another path; give the two uses different names")
        fault.notes.append(("the other assignment is here", cell.node))
        return fault

    if cell.kind in ("scalar", "tensor"):
        scalar = cell.kind == "scalar"
        if scalar and not is_scalar(value):
            raise mismatch("a scalar")
        if not scalar and (not is_tensor(value) or not _shapes_agree(shape_of(value), cell.shape)):
            raise mismatch(f"a tensor of shape {shape_text(cell.shape)}")
        both = dtypes.promote(cell.t, dtype_of(value))
        if both is None:
            raise mismatch(("an " if cell.t.name[0] == "i" else "a ") + f"{cell.t.name} {cell.kind}")
        if both is not cell.t:
            memory.widen(cell.key, both)
        if scalar:
            return ops.cast(strong(value), cell.t)
        # Of several tensors, whichever the run bound.
        cell.root = value.root if cell.root in (None, value.root) else "?"
        return Unknown(cell.t, cell.shape, cell.root)
    if cell.kind == "tuple":
        if not is_sequence(value) or len(value) != len(cell.items):
            raise mismatch(f"a tuple of {len(cell.items)}")
        for c, v in zip(cell.items, value):
            store_cell(c, strong(v), name, node, memory)
        return cell.load()
    if value is not cell.fixed and value != cell.fixed:
        raise mismatch(describe(cell.fixed))
    return value


def _shapes_agree(a, b):
    return len(a) == len(b) and all(x == y or x is None or y is None for x, y in zip(a, b))


class ControlScope:
    """Opened before a statement with regions: gives a cell to every name in `homes`, and when
    closed forgets what the regions left behind that is not in a cell."""

    def __init__(self, translator, node, assigned, homes, sums=frozenset()):
        self.tr, self.assigned = translator, set(assigned)
        self.bound_before = translator.bound_names()
        self.created = set()
        self.bound = None
        self.before = None
        env = translator.env
        for name in sorted(set(homes) & self.assigned):
            slot = env.get(name)
            if slot is not None and slot.cell is not None and slot.required:
                continue
            was_bound = name in self.bound_before
            initial = code = MISSING
            if was_bound:
                initial, code = translator.read_name(name, node)
            cell = Cell(translator.key(node, name), name in sums)
            made = env[name] = Slot(cell=cell, required=True, maybe_unbound=not was_bound)
            self.created.add(name)
            if was_bound:
                held = store_cell(cell, initial, name, node, translator.memory)
                translator.emit_cell(cell, name, initial, code, node)
                if cell.kind == "scalar" and not cell.wide or cell.kind == "fixed":
                    made.value = held

    def enter_iteration(self):
        """What a former iteration may have changed is read from its cell."""
        env = self.tr.env
        for name in self.assigned:
            slot = env.get(name)
            if slot is None:
                continue
            if slot.cell is not None and slot.required:
                slot.value = MISSING
            else:
                del env[name]

    def save(self):
        self.before = {n: s.copy() for n, s in self.tr.env.items()}

    def restore(self):
        self.tr.env = {n: s.copy() for n, s in self.before.items()}

    def end_region(self):
        now = self.tr.bound_names()
        self.bound = now if self.bound is None else self.bound & now

    def close(self, may_skip):
        env = self.tr.env
        for name in self.assigned:
            slot = env.get(name)
            if slot is None:
                continue
            if slot.cell is None or not slot.required:
                del env[name]
                continue
            slot.value = MISSING
            inside = self.bound is None or name in self.bound
            slot.maybe_unbound = name not in self.bound_before and (may_skip or not inside)
            if name in self.created:
                slot.required = False
