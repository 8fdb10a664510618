"""One kernel text on the interpreter, the simulator and the host, with one kind of answer."""

import os
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PYASC_BUILD_DIR", ROOT / "build" / "release"))
sys.path.insert(0, str(BUILD / "python"))

import pyasc as asc  # noqa: E402
from pyasc import _arrays, _capture, _service, interpret  # noqa: E402
from pyasc.v1 import compile_pb2, execution_pb2  # noqa: E402

DRIVERS = ("interpreter", "sim", "host")
HEAD = "import pyasc as asc\n\n\n@asc.kernel\n"
INT64, FLOAT32, BOOL = 5, 12, 1
# Runs on the simulator are watched: a race, a wrong flag, bytes that nobody wrote are errors of the
# compiler here, found even where the answer happens to be right.
SANITIZE = os.environ.get("PYASC_SANITIZE", "1") != "0"


class Wrong(Exception):
    """The kernel was refused (`compile`), failed (`run`), or the compiler did (`failed`), with the
    first diagnostic."""

    def __init__(self, kind, diagnostics):
        first = diagnostics[0]
        super().__init__(f"{kind}: {first.range.line}: {first.message} [{first.code}]")
        self.kind, self.code, self.message = kind, first.code, first.message
        self.line = first.range.line


def kernel(parameters, body, name="k", before="", result=""):
    """The text of a kernel; `body` is indented by four spaces already."""
    arrow = f" -> {result}" if result else ""
    return f"{before}{HEAD}def {name}({parameters}){arrow}:\n{body.strip(chr(10))}\n"


def run(driver, source, args, server=None, **options):
    """Outputs by name: the arrays that the kernel writes, and its results. Raises Wrong."""
    # A number of NumPy is one of Python to a launch; the annotation gives it its type.
    args = {n: a.copy() if isinstance(a, np.ndarray) else a.item() if isinstance(a, np.generic) else a
            for n, a in args.items()}
    if driver == "interpreter":
        return _interpret(source, args, **options)
    return _serve(driver, source, args, server, **options)


def _interpret(source, args, **options):
    try:
        outcome = interpret.run_text(source, None, args, target="host", **options)
    except asc.CompileError as error:
        raise Wrong("compile", error.diagnostics) from None
    except asc.RunError as error:
        raise Wrong("run", error.diagnostics) from None
    return {**{n: args[n] for n in outcome.written}, **outcome.results}


def compile(target, source, args, server):
    """Only compiles. Raises Wrong."""
    service, start, _ = _start(target, source, args, server, False, "")
    reply = service.compile(start.compile, 120)
    if reply.outcome != compile_pb2.OUTCOME_OK:
        raise Wrong("compile", [d for d in reply.diagnostics if d.severity == 1])


def _start(target, source, args, server, debug, precision):
    service = _service.service(server)
    start = execution_pb2.RunStart()
    start.options.all_outputs = True
    start.options.sanitize = SANITIZE and target == "sim"
    request = start.compile
    request.target, request.request_id = _service.TARGETS[target], _service.request_id()
    request.options.debug, request.options.precision = debug, precision
    request.files.add(content=source.encode())
    chunked = {}
    for name, value in args.items():
        argument = request.arguments.add(name=name)
        if isinstance(value, np.ndarray):
            argument.tensor.dtype = _arrays.dtype_number(value.dtype, name)
            argument.tensor.shape.extend(value.shape)
            launch = start.arguments.add(name=name).tensor
            launch.type.CopyFrom(argument.tensor)
            data = _arrays.raw_bytes(value)
            if len(data) <= _arrays.INLINE_BYTES:
                launch.inline_data = data
            else:
                launch.chunked = True
                chunked[name] = data
        elif f"{name}: asc.constexpr" in source:
            _capture.set_scalar(argument.constexpr_value, value)
        else:
            argument.scalar = BOOL if isinstance(value, bool) else \
                INT64 if isinstance(value, int) else FLOAT32
            _capture.set_scalar(start.arguments.add(name=name).scalar, value)
    return service, start, chunked


def _serve(target, source, args, server, constexpr=(), debug=False, precision="", seconds=120):
    service, start, chunked = _start(target, source, args, server, debug, precision)
    got, done = service.run(start, chunked, seconds)
    assert not done.failure, done.failure
    if done.outcome == compile_pb2.OUTCOME_FAILED:
        raise Wrong("failed", list(done.diagnostics))
    if done.outcome != compile_pb2.OUTCOME_OK:
        # A run that reached its device has a report; stages are told of long ones only.
        kind = "run" if done.report.request_key else "compile"
        raise Wrong(kind, [d for d in done.diagnostics if d.severity == 1])
    return {name: _arrays.from_bytes(kind.dtype, tuple(kind.shape), data)[() if scalar else ...]
            for name, (kind, data, scalar) in got.items()}
