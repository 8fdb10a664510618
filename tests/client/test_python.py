"""The Python package against a fake service, which runs the text that it was sent with Python."""

import math
import multiprocessing
import os
import sys
import textwrap
import threading
import time
import types

import numpy as np
import pytest
from conftest import BUILD, fake_worker

import pyasc as asc
from pyasc import _service
from pyasc.v1 import (artifact_pb2, compile_pb2, diagnostics_pb2, execution_pb2, report_pb2,
                      tensor_pb2)

import helper_module
from helper_module import scaled as scaled_alias
from helper_module import twice

TILE = 8
SCALE = np.float32(0.5)
TABLE = (1, 2, (3.5, True))
HOST_STATE = {"open": 1}
N, M = asc.dims("N M")


@pytest.fixture(autouse=True)
def fake(home, monkeypatch):
    """A service at PYASC_SERVER that executes what it is sent."""
    import fake_service
    with fake_service.FakeService() as service:
        service.written = ["y"]
        service.results = []
        service.scalar_results = True
        service.compile = lambda request: compile_reply(service, request)
        service.run = lambda start, values: execute(service, start, values)
        monkeypatch.setenv("PYASC_SERVER", service.address)
        yield service
        _service.close_all()


def compile_reply(service, request):
    artifact = artifact_pb2.Artifact(schema_version=1, kernel=request.kernel)
    for argument in request.arguments:
        if argument.WhichOneof("kind") == "constexpr_value":
            continue
        parameter = artifact.launch.parameters.add(name=argument.name)
        if argument.WhichOneof("kind") == "tensor":
            parameter.tensor.CopyFrom(argument.tensor)
            parameter.access = (artifact_pb2.ACCESS_READ_WRITE if argument.name in service.written
                                else artifact_pb2.ACCESS_READ)
        else:
            parameter.scalar = argument.scalar
    for name in service.results:
        artifact.launch.results.add(name=name, is_scalar=service.scalar_results)
    return compile_pb2.CompileReply(outcome=compile_pb2.OUTCOME_OK,
                                    artifact=artifact.SerializeToString())


class _Asc(types.ModuleType):
    """As much of the kernel language as Python's own loops give."""

    def __init__(self):
        super().__init__("pyasc")
        self.kernel = lambda f: f
        self.parallel_for = self.range = range
        self.exp, self.sqrt = np.exp, np.sqrt
        for dtype in ("float32", "int32", "tensor", "constexpr"):
            setattr(self, dtype, getattr(asc, dtype))


def execute(service, start, values):
    """Runs the files of the request as a compiler would see them: no other name is there."""
    shim = _Asc()
    future = "from __future__ import annotations\n"
    scopes = [{"asc": shim} for _ in start.compile.files]
    user_modules = ("helper_module", "user_module", "test_python")
    saved = {name: sys.modules.get(name) for name in (*user_modules, "pyasc")}
    sys.modules["pyasc"] = shim
    try:
        # The main file last: it imports names of the others.
        for i in reversed(range(len(scopes))):
            everything = types.ModuleType("files")
            for scope in scopes[i + 1:]:
                vars(everything).update(scope)
            for constant in start.compile.constants:
                if constant.file != i:
                    setattr(everything, constant.name, scalar(constant.value))
            for name in user_modules:
                sys.modules[name] = everything
            exec(future + start.compile.files[i].content.decode(), scopes[i])
            for constant in start.compile.constants:
                if constant.file == i:
                    scopes[i][constant.name] = scalar(constant.value)
    finally:
        for name, module in saved.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    for argument in start.compile.arguments:
        if argument.WhichOneof("kind") == "constexpr_value":
            values[argument.name] = scalar(argument.constexpr_value)
    returned = scopes[0][start.compile.kernel](**values)
    outputs = {name: values[name] for name in start.options.outputs if name in values}
    if "return" in start.options.outputs:
        outputs["return"] = returned
    for i, name in enumerate(n for n in service.results if n.startswith("return.")):
        outputs[name] = returned[i]
    done = execution_pb2.RunDone(outcome=compile_pb2.OUTCOME_OK)
    if start.options.profile:
        done.report.kernel_us = 12.5
        done.report.verdict.bound_by = "memory"
        done.report.verdict.summary = "memory bound: HBM reads fill the time"
        done.report.launch.driver = "sim"
        done.report.trust.source = "simulated"
        done.report.verdict.advice.add(text="use larger tiles",
                                       range=diagnostics_pb2.SourceRange(line=3))
    return outputs, done


