"""Compiles Ascend C text with the twin and launches it as the launch contract says."""

import ctypes
import subprocess
import threading
from pathlib import Path

import numpy as np

INCLUDE = Path(__file__).resolve().parent / "include"
COMPILER = "clang++-19"

DTYPES = {"DTYPE_BOOL": np.uint8, "DTYPE_INT8": np.int8, "DTYPE_INT16": np.int16,
          "DTYPE_INT32": np.int32, "DTYPE_INT64": np.int64, "DTYPE_UINT8": np.uint8,
          "DTYPE_UINT16": np.uint16, "DTYPE_UINT32": np.uint32, "DTYPE_UINT64": np.uint64,
          "DTYPE_FLOAT16": np.float16, "DTYPE_FLOAT32": np.float32, "DTYPE_FLOAT64": np.float64}

CONTROL = """
extern "C" void twin_start(int64_t block, int64_t blocks, bool cube) {
  AscendC::twin::core().reset();
  AscendC::twin::core().cube = cube;
  AscendC::twin::core().block = block;
  AscendC::twin::core().blocks = blocks;
}
extern "C" void twin_end() { AscendC::twin::end(); }
extern "C" void twin_end_group() { AscendC::twin::end_group(); }
"""


def build(text, folder):
    """The shared library of a text. Raises with the compiler's words when it does not compile."""
    source = Path(folder) / "kernel.cpp"
    library = Path(folder) / "kernel.so"
    source.write_text(text + CONTROL)
    done = subprocess.run([COMPILER, "-std=c++20", "-O2", "-shared", "-fPIC", "-Wall", "-Werror",
                           "-Wno-unused-variable", "-Wno-unused-function", "-ffp-contract=off", "-pthread",
                           f"-I{INCLUDE}", str(source), "-o", str(library)],
                          capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"the text does not compile:\n{done.stderr}")
    return ctypes.CDLL(str(library))


def _constant(expr):
    assert len(expr.steps) == 1, "shapes are specialised: every launch expression is a constant"
    return expr.steps[0].value


def _launches(contract):
    """(kernel, loop variable) in the order of the launches."""
    loops = {loop.first_phase: loop for loop in contract.loops}
    first = 0
    while first < len(contract.phases):
        loop = loops.get(first)
        count, rounds = (loop.phases, _constant(loop.rounds)) if loop else (1, 1)
        if not loop:
            while (first + count < len(contract.phases) and contract.phases[first].group and
                   contract.phases[first + count].group == contract.phases[first].group):
                count += 1
        for number in range(rounds):
            for kernel in _kernels(contract.phases[first:first + count]):
                yield kernel, loop.start + number * loop.step if loop else 0
        first += count


def _kernels(phases):
    """Phases of one group are one kernel."""
    kernels = []
    for phase in phases:
        if phase.group and kernels and kernels[-1][0].group == phase.group:
            kernels[-1].append(phase)
        else:
            kernels.append([phase])
    return kernels


def launch(library, contract, dtype_name, arrays, scalars):
    """Runs every phase. `arrays` by parameter name are changed in place; the results come back by
    name. `dtype_name(number)` gives the enumerator's name."""
    results = {}
    for result in contract.results:
        shape = [_constant(e) for e in result.shape]
        results[result.name] = np.zeros(shape, DTYPES[dtype_name(result.dtype)])
    workspaces = [np.zeros(_constant(w.bytes), np.uint8) for w in contract.workspaces]
    # A record of 64 bytes a block.
    most_blocks = max([_constant(p.blocks) for p in contract.phases], default=1)
    errors = np.zeros((most_blocks, 8), np.int64)
    pointer = lambda array: ctypes.c_void_p(array.ctypes.data)  # noqa: E731
    for kernel, variable in _launches(contract):
        entry = getattr(library, kernel[0].entry)
        entry.restype = None
        actuals, seen = [], set()
        for argument in (a for phase in kernel for a in phase.arguments):
            if argument.SerializeToString() in seen:
                continue
            seen.add(argument.SerializeToString())
            kind = argument.WhichOneof("kind")
            if kind == "parameter":
                parameter = contract.parameters[argument.parameter]
                if parameter.HasField("tensor"):
                    actuals.append(pointer(arrays[parameter.name]))
                else:
                    ctype = np.ctypeslib.as_ctypes_type(DTYPES[dtype_name(parameter.scalar)])
                    actuals.append(ctype(scalars[parameter.name]))
            elif kind == "result":
                actuals.append(pointer(results[contract.results[argument.result].name]))
            elif kind == "loop_variable":
                actuals.append(ctypes.c_int64(variable))
            elif kind == "workspace":
                actuals.append(pointer(workspaces[argument.workspace]))
            else:
                actuals.append(pointer(errors))

        def run(block, blocks, cube):
            library.twin_start(ctypes.c_int64(block), ctypes.c_int64(blocks), ctypes.c_bool(cube))
            entry(*actuals)
            library.twin_end()

        if len(kernel) == 1:
            blocks = _constant(kernel[0].blocks)
            for block in range(blocks):
                run(block, blocks, False)
            continue
        groups = min(_constant(phase.blocks) for phase in kernel)
        for group in range(groups):
            cores = [threading.Thread(target=run, args=core) for core in
                     ((group, groups, True), (2 * group, groups, False),
                      (2 * group + 1, groups, False))]
            for core in cores:
                core.start()
            for core in cores:
                core.join()
            library.twin_end_group()
    assert not errors.any(), f"the kernel reported an error: {errors[errors[:, 0] != 0][0]}"
    return results
