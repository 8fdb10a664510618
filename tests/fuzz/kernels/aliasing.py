"""One buffer for two parameters: where the compiler allows it, the kernel must give on one array what it
gives on two equal ones, since that is what drivers run."""

import itertools

import numpy as np

import execute
from kernel import Kernel, dtype_name, drivers, numbers
from pyasc import errors, interpret
from pyasc.interpret.run import Compiled
from pyasc.v1 import artifact_pb2, compile_pb2


def allowed(kernel, server):
    """The pairs of parameters that may be one buffer, by the launch contract for the host."""
    service, start, _ = drivers._start("host", kernel.text, kernel.args, server, False, "")
    reply = service.compile(start.compile, execute.SECONDS)
    if reply.outcome != compile_pb2.OUTCOME_OK:
        return []
    contract = artifact_pb2.Artifact.FromString(reply.artifact).launch
    names = [p.name for p in contract.parameters]
    return [(names[rule.first], names[rule.second]) for rule in contract.aliases
            if rule.same_buffer_allowed]


def alike(kernel):
    arrays = {n: a for n, a in kernel.args.items() if isinstance(a, np.ndarray) and a.size}
    return [(a, b) for a, b in itertools.combinations(arrays, 2)
            if arrays[a].shape == arrays[b].shape and dtype_name(arrays[a]) == dtype_name(arrays[b])]


def examine(kernel, server):
    """What is wrong when parameters share a buffer, as execute.examine gives it; and how many pairs were
    tried."""
    pairs = {frozenset(p) for p in alike(kernel)}
    if not pairs:
        return [], 0
    try:
        may = [p for p in allowed(kernel, server) if frozenset(p) in pairs]
    except (errors.ServiceError, AssertionError, ValueError):
        return [], 0  # what fails here failed when the kernel ran
    for first, second in may:
        args = {**kernel.args, second: kernel.args[first]}
        apart = execute.interpret(Kernel(kernel.text, args))
        if apart.error is not None:
            continue
        copies = {n: a.copy() if isinstance(a, np.ndarray) else a.item() if isinstance(a, np.generic)
                  else a for n, a in args.items()}
        copies[second] = copies[first]
        outcome = _on_one_buffer(kernel.text, copies)
        for name in (first, second):
            if name in outcome.written and not np.all(execute.equal(
                    numbers(copies[name]), numbers(apart.outputs[name]))):
                return [("aliasing", "host", f"{first} and {second} may be one buffer, and '{name}' is "
                         "another then")], len(may)
    return [], len(may)


def _on_one_buffer(text, args):
    check, Compiled.check_memory = Compiled.check_memory, lambda *_: None
    try:
        return interpret.run_text(text, None, args, target="host")
    finally:
        Compiled.check_memory = check