def scalar(message):
    return getattr(message, message.WhichOneof("value"))


def line_of(text):
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip() == text)


@asc.kernel
def saxpy(alpha: float, x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(x.shape[0]):
        y[i] += alpha * x[i]


def test_a_launch_writes_its_outputs_in_place():
    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    assert saxpy(2.0, x, y) is None
    assert y.tolist() == [1, 3, 5, 7, 9]


def test_large_arrays_come_through(fake):
    @asc.kernel
    def double(x, y):
        y[...] = x + x
    x, y = np.arange(700_000, dtype=np.float32), np.zeros(700_000, np.float32)
    double(x, y)
    assert np.array_equal(y, x * 2)


@pytest.mark.parametrize("view", [
    lambda a: a[::2], lambda a: a[::-1], lambda a: a[1:, 2:], lambda a: a.T,
    lambda a: np.asfortranarray(a), lambda a: a[:, 3], lambda a: a[:0], lambda a: a[2, 3, ...]])
def test_outputs_are_written_through_the_strides_and_nowhere_else(view):
    @asc.kernel
    def fill(y):
        y[...] = np.arange(y.size).reshape(y.shape)
    base = np.full((8, 10), -1.0)
    expected = base.copy(order="K")
    y, want = view(base), view(expected)
    want[...] = np.arange(want.size).reshape(want.shape)
    fill(y)
    assert np.array_equal(y, want) and np.array_equal(base, expected)


def test_returned_values_are_arrays_scalars_and_tuples(fake):
    fake.written = []

    @asc.kernel
    def total(x):
        return np.float32(x.sum())

    @asc.kernel
    def both(x):
        return x + 1, x.astype(np.int32)
    x = np.ones((2, 3), np.float32)
    fake.results = ["return"]
    assert total(x) == 6.0 and isinstance(total(x), np.float32)
    fake.results, fake.scalar_results = ["return.0", "return.1"], False
    first, second = both(x)
    assert first.tolist() == [[2, 2, 2]] * 2 and second.dtype == np.int32
    first[0, 0] = 5  # it is the caller's


def test_positions_are_those_of_the_file(fake):
    def reject(request):
        assert saxpy.__wrapped__.__code__.co_filename == __file__
        lines = request.files[0].content.decode().splitlines()
        where = next(i for i, line in enumerate(lines) if "alpha * x[i]" in line)
        return compile_pb2.CompileReply(outcome=compile_pb2.OUTCOME_REJECTED, diagnostics=[
            diagnostics_pb2.Diagnostic(
                severity=1, message="wrong", code="oops", source_line=lines[where],
                range=diagnostics_pb2.SourceRange(
                    line=request.files[0].first_line + where, column=17, end_column=22,
                    end_line=request.files[0].first_line + where))])
    fake.compile = reject
    with pytest.raises(asc.CompileError) as error:
        saxpy(2.0, np.ones(3, np.float32), np.ones(3, np.float32))
    line = line_of("        y[i] += alpha * x[i]")
    assert f"{__file__}:{line}:17: error: wrong [oops]" in str(error.value)
    assert "      |                 ^~~~~" in str(error.value)
    assert error.value.diagnostics[0].range.line == line


def test_positions_of_an_indented_kernel_are_those_of_the_file_too(fake):
    @asc.kernel(debug=True)
    def inner(y):
        y[0] = undefined_name

    def reject(request):
        assert b"\n    y[0] = undefined_name" in request.files[0].content
        return compile_pb2.CompileReply(outcome=compile_pb2.OUTCOME_REJECTED, diagnostics=[
            diagnostics_pb2.Diagnostic(severity=1, message="unknown",
                                       source_line="    y[0] = undefined_name",
                                       range=diagnostics_pb2.SourceRange(
                                           line=request.files[0].first_line + 2, column=12,
                                           end_line=request.files[0].first_line + 2,
                                           end_column=26))])
    fake.compile = reject
    with pytest.raises(asc.CompileError) as error:
        inner(np.ones(1))
    assert fake.compile_requests[0].options.debug
    line = line_of("        y[0] = undefined_name")
    assert f"{__file__}:{line}:16: error: unknown" in str(error.value)
    assert f"{line:5} |         y[0] = undefined_name" in str(error.value)


def local_helper(v):
    return v * TILE


def test_helpers_and_constants_travel_also_across_modules(fake, monkeypatch):
    @asc.kernel
    def uses(x, y):
        y[0] = local_helper(x[0]) + SCALE
        y[1] = twice(x[0]) + scaled_alias(x[0]) + helper_module.OFFSET
        y[2] = helper_module.scaled(1) + math.pi + np.pi + TABLE[1]
        y[3] = asc.exp(x[0])
    x, y = np.array([3.0]), np.zeros(4)
    uses(x, y)
    assert np.allclose(y, [3 * 8 + .5, 6 + 3 * 10 + 7, 10 + 2 * math.pi + 2, math.exp(3)])
    texts = [f.content.decode() for f in fake.run_starts[0].compile.files]
    assert len(texts) == 2
    # The whole script is never sent.
    assert "test_helpers" not in texts[0] and "UNUSED" not in texts[1]
    assert fake.run_starts[0].compile.files[0].first_line == line_of("def local_helper(v):")


def test_the_current_value_of_a_constant_counts_and_compiles_anew(fake, monkeypatch):
    @asc.kernel
    def uses(y):
        y[0] = local_helper(1)
    y = np.zeros(1)
    uses(y)
    assert y[0] == 8
    monkeypatch.setattr(sys.modules[__name__], "TILE", 16)
    uses(y)
    assert y[0] == 16
    uses(y)
    assert len(fake.compile_requests) == 2
    constants = {c.name: c.value.int_value for c in fake.compile_requests[1].constants}
    assert constants == {"TILE": 16}


def test_closures_are_captured_by_value(fake):
    def make(factor):
        def helper(v):
            return v * factor

        @asc.kernel
        def uses(y):
            y[0] = helper(2)
        return uses
    y = np.zeros(1)
    make(3)(y)
    assert y[0] == 6
    make(5)(y)
    assert y[0] == 10


def test_what_is_no_constant_is_refused_by_name(fake):
    class Thing:
        pass
    thing = Thing()
    array = np.zeros(3)

    @asc.kernel
    def uses_dict(y):
        y[0] = HOST_STATE["open"]

    @asc.kernel
    def uses_object(y):
        y[0] = thing.value

    @asc.kernel
    def uses_array(y):
        y[0] = array[0]

    @asc.kernel
    def uses_module(y):
        y[0] = os.getpid()
    for kernel, name in ((uses_dict, "'HOST_STATE', a dict"), (uses_object, "'thing', a Thing"),
                         (uses_array, "'array', a ndarray"), (uses_module, "os.getpid")):
        with pytest.raises(asc.CaptureError) as error:
            kernel(np.zeros(1))
        # The line of the use, with a caret below what is used.
        text = str(error.value)
        line = kernel.__pyasc_function__.__code__.co_firstlineno + 2
        assert name in text and f"{error.value.path}:{line}:" in text and error.value.line == line
        code, under = text.split("\n")[1:]
        assert code[under.index("^"):].startswith(name.split("'")[1] if "'" in name else name)
    assert not fake.compile_requests


def test_a_name_that_could_be_of_two_modules_is_refused(fake):
    def scaled(v):
        return v

    @asc.kernel
    def clear(y):
        # This scaled is of this file, the one that twice_scaled calls of its own.
        y[0] = scaled(1) + helper_module.twice_scaled(1)
    y = np.zeros(1)
    clear(y)
    assert y[0] == 21

    other_offset = helper_two().other_offset

    @asc.kernel
    def ambiguous(y):
        y[0] = helper_module.OFFSET + other_offset(1)
    with pytest.raises(asc.CaptureError, match="'OFFSET' .* has a namesake in .*helper_two"):
        ambiguous(np.zeros(1))


def helper_two():
    """A module whose OFFSET is another one."""
    import importlib.util
    import pathlib
    path = pathlib.Path(os.environ["HOME"]) / "helper_two.py"
    path.write_text("OFFSET = 99\n\n\ndef other_offset(v):\n    return v + OFFSET\n")
    spec = importlib.util.spec_from_file_location("helper_two", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_constexpr_parameters_get_their_value_into_the_key(fake):
    @asc.kernel
    def uses(y, n: asc.constexpr):
        y[0] = n
    y = np.zeros(1)
    for n in (3, 4, 3):
        uses(y, n)
        assert y[0] == n
    assert [r.arguments[1].constexpr_value.int_value for r in fake.compile_requests] == [3, 4]
    assert [a.name for a in fake.run_starts[0].arguments] == ["y"]


def test_a_scalars_value_does_not_compile_anew_but_its_kind_does(fake):
    x, y = np.ones(2, np.float32), np.ones(2, np.float32)
    for alpha in (1.0, 2.0, np.float32(3.0), 1, True):
        saxpy(alpha, x, y)
    kinds = [r.arguments[0].scalar for r in fake.compile_requests]
    assert kinds == [tensor_pb2.DTYPE_FLOAT32, tensor_pb2.DTYPE_INT64, tensor_pb2.DTYPE_BOOL]


def test_keyword_and_default_arguments(fake):
    @asc.kernel
    def uses(y, a: int = 2, b: int = 3):
        y[0] = 10 * a + b
    y = np.zeros(1)
    uses(b=5, y=y)
    assert y[0] == 25
    assert [a.name for a in fake.run_starts[0].arguments] == ["y", "b"]
    with pytest.raises(TypeError, match="uses: missing a required argument: 'y'"):
        uses()
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        uses(y, c=1)


@pytest.mark.parametrize("value, says", [
    (np.array([None]), "Python objects"), (np.zeros(2, ">f4"), "wrong byte order"),
    (np.zeros(2, complex), "element type complex128"), ([1, 2], "is a list"),
    ("x", "is a str"), (np.array(["a"]), "element type <U1")])
def test_what_is_no_tensor_is_refused_by_name(fake, value, says):
    with pytest.raises(TypeError) as error:
        saxpy(1.0, value, np.zeros(2, np.float32))
    assert "argument 'x'" in str(error.value) and says in str(error.value)
    assert not fake.compile_requests


def test_outputs_that_cannot_be_written_are_refused_before_the_run(fake):
    x = np.ones(4, np.float32)
    frozen = np.ones(4, np.float32)
    frozen.flags.writeable = False
    repeated = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (4,), (0,))
    for y, says in ((frozen, "read-only"), (repeated, "several indices")):
        with pytest.raises(ValueError, match=f"'y'.*{says}"):
            saxpy(1.0, x, y)
    assert not fake.run_starts


def test_an_output_that_shares_memory_with_another_argument_is_refused(fake):
    base = np.ones(8, np.float32)
    for x, y in ((base, base), (base[:4], base[2:6]), (base[::-1], base)):
        with pytest.raises(ValueError, match="shares memory with 'x'"):
            saxpy(1.0, x, y)
    assert not fake.run_starts
    saxpy(1.0, base[::2], base[1::2])
    assert base.tolist() == [1, 2] * 4


def test_a_run_time_error_leaves_the_outputs_alone(fake):
    fake.run = lambda start, values: ({"y": np.full(2, 9, np.float32)}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_REJECTED, diagnostics=[diagnostics_pb2.Diagnostic(
            severity=1, message="index 5 is out of bounds")]))
    y = np.ones(2, np.float32)
    with pytest.raises(asc.RunError, match="index 5 is out of bounds"):
        saxpy(1.0, np.ones(2, np.float32), y)
    assert y.tolist() == [1, 1]
    fake.run = lambda start, values: ({}, execution_pb2.RunDone(failure="crashed"))
    with pytest.raises(asc.ServiceError, match="crashed"):
        saxpy(1.0, np.ones(2, np.float32), y)


