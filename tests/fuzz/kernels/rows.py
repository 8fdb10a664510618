"""Calls of every row of the library's table, by the inputs that tests/language has for them, in places
where a call may stand: on views and expressions, in helpers and loops, twice in a sum."""

import re

import numpy as np

from terms import HALVES
from kernel import HEAD, Kernel
from library_cases import CASES
from test_library import DTYPES, ROWS, key, numbers

LARGEST = 700  # elements


def fits(case):
    return all(s is None or int(np.prod(s)) <= LARGEST for s, *_ in case.inputs.values()) and \
        not re.search(r"\d{4}", case.call)


class Row:
    def __init__(self, random):
        self.random = random

    def generate(self):
        r = self.random
        while True:
            row = r.choice(ROWS)
            cases = [c for c in CASES.get(key(row), ()) if fits(c)]
            if cases:
                break
        case = r.choice(cases)
        dtype = r.choice(case.dtypes or DTYPES[row["dtypes"]])
        if dtype == "float64" and r.random() < .7:
            dtype = "float32" if "float32" in (case.dtypes or DTYPES[row["dtypes"]]) else dtype
        rng = np.random.default_rng(r.getrandbits(64))
        args = {n: domain if shape is None else numbers(shape, domain, own[0] if own else dtype, rng)[0]
                for n, (shape, domain, *own) in case.inputs.items()}
        parameters = ", ".join(n if s[0] is not None else f"{n}: int" for n, s in case.inputs.items())
        if row["name"] == "dims":
            parameters = f"x: asc.{dtype}[N]"
        before = "import math\nimport numpy as np\n\nN = asc.dims('N')\n"
        if case.body:
            body = case.body.replace("DTYPE", f"asc.{dtype}")
            if r.random() < .3:
                body = self.again(body)
        else:
            before, body = self.placed(case, dtype, before)
        text = f"{HEAD}{before}\n\n@asc.kernel\ndef k({parameters}):\n{body}"
        return Kernel(text, args, "row")

    def again(self, body):
        """Under a condition that only the run decides."""
        if "return" in body or "dims" in body:
            return body
        lines = ["    for again in range(2):", "        if again > 0:"]
        return "\n".join(lines + ["        " + s for s in body.rstrip("\n").split("\n")]) + "\n"

    def placed(self, case, dtype, before):
        r = self.random
        call = case.call.replace("DTYPE", f"asc.{dtype}")
        tensors = [n for n, (s, *_) in case.inputs.items() if s is not None]
        first = []
        if tensors and r.random() < .45:
            name = r.choice(tensors)
            rank = len(case.inputs[name][0])
            how = r.choice(("[:]", ".copy()", "[::-1][::-1]", ".T.T", " + 0", "[None][0]", "[...]"))
            if how == " + 0" and (dtype == "bool" or dtype in HALVES) or rank == 0:
                how = "[...]" if rank == 0 else "[:]"
            made = f"{name}_1"
            first = [f"    {made} = {name}{how}"]
            call = re.sub(rf"\b{name}\b(?!\s*=[^=])", made, call)
        pick = r.random()
        if pick < .35:
            return before, "\n".join(first + [f"    return {call}"]) + "\n"
        if pick < .5 and "split" not in call and "topk" not in call:
            how = r.choice(("t, t", "t * 1", "-t", "t[...]", "asc.where(t > 0, t, t)", "t == t"))
            if how in ("-t", "t * 1", "t[...]") and dtype == "bool":
                how = "t, t"
            return before, "\n".join(first + [f"    t = {call}", f"    return {how}"]) + "\n"
        if pick < .7:
            names = sorted({n for n in re.findall(r"\b[a-z]\w*\b(?!\s*[=(.])", call)
                            if n in case.inputs or n.endswith("_1")} | {
                                n for n in re.findall(r"\b([a-z]\w*)\.", call)
                                if n in case.inputs or n.endswith("_1")})
            before += f"\n\ndef given({', '.join(names)}):\n    return {call}\n"
            return before, "\n".join(first + [f"    return given({', '.join(names)})"]) + "\n"
        if pick < .85 and "split" not in call and "topk" not in call and tensors:
            name = tensors[0]
            return before, "\n".join(first + [
                f"    t = {call}", f"    if len({name}) > {r.choice((0, 2, 100))}:",
                f"        t = {call}", "    return t"]) + "\n"
        return before, "\n".join(first + [f"    t = {call}", f"    u = {call}", "    return t, u"]) + "\n"
