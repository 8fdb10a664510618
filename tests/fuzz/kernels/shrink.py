"""Makes a kernel that goes wrong smaller while it goes wrong in the same way."""

import ast
import copy
import time
import warnings

import numpy as np

from execute import examine
from kernel import Kernel, numbers, to_array, dtype_name


def shrink(kernel, finding, server, seconds=90, progress=None):
    """The smallest kernel found with a finding of the same class on the same driver."""
    kind, driver, text = finding
    only = (driver,) if driver in ("sim", "host") else ()

    def same(candidate):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(candidate.text, "kernel", "exec")
        except (SyntaxError, ValueError):
            return False
        found, _ = examine(candidate, server, only)
        return any(k == kind and d == driver and (kind in VALUES or _alike(t, text))
                   for k, d, t in found)
    end = time.monotonic() + seconds
    best = Kernel(_tidy(kernel.text), kernel.args, kernel.family)
    if not same(best):
        best = kernel
        if not same(best):
            return kernel, False
    again = True
    while again and time.monotonic() < end:
        again = False
        for candidate in _candidates(best):
            if time.monotonic() > end:
                break
            if _weight(candidate) < _weight(best) and same(candidate):
                best, again = candidate, True
                if progress:
                    progress(best)
                break
    return best, True


VALUES = ("value", "rounding")


def _alike(a, b):
    """Messages that say the same of other names and numbers."""
    def words(text):
        return [w for w in text.replace("'", " ").split() if w.isalpha()]
    x, y = words(a), words(b)
    return len(set(x) & set(y)) * 2 >= max(len(set(x)), len(set(y)))


def _tidy(text):
    return ast.unparse(ast.parse(text)).replace("\n@asc", "\n\n@asc") + "\n"


def _weight(kernel):
    size = sum(a.size for a in kernel.args.values() if isinstance(a, np.ndarray))
    plain = sum(float(np.count_nonzero(numbers(a))) + len(set(numbers(a).reshape(-1).tolist()))
                for a in kernel.args.values() if isinstance(a, np.ndarray))
    return len(kernel.text) * 4 + size + plain / 4 + sum(
        abs(a) > 1 for a in kernel.args.values() if not isinstance(a, np.ndarray))


def _candidates(kernel):
    """Smaller kernels, the boldest first."""
    yield from _without_statements(kernel)
    yield from _sizes(kernel)
    yield from _without_parameters(kernel)
    yield from _unwrapped(kernel)
    yield from _simpler_expressions(kernel)
    yield from _values(kernel)


def _edited(kernel, tree):
    ast.fix_missing_locations(tree)
    return Kernel(ast.unparse(tree).replace("\n@asc", "\n\n@asc") + "\n", kernel.args, kernel.family)


def _bodies(tree):
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield node, field


def _without_statements(kernel):
    tree = ast.parse(kernel.text)
    places = [(k, len(getattr(n, f))) for k, (n, f) in enumerate(_bodies(tree))]
    for width in (8, 4, 2, 1):
        for k, n in places:
            for at in range(n - 1, -1, -width) if width == 1 else range(0, n, width):
                if at + width > n and width > 1:
                    continue
                made = copy.deepcopy(tree)
                node, field = list(_bodies(made))[k]
                body = getattr(node, field)
                gone = body[at:at + width]
                if any(isinstance(s, ast.Import) for s in gone) or \
                        all(isinstance(s, ast.Pass) for s in gone):
                    continue
                del body[at:at + width]
                if not body and field == "body":
                    body.append(ast.Pass())
                yield _edited(kernel, made)


def _unwrapped(kernel):
    """A compound statement replaced by its body; branches and elses gone."""
    tree = ast.parse(kernel.text)
    for k, (n, f) in enumerate(_bodies(tree)):
        for at, s in enumerate(getattr(n, f)):
            if not isinstance(s, (ast.If, ast.For, ast.While)):
                continue
            for part in ("body", "orelse"):
                made = copy.deepcopy(tree)
                node, field = list(_bodies(made))[k]
                body = getattr(node, field)
                inner = getattr(body[at], part)
                if not inner:
                    continue
                before = []
                if isinstance(s, ast.For) and part == "body" and isinstance(s.target, ast.Name):
                    before = [ast.Assign([body[at].target], ast.Constant(0))]
                body[at:at + 1] = before + inner
                yield _edited(kernel, made)