def test_a_run_time_error_shows_its_line_with_a_caret(fake):
    @asc.kernel
    def pick(x, y):
        y[0] = x[5]
    line = line_of("        y[0] = x[5]")
    span = diagnostics_pb2.SourceRange(file=0, line=line, column=12, end_line=line, end_column=16)
    fake.run = lambda start, values: ({}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_REJECTED, diagnostics=[diagnostics_pb2.Diagnostic(
            severity=1, message="index 5 is out of bounds", range=span)]))
    with pytest.raises(asc.RunError) as error:
        pick(np.ones(2, np.float32), np.ones(2, np.float32))
    lines = str(error.value).strip().split("\n")
    assert lines[1].endswith("        y[0] = x[5]")
    assert lines[2].index("^") == lines[1].index("x[5]") and lines[2].endswith("^~~~")


def test_a_default_is_what_it_was_at_the_definition(fake, monkeypatch):
    offset = 3

    def moved(v, by=TILE * 2, *, times=(
            offset)):
        return v * times + by

    @asc.kernel
    def uses(y, n: int = TILE, s: float = math.inf):
        y[0] = moved(n)
        y[1] = s
    monkeypatch.setattr(sys.modules[__name__], "TILE", 100)
    offset = 7
    y = np.zeros(2)
    uses(y)
    assert y.tolist() == [8 * 3 + 16, math.inf]
    text = fake.compile_requests[0].files[0].content.decode()
    assert "by=16" in text and "n: int = 8" in text and "s: float = float('inf')" in text
    assert not fake.compile_requests[0].constants


