"""Sums of products over every choice of axes, against NumPy: an axis may select from one operand
only, from all, or from none, and each of the forms must run all its loops."""

import itertools

import numpy as np
import pytest

import drivers

F = np.float32
SIZES = {"i": 5, "j": 3, "k": 4, "l": 2}


def subsets(letters, most):
    for count in range(1, most + 1):
        yield from itertools.combinations(letters, count)


def forms():
    """(axes of x, of y, of z, loops outermost first), sampled evenly and always the same ones."""
    random = np.random.default_rng(5)
    found = []
    for x, y, z in itertools.product(subsets("ijkl", 2), subsets("ijkl", 2), subsets("ijkl", 2)):
        axes = [tuple(random.permutation(part)) for part in (x, y, z)]
        loops = tuple(random.permutation(sorted(set(x + y + z))))
        found.append((*axes, loops))
    return found


def text(name, x, y, z, loops):
    lines = [f"    for {axis} in range({SIZES[axis]}):" for axis in loops]
    lines = ["    " * depth + line for depth, line in enumerate(lines)]
    lines.append("    " * (len(loops) + 1) +
                 f"{name}[{', '.join(z)}] += x[{', '.join(x)}] * y[{', '.join(y)}]")
    return "\n".join(lines) + "\n"


def shape(axes):
    return tuple(SIZES[a] for a in axes)


def annotation(axes):
    return f"asc.float32[{', '.join(str(s) for s in shape(axes))}]"


def expected(x, y, z, loops, a, b, c):
    missing = int(np.prod([SIZES[n] for n in loops if n not in x + y + z], dtype=int))
    inner = [n for n in z if n in x + y]
    total = np.einsum(f"{''.join(x)},{''.join(y)}->{''.join(inner)}", a, b) * missing
    for position, n in enumerate(z):
        if n not in inner:
            total = np.expand_dims(total, position)
    return c + total


@pytest.mark.parametrize("driver", ["sim", "host"])
@pytest.mark.parametrize("part", range(8))
def test_a_sum_of_products_runs_every_loop(driver, part, server):
    random = np.random.default_rng(part)
    for x, y, z, loops in forms()[part::80 if driver == "host" else 24]:
        a, b, c = (random.integers(-4, 5, shape(axes)).astype(F) for axes in (x, y, z))
        source = drivers.kernel(f"x: {annotation(x)}, y: {annotation(y)}, z: {annotation(z)}",
                                text("z", x, y, z, loops))
        got = drivers.run(driver, source, {"x": a, "y": b, "z": c}, server)["z"]
        np.testing.assert_array_equal(got, expected(x, y, z, loops, a, b, c), err_msg=source)


@pytest.mark.parametrize("driver", ["sim", "host"])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shapes", [((4, 1), (4, 3)), ((1, 3), (4, 3)), ((3,), (4, 3)),
                                    ((4, 1), (1, 3)), ((4, 3), (4, 3)), ((1, 1), (4, 3))])
def test_a_sum_of_a_product_that_broadcasts(driver, shapes, axis, server):
    a, b = (np.arange(1, np.prod(s) + 1).reshape(s).astype(F) for s in shapes)
    source = drivers.kernel("x: asc.tensor, y: asc.tensor", f"    return asc.sum(x * y, axis={axis})")
    got = drivers.run(driver, source, {"x": a, "y": b}, server)["return"]
    np.testing.assert_array_equal(got, (a * b).sum(axis=axis))
