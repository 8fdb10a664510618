"""`asc.kernel`: a Python function as a kernel that is compiled and launched by a service."""

import ast
import functools
import inspect
import os
import threading
import time
import typing
import warnings

import numpy as np

from . import _arrays, _capture, _lazy, diagnostics, profiler
from .errors import CompileError, CompileWarning, RunError, ServiceError
from .types import DType, TensorType

# The reference interpreter works where gRPC and the generated modules are missing.
_service = _lazy.module("._service")
artifact_pb2 = _lazy.module(".v1.artifact_pb2")
compile_pb2 = _lazy.module(".v1.compile_pb2")
execution_pb2 = _lazy.module(".v1.execution_pb2")

_DEFAULT_TIMEOUT = 600.0
_TARGETS = ("sim", "host", "ascend")
_INT64, _FLOAT32, _BOOL = 5, 12, 1


class Compiled:
    """A kernel compiled for one signature: `artifact` is the pyasc.v1.Artifact, `report` its
    compile report, `warnings` the compiler's warnings as text."""

    def __init__(self, artifact, reply, warnings_text):
        self.artifact = artifact
        self.report = artifact.report
        self.warnings = warnings_text
        self.request_key = reply.request_key
        self.cache = compile_pb2.CacheResult.Name(reply.cache).removeprefix("CACHE_RESULT_").lower()
        self._bytes = reply.artifact
        contract = artifact.launch
        written = (artifact_pb2.ACCESS_WRITE, artifact_pb2.ACCESS_READ_WRITE)
        self.written = [p.name for p in contract.parameters
                        if p.WhichOneof("kind") == "tensor" and p.access in written]
        self.results = [r.name for r in contract.results]
        self.parameters = [p.name for p in contract.parameters]
        self.may_share = {frozenset((self.parameters[rule.first], self.parameters[rule.second]))
                          for rule in contract.aliases if rule.same_buffer_allowed}

    def save(self, path):
        """Writes the artifact record, as `pyasc compile -o` does."""
        import hashlib
        record = artifact_pb2.ArtifactRecord(schema_version=1, artifact=self._bytes,
                                             sha256=hashlib.sha256(self._bytes).digest())
        with open(path, "wb") as file:
            file.write(record.SerializeToString())


class PrintedLine(typing.NamedTuple):
    """A line that a kernel printed, the line of its source, and the core that printed it."""
    text: str
    line: int
    core: int