def test_warnings_are_pythons_warnings(fake):
    compile = fake.compile

    def warn(request):
        reply = compile(request)
        reply.diagnostics.add(severity=2, message="this loop runs on the scalar unit")
        return reply
    fake.compile = warn
    x, y = np.ones(2, np.float32), np.ones(2, np.float32)
    with pytest.warns(asc.CompileWarning, match="scalar unit"):
        saxpy.options(debug=True)(1.0, x, y)


def test_target_and_server_come_from_options_before_the_environment(fake, monkeypatch):
    monkeypatch.setenv("PYASC_TARGET", "host")
    x, y = np.ones(2, np.float32), np.ones(2, np.float32)
    saxpy(1.0, x, y)
    saxpy.options(target="ascend", soc="ascend910b1")(1.0, x, y)
    assert [r.target for r in fake.compile_requests] == [compile_pb2.TARGET_HOST,
                                                         compile_pb2.TARGET_ASCEND]
    assert fake.compile_requests[1].soc == "ascend910b1"
    with pytest.raises(asc.ServiceError):
        saxpy.options(server=f"unix:{os.environ['HOME']}/nobody.sock")(1.0, x, y)
    with pytest.raises(ValueError, match="target is"):
        saxpy.options(target="gpu")
    with pytest.raises(TypeError, match="unknown options"):
        saxpy.options(traget="sim")


