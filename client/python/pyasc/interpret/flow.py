"""Which variables live on after a statement, and which an iteration hands to the next.

A variable that several paths or iterations share has one type over the whole statement; the
translator asks here which those are.
"""

import ast
import functools

LOOPS = (ast.For, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


class StatementFlow:
    def __init__(self):
        self.assigned = frozenset()
        self.live_out = frozenset()
        self.carried = frozenset()
        self.has_break = self.has_continue = self.has_return = False


class FunctionFlow:
    """`statements` has a StatementFlow for every if, for and while, by id(node)."""

    def __init__(self, function):
        self.statements = {}
        top = StatementFlow()
        self.locals = _collect(function.body, self, top) | {a.arg for a in parameters(function)}
        _before(function.body, frozenset(), (frozenset(), frozenset()), self)
        returns = [s for s in statements(function.body) if isinstance(s, ast.Return)]
        self.returns_only_at_end = not returns or returns == [function.body[-1]]


def parameters(function):
    a = function.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs]


def blocks(s):
    """The statement lists inside a statement."""
    return [b for b in (getattr(s, "body", None), getattr(s, "orelse", None))
            if isinstance(b, list)] if isinstance(s, (ast.If, *LOOPS)) else []


def statements(body):
    """All statements, those inside others included."""
    for s in body:
        yield s
        for block in blocks(s):
            yield from statements(block)


def expressions(s):
    """The expressions of a statement itself, without those of statements inside."""
    if isinstance(s, (ast.If, ast.While)):
        return [s.test]
    if isinstance(s, ast.For):
        return [s.iter, s.target]
    return [c for c in ast.iter_child_nodes(s) if isinstance(c, ast.expr)]


def names(expr, reads=None, targets=None):
    """Adds the names that `expr` reads and binds; those of comprehensions are their own."""
    if isinstance(expr, ast.Name):
        into = reads if isinstance(expr.ctx, ast.Load) else targets
        if into is not None:
            into.add(expr.id)
    elif isinstance(expr, _COMPREHENSIONS):
        own, inner = set(), set()
        for i, g in enumerate(expr.generators):
            if i == 0:
                names(g.iter, reads, targets)
            else:
                names(g.iter, inner)
            names(g.target, None, own)
            for c in g.ifs:
                names(c, inner)
        names(expr.elt, inner)
        if reads is not None:
            reads |= inner - own
    else:
        for child in ast.iter_child_nodes(expr):
            names(child, reads, targets)


def reads_of(expr):
    found = set()
    if expr is not None:
        names(expr, found)
    return found


def targets_of(expr):
    found = set()
    names(expr, None, found)
    return found