def _expressions(tree):
    """(parent, field, index) of every expression that has a value."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "decorator_list", "func", "returns", "targets", "target"):
                if field in ("targets", "target"):
                    for t in value if isinstance(value, list) else [value]:
                        if isinstance(t, ast.Subscript):
                            yield t, "slice", None
                continue
            if isinstance(value, ast.expr) and not isinstance(node, ast.Attribute):
                yield node, field, None
            elif isinstance(value, list):
                for i, v in enumerate(value):
                    if isinstance(v, ast.expr):
                        yield node, field, i


def _get(place):
    node, field, i = place
    value = getattr(node, field)
    return value if i is None else value[i]


def _put(place, value):
    node, field, i = place
    if i is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[i] = value


def _simpler_expressions(kernel):
    tree = ast.parse(kernel.text)
    places = list(_expressions(tree))
    for k, place in enumerate(places):
        old = _get(place)
        options = [c for c in ast.walk(old) if isinstance(c, ast.expr) and c is not old and
                   not isinstance(c, (ast.Slice, ast.Starred)) and
                   isinstance(getattr(c, "ctx", ast.Load()), ast.Load)][:12]
        options += [ast.Constant(v) for v in (0, 1, 1.0, True)]
        if isinstance(old, ast.Call) and isinstance(old.func, ast.Attribute) and \
                old.func.attr in ("parallel_for", "range", "static_range"):
            options.insert(0, ast.Call(ast.Name("range", ast.Load()), old.args, []))
            options.insert(0, ast.Call(ast.Name("range", ast.Load()), [ast.Constant(1)], []))
            options.insert(0, ast.Call(ast.Name("range", ast.Load()), [ast.Constant(2)], []))
        elif isinstance(old, ast.Call) and ast.unparse(old.func) == "range":
            options = [ast.Call(ast.Name("range", ast.Load()), [a], []) for a in
                       (*old.args, ast.Constant(1), ast.Constant(2))]
        if isinstance(old, ast.Constant):
            options = [ast.Constant(v) for v in (0, 1, 2, 3) if isinstance(old.value, int) and
                       v < abs(old.value)]
        shown = ast.unparse(old)
        for option in options:
            if len(ast.unparse(option)) > len(shown) or ast.unparse(option) == shown:
                continue
            made = copy.deepcopy(tree)
            _put(list(_expressions(made))[k], copy.deepcopy(option))
            yield _edited(kernel, made)


def _kernel_function(tree):
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list)


def _without_parameters(kernel):
    tree = ast.parse(kernel.text)
    parameters = _kernel_function(tree).args.args
    for p in parameters:
        made = copy.deepcopy(tree)
        args = _kernel_function(made).args
        args.args = [a for a in args.args if a.arg != p.arg]
        smaller = _edited(kernel, made)
        smaller.args = {n: v for n, v in kernel.args.items() if n != p.arg}
        yield smaller


def _sizes(kernel):
    """An axis' size made smaller wherever it occurs."""
    arrays = {n: a for n, a in kernel.args.items() if isinstance(a, np.ndarray)}
    sizes = sorted({s for a in arrays.values() for s in a.shape if s > 1}, reverse=True)
    for n in sizes:
        for less in sorted({1, 2, 3, n // 2, n - 1}):
            if not 0 < less < n:
                continue
            args = dict(kernel.args)
            for name, a in arrays.items():
                args[name] = a[tuple(slice(0, less) if s == n else slice(None) for s in a.shape)].copy()
            for everywhere in (True, False):
                tree = ast.parse(kernel.text)
                roots = [tree] if everywhere else [p.annotation for p in
                                                   _kernel_function(tree).args.args if p.annotation]
                for root in roots:
                    for node in ast.walk(root):
                        if isinstance(node, ast.Constant) and node.value == n and \
                                node.value.__class__ is int:
                            node.value = less
                made = _edited(kernel, tree)
                made.args = args
                yield made
    # One axis of one tensor, where its annotation says the size itself.
    tree = ast.parse(kernel.text)
    for k, p in enumerate(_kernel_function(tree).args.args):
        a = arrays.get(p.arg)
        if a is None:
            continue
        for axis, n in enumerate(a.shape):
            for less in (1, n // 2, n - 1):
                if not 0 < less < n:
                    continue
                made = copy.deepcopy(tree)
                dims = _dims(_kernel_function(made).args.args[k].annotation)
                if dims and axis < len(dims) and isinstance(dims[axis], ast.Constant):
                    dims[axis].value = less
                    smaller = _edited(kernel, made)
                    smaller.args = dict(kernel.args)
                    smaller.args[p.arg] = np.take(a, range(less), axis).copy() if \
                        a.dtype != np.dtype("V2") else \
                        np.take(a.view(np.uint16), range(less), axis).copy().view("V2")
                    yield smaller


def _dims(annotation):
    if not isinstance(annotation, ast.Subscript):
        return None
    s = annotation.slice
    return s.elts if isinstance(s, ast.Tuple) else [s]


def _values(kernel):
    for name, a in kernel.args.items():
        if not isinstance(a, np.ndarray):
            for value in (0, 1, 2):
                if a.__class__ is not bool and value < abs(a):
                    yield Kernel(kernel.text, {**kernel.args, name: type(a)(value)}, kernel.family)
            continue
        if not a.size:
            continue
        dtype = dtype_name(a)
        x = numbers(a)
        options = [np.zeros(a.shape), np.ones(a.shape), np.arange(a.size).reshape(a.shape) % 100]
        if a.size <= 16:
            for at in np.ndindex(*a.shape):
                if x[at] != 0:
                    less = x.copy()
                    less[at] = 0
                    options.append(less)
        for option in options:
            made = to_array(option, dtype)
            if made.tobytes() != a.tobytes():
                yield Kernel(kernel.text, {**kernel.args, name: made}, kernel.family)