def test_a_kernel_of_a_kernel_has_other_options(fake):
    x, y = np.ones(2, np.float32), np.ones(2, np.float32)
    on_host = asc.kernel(saxpy, target="host")
    on_host(1.0, x, y)
    asc.kernel(timeout=5)(on_host)(1.0, x, y)
    saxpy(1.0, x, y)
    assert [r.target for r in fake.compile_requests] == [compile_pb2.TARGET_HOST] * 2 + [
        compile_pb2.TARGET_SIM]


@pytest.mark.parametrize("stage, says", [
    ("running", "kernel 'saxpy' ran longer than 0.3 s and was stopped; does one of its loops"),
    ("waiting for device", "kernel 'saxpy' got no device within 0.3 s")])
def test_a_deadline_names_the_kernel_and_what_took_so_long(fake, stage, says):
    def late(start, values):
        yield execution_pb2.RunEvent(progress=execution_pb2.Progress(stage=stage))
        time.sleep(1)
    fake.events = late
    with pytest.raises(asc.ServiceError, match=says) as error:
        saxpy.options(timeout=0.3)(1.0, np.ones(3, np.float32), np.ones(3, np.float32))
    assert "timeout=" in str(error.value) and error.value.code == "DEADLINE_EXCEEDED"


def test_a_full_service_is_asked_again(fake):
    fake.refusals = 3
    y = np.zeros(2, np.float32)
    saxpy(1.0, np.ones(2, np.float32), y)
    assert y.tolist() == [1, 1]
    fake.refusals = 10_000
    with pytest.raises(asc.ServiceError) as error:
        saxpy.options(timeout=0.3)(1.0, np.ones(3, np.float32), np.ones(3, np.float32))
    assert error.value.code == "RESOURCE_EXHAUSTED"