class Kernel:
    """What @asc.kernel makes of a function. Calling it launches the kernel on NumPy arrays.

    `prints` holds what the last call printed, also when that call failed: PrintedLines, in order
    for each core."""

    def __init__(self, function, target=None, soc=None, server=None, precision="", debug=False,
                 timeout=None, sanitize=None):
        if not inspect.isfunction(function):
            raise TypeError(f"@asc.kernel decorates a function, not {function!r}")
        if target is not None and target not in _TARGETS:
            raise ValueError(f"target is 'sim', 'host' or 'ascend', not {target!r}")
        if precision not in ("", "mixed", "auto"):
            raise ValueError(f"precision is 'mixed' or 'auto', not {precision!r}")
        functools.update_wrapper(self, function)
        self.__pyasc_function__ = function
        self._options = dict(target=target, soc=soc, server=server, precision=precision,
                             debug=debug, timeout=timeout, sanitize=sanitize)
        self._signature = inspect.signature(function)
        # Now, since the file may change while the program runs.
        self._source = _capture.SOURCES(function)
        self._constexpr = {argument.arg for argument in ast.walk(self._source.node.args)
                           if isinstance(argument, ast.arg) and argument.annotation is not None
                           and any(getattr(n, "id", getattr(n, "attr", "")) == "constexpr"
                                   for n in ast.walk(argument.annotation))}
        self.prints = []
        self._compiled = {}
        self._lock = threading.Lock()

    def options(self, **changes):
        """The same kernel with other options: `kernel.options(target="host")(x, y)`."""
        unknown = set(changes) - set(self._options)
        if unknown:
            raise TypeError(f"unknown options {sorted(unknown)}; there are {sorted(self._options)}")
        return Kernel(self.__pyasc_function__, **{**self._options, **changes})

    def __repr__(self):
        return f"<asc.kernel {self.__name__}>"

    def __get__(self, instance, owner=None):
        if instance is not None:
            raise TypeError(f"kernel '{self.__name__}' is no method: define it outside of classes")
        return self

    def compile(self, *args, **kwargs):
        """Compiles without running. Arguments are arrays, numbers, or types: asc.float32[8, 8]."""
        arguments = self._bind(args, kwargs)
        compiled, _ = self._compile(arguments)
        return compiled

    def __call__(self, *args, **kwargs):
        arguments = self._bind(args, kwargs)
        for name, value in arguments.items():
            if isinstance(value, (TensorType, DType)):
                raise TypeError(f"argument '{name}' is a type; a launch takes arrays and numbers")
        how = os.environ.get("PYASC_INTERPRET")
        if how not in (None, "", "0"):
            return self._interpret(arguments, how)
        begin = time.monotonic()
        compiled, capture = self._compile(arguments)
        self._check_outputs(arguments, compiled)
        active = profiler.active()
        start, chunked = self._start(arguments, capture, compiled, bool(active))
        on_print = self._collect_prints()
        outputs, done = self._service().run(start, chunked, self._timeout(), on_print)
        self._check_done(done, capture)
        missing = set(start.options.outputs) - set(outputs)
        if missing:
            raise ServiceError(f"the service did not send {sorted(missing)}")
        for name in compiled.written:
            self._write_back(name, arguments[name], outputs[name])
        for collector in active:
            collector.add(self.__name__, arguments, time.monotonic() - begin, done.report,
                          capture)
        return self._returned(compiled, outputs)

    def profile(self, samples=20, seconds=5, hot=False):
        """Measures with repeated launches: `k.profile(samples=50)(x, y)` takes what a launch takes,
        leaves the arrays as they are, and returns the pyasc.v1.ProfileReport. At most `samples`
        launches and `seconds`; `hot` leaves the caches warm between them."""
        def measure(*args, **kwargs):
            arguments = self._bind(args, kwargs)
            compiled, capture = self._compile(arguments)
            start, chunked = self._start(arguments, capture, compiled, True)
            del start.options.outputs[:]
            request = execution_pb2.ProfileRequest(run=start, max_samples=samples,
                                                   max_seconds=seconds, hot=hot)
            done = self._service().profile(request, chunked, self._timeout(),
                                           self._collect_prints())
            self._check_done(done, capture)
            return done.report
        return measure

    def _collect_prints(self):
        prints = self.prints = []

        def on_print(line):
            prints.append(PrintedLine(line.text, line.range.line, line.core))
            print(line.text, flush=True)
        return on_print

    def _check_done(self, done, capture):
        if done.failure:
            raise ServiceError(f"the run of '{self.__name__}' failed: {done.failure}")
        if done.outcome != compile_pb2.OUTCOME_OK:
            capture.restore_columns(done.diagnostics)
            text = diagnostics.render(done.diagnostics, capture) or "the run failed"
            if done.outcome != compile_pb2.OUTCOME_REJECTED:
                raise ServiceError(text)
            raise RunError("\n" + text, done.diagnostics)

    def _interpret(self, arguments, how):
        """Runs in this process, by the reference interpreter; `how` is PYASC_INTERPRET's value."""
        from . import interpret
        target, _ = self._environment()
        shuffle = os.environ.get("PYASC_INTERPRET_SHUFFLE")
        prints = self.prints = []

        def echo(text, line):
            prints.append(PrintedLine(text, line, 0))
            print(text, flush=True)

        outcome = interpret.run_capture(
            _capture.Capture(self._source, _capture.SOURCES), arguments, target=target,
            debug=self._options["debug"] or how == "debug", precision=self._options["precision"],
            shuffle=int(shuffle) if shuffle else None, echo=echo)
        return outcome.value

    # Compiling.

    def _bind(self, args, kwargs):
        """Arguments by name. Defaults are the compiler's business: it sees them in the text."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        arguments = {}
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise TypeError(f"{self.__name__}: kernels have no *{name}")
            arguments[name] = self._checked(name, value)
        return arguments

    def _checked(self, name, value):
        if isinstance(value, np.ndarray):
            _arrays.dtype_number(value.dtype, name)
            return value
        if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            plain = _capture._plain(value)
            if isinstance(plain, int) and not -2**63 <= plain < 2**63:
                raise OverflowError(f"argument '{name}' = {plain} does not fit into 64 bits")
            return plain
        if isinstance(value, (TensorType, DType)):
            if isinstance(value, TensorType) and not all(isinstance(e, int) for e in value.shape):
                raise TypeError(f"argument '{name}' = {value!r} has symbolic extents; give numbers")
            return value
        raise TypeError(f"argument '{name}' is a {type(value).__name__}; kernels take NumPy arrays "
                        "and numbers")

    def _arguments_key(self, arguments):
        key = []
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                key.append((name, value.dtype.str, value.dtype.name, value.shape))
            elif isinstance(value, (TensorType, DType)):
                key.append((name, repr(value)))
            elif name in self._constexpr:
                key.append((name, type(value).__name__, repr(value)))
            else:
                key.append((name, type(value).__name__))
        return tuple(key)

    def _environment(self):
        target = self._options["target"] or os.environ.get("PYASC_TARGET") or "sim"
        if target not in _TARGETS:
            raise ValueError(f"PYASC_TARGET is sim, host or ascend, not '{target}'")
        return target, self._options["soc"] or os.environ.get("PYASC_SOC", "")

    def _service(self):
        return _service.service(self._options["server"])

    def _timeout(self):
        return float(self._options["timeout"] or os.environ.get("PYASC_TIMEOUT")
                     or _DEFAULT_TIMEOUT)

    def _request(self, capture, arguments):
        target, soc = self._environment()
        request = compile_pb2.CompileRequest(target=_service.TARGETS[target], soc=soc,
                                             request_id=_service.request_id())
        request.options.precision = self._options["precision"]
        request.options.debug = self._options["debug"]
        capture.fill(request)
        for name, value in arguments.items():
            argument = request.arguments.add(name=name)
            if isinstance(value, np.ndarray):
                argument.tensor.dtype = _arrays.dtype_number(value.dtype, name)
                argument.tensor.shape.extend(value.shape)
            elif isinstance(value, TensorType):
                argument.tensor.dtype = value.dtype.number
                argument.tensor.shape.extend(value.shape)
            elif isinstance(value, DType):
                argument.scalar = value.number
            elif name in self._constexpr:
                _capture.set_scalar(argument.constexpr_value, value)
            else:
                argument.scalar = (_BOOL if isinstance(value, bool)
                                   else _INT64 if isinstance(value, int) else _FLOAT32)
        return request

    def _compile(self, arguments):
        capture = _capture.Capture(self._source, _capture.SOURCES)
        service = self._service()
        key = (id(service), self._environment(), capture.key, self._arguments_key(arguments))
        with self._lock:
            compiled = self._compiled.get(key)
        if compiled is not None:
            return compiled, capture
        reply = service.compile(self._request(capture, arguments), self._timeout())
        capture.restore_columns(reply.diagnostics)
        text = diagnostics.render(reply.diagnostics, capture)
        if reply.outcome == compile_pb2.OUTCOME_REJECTED:
            raise CompileError("\n" + text, reply.diagnostics)
        if reply.outcome != compile_pb2.OUTCOME_OK:
            raise ServiceError(text or "the compiler failed and did not say why")
        compiled = Compiled(artifact_pb2.Artifact.FromString(reply.artifact), reply, text)
        if text:
            warnings.warn(text, CompileWarning, stacklevel=3)
        with self._lock:
            self._compiled[key] = compiled
        return compiled, capture

    # Launching.

    def _start(self, arguments, capture, compiled, profile):
        start = execution_pb2.RunStart()
        start.compile.CopyFrom(self._request(capture, arguments))
        start.options.outputs.extend(compiled.written + compiled.results)
        start.options.profile = profile
        start.options.sanitize = self._sanitizes()
        chunked = {}
        for name, value in arguments.items():
            if name in self._constexpr:
                continue
            argument = start.arguments.add(name=name)
            if not isinstance(value, np.ndarray):
                _capture.set_scalar(argument.scalar, value)
                continue
            argument.tensor.type.dtype = _arrays.dtype_number(value.dtype, name)
            argument.tensor.type.shape.extend(value.shape)
            data = _arrays.raw_bytes(value)
            if len(data) <= _arrays.INLINE_BYTES:
                argument.tensor.inline_data = data
            else:
                argument.tensor.chunked = True
                chunked[name] = data
        return start, chunked

    def _sanitizes(self):
        if self._options["sanitize"] is not None:
            return bool(self._options["sanitize"])
        return os.environ.get("PYASC_SANITIZE", "") not in ("", "0")

    def _check_outputs(self, arguments, compiled):
        for name in compiled.written:
            array = arguments.get(name)
            if not isinstance(array, np.ndarray):
                raise ServiceError(f"the kernel writes '{name}', which is no array of this call")
            if not array.flags.writeable:
                raise ValueError(f"the kernel writes argument '{name}', which is read-only; pass a "
                                 "copy")
            if _arrays.has_overlapping_elements(array):
                raise ValueError(f"the kernel writes argument '{name}', in which several indices are "
                                 "one element; pass a copy")
            for other, value in arguments.items():
                if other == name or not isinstance(value, np.ndarray):
                    continue
                if not _shares_memory(array, value):
                    continue
                if frozenset((name, other)) in compiled.may_share and _same_buffer(array, value):
                    continue
                raise ValueError(f"the kernel writes argument '{name}', which shares memory with "
                                 f"'{other}'; pass a copy")

    @staticmethod
    def _write_back(name, array, output):
        kind, data, _ = output
        if list(kind.shape) != list(array.shape) or \
                kind.dtype != _arrays.dtype_number(array.dtype, name):
            raise ServiceError(f"the service sent '{name}' with another type than it was given")
        _arrays.write_back(array, data)

    @staticmethod
    def _returned(compiled, outputs):
        values = {}
        for name in compiled.results:
            kind, data, is_scalar = outputs[name]
            array = _arrays.from_bytes(kind.dtype, tuple(kind.shape), data)
            values[name] = array[()] if is_scalar else array
        if not values:
            return None
        if list(values) == ["return"]:
            return values["return"]
        return tuple(values[f"return.{i}"] for i in range(len(values)))


_TooHardError = getattr(np, "exceptions", np).TooHardError


def _shares_memory(a, b):
    try:
        return np.shares_memory(a, b, max_work=100_000)
    except _TooHardError:
        # Too intricate to tell: better a refusal than a wrong result.
        return True


def _same_buffer(a, b):
    return (a.__array_interface__["data"] == b.__array_interface__["data"]
            and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


def kernel(function=None, **options):
    """Makes a kernel of a function: `@asc.kernel`, or with options `@asc.kernel(target="host")`.

    target: "sim" (default), "host" or "ascend"; else PYASC_TARGET.
    soc: the chip, for sim and ascend; else PYASC_SOC.
    server: "unix:PATH", "HOST:PORT" or "local"; else PYASC_SERVER; else the user's own daemon.
    precision: "mixed" or "auto"; by default the promotion rules.
    debug: asc.print prints, asserts are checked; without it both are left out. For "ascend" also
        bounds checks, which the others always make.
    timeout: seconds that a call may take; else PYASC_TIMEOUT; else 600.
    sanitize: on sim, report races, wrong flags, bytes out of bounds or never written as a RunError
        (docs/sanitizer.md); else PYASC_SANITIZE.

    Of a kernel, `asc.kernel(f, target="host")` makes another with these options changed, as
    `f.options(target="host")` does; `f` stays as it is.
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    if isinstance(function, Kernel):
        return function.options(**options)
    return Kernel(function, **options)