@functools.lru_cache(maxsize=4096)  # each part is asked for again by every level around it
def bound_when(test, outcome):
    """The names that `test` has bound by := on every way to the truth `outcome`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return bound_when(test.operand, not outcome)
    if isinstance(test, ast.BoolOp):
        passes = isinstance(test.op, ast.And)
        passed, ways = set(), []
        for value in test.values:
            ways.append(passed | bound_when(value, not passes))
            passed = passed | bound_when(value, passes)
        return passed if outcome is passes else set.intersection(*ways)
    if isinstance(test, ast.IfExp):
        return (bound_when(test.test, True) | bound_when(test.body, outcome)) & \
            (bound_when(test.test, False) | bound_when(test.orelse, outcome))
    if isinstance(test, ast.Compare):
        # From the third operand on, only where all comparisons before hold.
        seen = test.comparators if outcome else test.comparators[:1]
        return set().union(*(bound_always(e) for e in [test.left, *seen]))
    if isinstance(test, ast.NamedExpr):
        return bound_when(test.value, outcome) | {test.target.id}
    parts = {ast.Call: lambda e: e.args, ast.BinOp: lambda e: [e.left, e.right],
             ast.UnaryOp: lambda e: [e.operand],
             ast.Subscript: lambda e: [e.value, e.slice]}.get(type(test), lambda e: [])(test)
    return set().union(*map(bound_always, parts))


def bound_always(expr):
    return bound_when(expr, True) & bound_when(expr, False)


def assigned_in(body):
    found = set()
    for s in statements(body):
        for e in expressions(s):
            names(e, None, found)
    return found


def rebound_in(body):
    """Names bound other than by an augmented assignment."""
    found = set()
    for s in statements(body):
        if not isinstance(s, ast.AugAssign):
            for e in expressions(s):
                names(e, None, found)
    return found


def same(a, b):
    """Whether two expressions are the same text in effect; contexts aside."""
    return ast.dump(a).replace("Store()", "Load()") == ast.dump(b).replace("Store()", "Load()")


def as_update(s):
    """The sum of `x = x + e`, else None."""
    if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.value, ast.BinOp) and \
            isinstance(s.value.op, (ast.Add, ast.Sub)) and same(s.targets[0], s.value.left):
        return s.value
    return None


def summed_in(body):
    """Names that `+=` or `-=` adds into."""
    found = set()
    for s in statements(body):
        if isinstance(s, ast.AugAssign) and isinstance(s.op, (ast.Add, ast.Sub)):
            if isinstance(s.target, ast.Name):
                found.add(s.target.id)
        elif as_update(s):
            names(s.targets[0], None, found)
    return found


def always_jumps(body):
    return any(isinstance(s, (ast.Return, ast.Break, ast.Continue))
               or isinstance(s, ast.If) and always_jumps(s.body) and always_jumps(s.orelse)
               for s in body)


def always_returns(body):
    for s in body:
        if isinstance(s, ast.Return):
            return True
        if isinstance(s, ast.If) and always_returns(s.body) and always_returns(s.orelse):
            return True
        if isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value and \
                not any(isinstance(x, ast.Break) for x in statements(s.body)):
            return True
    return False


def _collect(body, flow, parent):
    """Fills `assigned` and the jumps; returns the names assigned in `body`."""
    everything = set()
    for s in body:
        here = set()
        for e in expressions(s):
            names(e, None, here)
        parent.has_break |= isinstance(s, ast.Break)
        parent.has_continue |= isinstance(s, ast.Continue)
        parent.has_return |= isinstance(s, ast.Return)
        if isinstance(s, ast.If):
            own = StatementFlow()
            here |= _collect(s.body, flow, own) | _collect(s.orelse, flow, own)
            parent.has_break |= own.has_break
            parent.has_continue |= own.has_continue
        elif isinstance(s, LOOPS):
            own, orelse = StatementFlow(), StatementFlow()
            here |= _collect(s.body, flow, own) | _collect(s.orelse, flow, orelse)
            own.has_return |= orelse.has_return
            parent.has_break |= orelse.has_break
            parent.has_continue |= orelse.has_continue
        else:
            own = None
        if own is not None:
            own.assigned = frozenset(here)
            parent.has_return |= own.has_return
            flow.statements[id(s)] = own
        everything |= here
    return everything


def _before(body, out, jumps, flow):
    """What is live before `body` when `out` is after it; `jumps` is what is live at a break and at
    a continue."""
    for s in reversed(body):
        out = _before_one(s, out, jumps, flow)
    return out


def _before_one(s, out, jumps, flow):
    if isinstance(s, ast.Return):
        return frozenset(reads_of(s.value))
    if isinstance(s, ast.Break):
        return jumps[0]
    if isinstance(s, ast.Continue):
        return jumps[1]
    if isinstance(s, ast.If):
        _record(flow, s, out, frozenset())
        return _before(s.body, out, jumps, flow) | _before(s.orelse, out, jumps, flow) | \
            reads_of(s.test)
    if isinstance(s, LOOPS):
        after = _before(s.orelse, out, jumps, flow)
        loop = isinstance(s, ast.For)
        test = frozenset() if loop else frozenset(reads_of(s.test))
        targets = targets_of(s.target) if loop else set()
        header = after | test
        while True:
            carried = (_before(s.body, header, (out, header), flow) - targets) | test
            following = after | carried
            if following <= header:
                break
            header |= following
        _record(flow, s, out | after, carried)
        return header | (reads_of(s.iter) if loop else frozenset())
    used, bound = set(), set()
    for e in expressions(s):
        names(e, used, bound)
    if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
        used.add(s.target.id)
    return frozenset((out - bound) | used)


def _record(flow, s, out, carried):
    f = flow.statements[id(s)]
    f.live_out |= out & f.assigned
    f.carried |= carried & f.assigned