def test_compile_takes_types_in_place_of_arrays(fake, tmp_path):
    compiled = saxpy.compile(asc.float32, asc.float32[16], np.zeros(16, np.float32))
    assert list(fake.compile_requests[0].arguments[1].tensor.shape) == [16]
    assert compiled.written == ["y"]
    compiled.save(tmp_path / "k.pyasc")
    record = artifact_pb2.ArtifactRecord.FromString((tmp_path / "k.pyasc").read_bytes())
    assert artifact_pb2.Artifact.FromString(record.artifact).kernel == "saxpy"
    with pytest.raises(TypeError, match="symbolic extents"):
        saxpy.compile(1.0, asc.float32[N], asc.float32[N])
    with pytest.raises(TypeError, match="is a type"):
        saxpy(1.0, asc.float32[16], asc.float32[16])


def test_the_profiler_collects_what_runs_inside_it(fake):
    x, y = np.ones(2, np.float32), np.ones(2, np.float32)
    saxpy(1.0, x, y)
    with asc.Profiler() as profiler:
        saxpy(1.0, x, y)
        with asc.Profiler() as inner:
            saxpy(2.0, x, y)
    saxpy(1.0, x, y)
    assert [s.options.profile for s in fake.run_starts] == [False, True, True, False]
    assert [launch.kernel_us for launch in profiler.launches] == [12.5, 12.5]
    assert len(inner.launches) == 1
    report = profiler.report()
    for part in ("saxpy", "25.0 us", "x=f32[2]", "alpha=1.0", "memory bound", f"{__file__}:3",
                 "use larger tiles", "target", "on sim are simulated", "on sim: memory bound"):
        assert part in report, report
    assert report.count("memory bound") == 1


def test_calls_from_many_threads_do_not_mix(fake):
    fake.results = []
    failures = []

    def work(value):
        for _ in range(5):
            y = np.zeros(100, np.float32)
            saxpy(float(value), np.ones(100, np.float32), y)
            if not (y == value).all():
                failures.append(value)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_annotations_evaluate_when_the_file_is_imported():
    assert repr(asc.float32[4, N, M - 2]) == "asc.float32[4, N, (M - 2)]"
    assert repr(asc.float16[2 * N + 1]) == "asc.float16[((2 * N) + 1)]"
    assert asc.int8[3].shape == (3,)
    with pytest.raises(TypeError):
        asc.float32["N"]
    with pytest.raises(TypeError):
        asc.float32[1.5]
    with pytest.raises(ValueError):
        asc.dims("N 3")


def test_names_of_the_language_say_that_they_belong_into_kernels():
    for call in (lambda: asc.exp(1), lambda: asc.parallel_for(3), lambda: asc.float32(1.0)):
        with pytest.raises(asc.KernelOnlyError):
            call()


def test_the_interpreter_asks_no_service(fake, monkeypatch):
    monkeypatch.setenv("PYASC_INTERPRET", "1")
    fake.compile = fake.run = None
    y = np.ones(3, np.float32)
    saxpy(2.0, np.arange(3, dtype=np.float32), y)
    assert y.tolist() == [1, 3, 5]


def test_a_local_worker_is_a_child_of_this_process(fake, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    fake_worker(tmp_path / "bin" / "pyasc-worker")
    monkeypatch.setenv("PYASC_BIN", str(tmp_path / "bin"))
    monkeypatch.setenv("PYASC_SERVER", "local")
    saxpy(1.0, np.ones(1, np.float32), np.ones(1, np.float32))
    socket = _service.service("local")._worker.address.removeprefix("unix:")
    assert os.stat(os.path.dirname(socket)).st_mode & 0o777 == 0o700
    _service.close_all()
    assert not os.path.exists(os.path.dirname(socket))


def test_a_local_worker_that_crashes_is_explained_and_replaced(fake, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    worker = tmp_path / "bin" / "pyasc-worker"
    fake_worker(worker)
    text = worker.read_text()
    worker.write_text(text.replace("fake_service.main()", f"""
import os
def crash(*_):
    if os.path.exists({str(tmp_path / "crashed")!r}):
        return original(*_)
    open({str(tmp_path / "crashed")!r}, "w").close()
    sys.stderr.write("LLVM ERROR: too many registers\\n")
    sys.stderr.flush()
    os.abort()
original = fake_service.FakeService.compile
fake_service.FakeService.compile = crash
fake_service.main()
"""))
    monkeypatch.setenv("PYASC_BIN", str(tmp_path / "bin"))
    monkeypatch.setenv("PYASC_SERVER", "local")
    # Of a size that no other test has compiled.
    x, y = np.ones(37, np.float32), np.ones(37, np.float32)
    with pytest.raises(asc.ServiceError, match="signal 6(.|\n)*too many registers"):
        saxpy(1.0, x, y)
    saxpy(1.0, x, y)


def launch_in_child(queue):
    y = np.zeros(2, np.float32)
    saxpy(3.0, np.ones(2, np.float32), y)
    queue.put(y.tolist())


def test_a_process_made_by_spawn_has_its_own_connection(fake):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    saxpy(1.0, np.ones(2, np.float32), np.ones(2, np.float32))
    sys.path.insert(0, os.path.dirname(__file__))
    child = context.Process(target=launch_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == [3, 3]
    child.join(60)
    assert child.exitcode == 0


def test_the_source_tree_works_with_the_stubs_of_a_build(tmp_path):
    import subprocess
    root = BUILD.parents[1] / "client" / "python"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import pyasc, pyasc.v1.compile_pb2
        print(pyasc.__file__)
        """)], env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(root / "pyasc" / "__init__.py")


def test_a_profile_measures_and_leaves_the_arrays_alone(fake):
    fake.run = lambda start, values: ({}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_OK, report=report_pb2.ProfileReport(kernel_us=3.5)))
    y = np.zeros(8, np.float32)
    report = saxpy.profile(samples=7, hot=True)(2.0, np.ones(8, np.float32), y)
    assert report.kernel_us == 3.5 and not y.any()
    assert fake.profile_request.max_samples == 7 and fake.profile_request.hot
    assert not fake.run_starts[-1].options.outputs


def test_a_profile_that_fails_says_why(fake):
    fake.run = lambda start, values: ({}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_FAILED, failure="the device worker lost its lease"))
    with pytest.raises(asc.ServiceError, match="failed: the device worker lost its lease"):
        saxpy.profile()(2.0, np.ones(8, np.float32), np.zeros(8, np.float32))
