"""The command line against a fake service: what it sends, what it writes, how it ends."""

import json
import os
import signal
import subprocess
import time

import grpc
import numpy as np
import pytest
from conftest import fake_worker, write_program

from pyasc.v1 import (artifact_pb2, compile_pb2, diagnostics_pb2, execution_pb2, report_pb2,
                      tensor_pb2)

SAXPY = """@asc.kernel
def saxpy(alpha: float, x: asc.float32[N], y: asc.float32[N]):
    for i in asc.parallel_for(N):
        y[i] += alpha * x[i]
"""


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "saxpy.py"
    path.write_text(SAXPY)
    return path


def rejected(message="expected a float, met a bool", **kwargs):
    return dict(outcome=compile_pb2.OUTCOME_REJECTED, diagnostics=[diagnostics_pb2.Diagnostic(
        severity=diagnostics_pb2.SEVERITY_ERROR, code="type-mismatch", message=message,
        source_line="        y[i] += alpha * x[i]",
        range=diagnostics_pb2.SourceRange(line=4, column=17, end_line=4, end_column=22),
        notes=[diagnostics_pb2.Diagnostic(
            severity=diagnostics_pb2.SEVERITY_NOTE, message="declared here",
            range=diagnostics_pb2.SourceRange(line=2, column=11))])], **kwargs)


def test_run_sends_arrays_and_scalars_and_writes_what_comes_back(cli, service, kernel, tmp_path):
    x = np.arange(50_000, dtype=np.float32)
    y = np.ones(50_000, np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    service.run = lambda start, v: ({"y": v["y"] + np.float32(v["alpha"]) * v["x"],
                                     "return": np.float32(2.5)},
                                    execution_pb2.RunDone(outcome=compile_pb2.OUTCOME_OK))
    done = cli("run", kernel, "--arg", "alpha=0.75", "--arg", "x=@x.npy", "--arg", "y=@y.npy",
               "--out", "y=out.npy", "--out", "return=r.npy", server=service)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert np.array_equal(np.load(tmp_path / "out.npy"), y + np.float32(0.75) * x)
    returned = np.load(tmp_path / "r.npy")
    assert returned.shape == () and returned.dtype == np.float32 and returned == 2.5
    compile = service.run_starts[0].compile
    assert compile.kernel == "saxpy" and compile.files[0].content.decode() == SAXPY
    kinds = {a.name: a for a in compile.arguments}
    assert kinds["alpha"].scalar == tensor_pb2.DTYPE_FLOAT32
    assert list(kinds["x"].tensor.shape) == [50_000]


@pytest.mark.parametrize("order", ["C", "F"])
def test_every_array_of_numpy_comes_through_unchanged(cli, service, kernel, tmp_path, order):
    rng = np.random.default_rng(3)
    arrays, words = {}, []
    for dtype in ("?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"):
        for shape in ((), (0, 3), (5,), (3, 4, 5)):
            values = np.asarray(rng.integers(0, 2 if dtype == "?" else 100, shape))
            name = f"a{len(arrays)}"
            arrays[name] = values.astype(dtype, order=order)
            np.save(tmp_path / f"{name}.npy", arrays[name])
            words += ["--arg", f"{name}=@{name}.npy", "--out", f"{name}=out_{name}.npy"]
    done = cli("run", kernel, *words, server=service)
    assert done.returncode == 0, done.stderr
    for name, array in arrays.items():
        back = np.load(tmp_path / f"out_{name}.npy")
        assert back.dtype == array.dtype and back.shape == array.shape, name
        assert np.array_equal(back, array), name


def test_bfloat16_is_rounded_on_request_and_kept_as_two_byte_void(cli, service, kernel, tmp_path):
    np.save(tmp_path / "a.npy", np.array([1.0, 1.00390625, 1.01171875, -2.0], np.float32))
    done = cli("run", kernel, "--arg", "A=bf16:@a.npy", "--out", "A=b.npy", server=service)
    assert done.returncode == 0, done.stderr
    assert service.run_starts[0].compile.arguments[0].tensor.dtype == tensor_pb2.DTYPE_BFLOAT16
    assert np.load(tmp_path / "b.npy").view(np.uint16).tolist() == [0x3f80, 0x3f80, 0x3f82, 0xc000]
    done = cli("run", kernel, "--arg", "A=@b.npy", "--out", "A=f32:c.npy", server=service)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "c.npy").tolist() == [1.0, 1.0, 1.015625, -2.0]


def test_generated_arrays_do_not_travel(cli, service, kernel, tmp_path):
    done = cli("run", kernel, "--arg", "A=ones:i32[2,3]", "--arg", "B=randn:f16[8],seed=5",
               "--out", "A=a.npy", server=service)
    assert done.returncode == 0, done.stderr
    generated = {a.name: a.generated for a in service.run_starts[0].arguments}
    assert generated["B"].seed == 5
    assert generated["B"].kind == execution_pb2.GeneratedTensor.KIND_NORMAL
    assert np.load(tmp_path / "a.npy").tolist() == [[1, 1, 1]] * 2


def test_a_constexpr_parameter_gets_its_value_into_the_signature(cli, service, tmp_path):
    (tmp_path / "k.py").write_text("@asc.kernel\ndef k(n: asc.constexpr, m: int): ...\n")
    done = cli("run", "k.py", "--arg", "n=4", "--arg", "m=5", server=service)
    assert done.returncode == 0, done.stderr
    n, m = service.run_starts[0].compile.arguments
    assert n.constexpr_value.int_value == 4 and m.scalar == tensor_pb2.DTYPE_INT64
    assert [a.name for a in service.run_starts[0].arguments] == ["m"]


def test_without_out_the_outputs_are_printed(cli, service, kernel):
    service.artifact.launch.parameters.add(name="y", access=artifact_pb2.ACCESS_READ_WRITE,
                                           tensor=tensor_pb2.TensorType())
    service.artifact.launch.results.add(name="return")
    service.run = lambda start, v: ({"y": np.arange(9, dtype=np.int32), "return": np.float32(0.5)},
                                    execution_pb2.RunDone(outcome=compile_pb2.OUTCOME_OK))
    done = cli("run", kernel, "--arg", "x=1", server=service)
    assert done.stdout == "y = i32[9] [0, 1, 2, 3, 4, 5, ...]\nreturn = 0.5\n"
    # One look-up of the cache, by the run itself.
    assert service.run_starts[0].options.all_outputs and not service.compile_requests


def test_what_the_kernel_prints_goes_to_standard_output(cli, service, kernel, tmp_path):
    service.prints = ["i = 3", "done"]
    done = cli("run", kernel, "--arg", "A=ones:i32[1]", "--out", "A=a.npy", server=service)
    assert done.stdout == "i = 3\ndone\n"


def test_a_wrong_kernel_ends_with_1_and_a_caret_below_the_users_line(cli, service, kernel):
    service.compile = lambda request: compile_pb2.CompileReply(**rejected())
    done = cli("compile", kernel, server=service)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"""{kernel}:4:17: error: expected a float, met a bool [type-mismatch]
    4 |         y[i] += alpha * x[i]
      |                 ^~~~~
{kernel}:2:11: note: declared here
1 error generated.
"""


def test_a_run_time_error_ends_with_1_and_writes_nothing(cli, service, kernel, tmp_path):
    service.run = lambda start, v: ({}, execution_pb2.RunDone(
        **rejected("index 9 is out of bounds for dimension 0 of 'x' with size 9")))
    done = cli("run", kernel, "--arg", "x=ones:f32[9]", "--out", "y=y.npy", server=service)
    assert done.returncode == 1 and "index 9 is out of bounds" in done.stderr
    assert not (tmp_path / "y.npy").exists()


def test_a_crashed_device_ends_with_3(cli, service, kernel):
    service.run = lambda start, v: ({}, execution_pb2.RunDone(failure="crashed"))
    done = cli("run", kernel, "--arg", "x=1", "--out", "y=y.npy", server=service)
    assert done.returncode == 3 and "crashed" in done.stderr


@pytest.mark.parametrize("words, says", [
    (["run", "none.py"], "none.py"),
    (["run", "saxpy.py", "--arg", "x"], "expected NAME=VALUE"),
    (["run", "saxpy.py", "--arg", "x=@none.npy"], "none.npy"),
    (["run", "saxpy.py", "--arg", "x=1", "--arg", "x=2"], "more than once"),
    (["run", "saxpy.py", "--arg", "x=f32[4]"], "zeros:f32[4]"),
    (["run", "saxpy.py", "--arg", "x=1", "--out", "y=no/such/dir/y.npy"], "no directory"),
    (["run", "saxpy.py", "--target", "gpu"], "sim, host or ascend"),
    (["run", "saxpy.py", "--timeout", "soon"], "number of seconds"),
    (["run", "saxpy.py", "--outt", "y=y.npy"], "did you mean --out?"),
    (["run"], "too few arguments"),
    (["compile", "saxpy.py", "--emit", "ptx"], "--emit is"),
    (["compile", "saxpy.py", "--emit", "obj"], "-o OUT"),
    (["server", "restart"], "start, stop, status or logs"),
    (["chekc"], "did you mean 'check'?"),
    (["profile", "saxpy.py", "--samples", "0"], "at least 1"),
    (["run", "saxpy.py", "--foo"], "unknown flag --foo; see"),
])
def test_what_the_user_mistyped_ends_with_2_and_a_way_out(cli, service, kernel, words, says):
    done = cli(*words)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert not service.run_starts


def test_object_and_big_endian_arrays_are_refused_before_any_service_is_asked(cli, kernel,
                                                                             tmp_path):
    np.save(tmp_path / "o.npy", np.array([None, 1], object))
    np.save(tmp_path / "b.npy", np.arange(3, dtype=">f4"))
    for name, says in (("o", "Python objects"), ("b", "newbyteorder")):
        done = cli("run", kernel, "--arg", f"x=@{name}.npy")
        assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_file_with_several_kernels_asks_which(cli, service, tmp_path):
    (tmp_path / "two.py").write_text(SAXPY + SAXPY.replace("def saxpy", "def other"))
    done = cli("compile", "two.py", server=service)
    assert done.returncode == 2 and "saxpy, other" in done.stderr
    assert cli("compile", "two.py", "--kernel", "other", server=service).returncode == 0
    assert service.compile_requests[0].kernel == "other"


def test_nobody_at_the_server_ends_with_3_unless_a_fallback_was_asked_for(private_cli, kernel,
                                                                          tmp_path):
    nobody = f"unix:{tmp_path}/nobody.sock"
    assert private_cli("devices", "--server", nobody).returncode == 3
    assert private_cli("devices", env={**os.environ, "PYASC_SERVER": nobody}).returncode == 3
    fake_worker(private_cli.program.parent / "pyasc-worker")
    done = private_cli("devices", "--server", nobody, "--fallback-local")
    assert done.returncode == 0 and "simulated AI Core" in done.stdout
    assert "using a local worker" in done.stderr


def test_a_full_service_is_retried_and_ends_with_75_when_it_stays_full(cli, service, kernel):
    service.refusals = 3
    assert cli("compile", kernel, server=service).returncode == 0
    service.refusals = 10_000
    done = cli("compile", kernel, "--timeout", "0.3", server=service)
    assert done.returncode == 75 and "queue is full" in done.stderr


def test_compile_writes_a_record_with_its_checksum(cli, service, kernel, tmp_path):
    import hashlib
    done = cli("compile", kernel, "-o", "k.pyasc", server=service)
    assert done.returncode == 0 and "cache miss" in done.stdout
    record = artifact_pb2.ArtifactRecord.FromString((tmp_path / "k.pyasc").read_bytes())
    assert record.schema_version == 1
    assert record.sha256 == hashlib.sha256(record.artifact).digest()
    assert artifact_pb2.Artifact.FromString(record.artifact).kernel == "k"


def test_compiling_takes_types_from_annotations_that_say_it_all(cli, service, tmp_path):
    (tmp_path / "k.py").write_text("@asc.kernel\ndef k(A: asc.float32[64, 8], b: float, "
                                   "C: asc.float32[N], d: int = 3): ...\n")
    assert cli("compile", "k.py", "--arg", "b=f32", server=service).returncode == 0
    arguments = service.compile_requests[0].arguments
    assert [a.name for a in arguments] == ["b", "A"]
    assert list(arguments[1].tensor.shape) == [64, 8]


def test_texts_go_to_standard_output_and_stages_into_the_directory(cli, service, kernel, tmp_path):
    service.artifact.texts["npu-ir"] = b"module {}\n"
    service.artifact.texts["stages/01-sema.mlir"] = b"one"
    service.artifact.texts["stages/02-raise.mlir"] = b"two"
    done = cli("compile", kernel, "--emit", "npu-ir", "--dump-dir", "dump", server=service)
    assert (done.returncode, done.stdout) == (0, "module {}\n")
    assert (tmp_path / "dump" / "02-raise.mlir").read_text() == "two"
    assert list(service.compile_requests[0].options.emits) == [compile_pb2.EMIT_NPU_IR,
                                                               compile_pb2.EMIT_STAGES]


def test_a_stage_cannot_be_written_outside_its_directory(cli, service, kernel, tmp_path):
    service.artifact.texts["stages/../evil"] = b"x"
    assert cli("compile", kernel, "--dump-dir", "dump", server=service).returncode == 2
    assert not (tmp_path / "evil").exists()


def test_the_articles_form_writes_an_object_and_reports_on_the_chip(cli, service, kernel,
                                                                    tmp_path):
    service.artifact.texts["obj"] = b"\x7fELF..."
    service.artifact.texts["header"] = b"void saxpy(void);\n"
    report = service.artifact.report
    report.flops, report.gm_read_bytes, report.compulsory_bytes = 2e9, 8e6, 4e6
    report.estimated_time_us, report.estimated_gflops = 800, 2500
    report.parallel_iterations, report.cores_used, report.cores_available = 1024, 20, 24
    report.statements.add(unit="scalar", what="loop", reason="y is read at another index",
                          range=diagnostics_pb2.SourceRange(line=4))
    report.bottlenecks.append("the scalar unit runs line 4")
    done = cli("--profile", kernel, "-o", "kernel.o", server=service)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernel.o").read_bytes() == b"\x7fELF..."
    assert (tmp_path / "kernel.h").read_text() == "void saxpy(void);\n"
    assert [r.target for r in service.compile_requests] == [compile_pb2.TARGET_HOST,
                                                            compile_pb2.TARGET_SIM]
    for part in ("for sim", "800.0 us a launch", "2.50 TFLOP/s", "20 of 24 cores",
                 "1024 iterations", "saxpy.py:4", "y is read at another index",
                 "needed (2.0 times)", "1. the scalar unit runs line 4"):
        assert part in done.stdout, done.stdout


def profile_report():
    report = report_pb2.ProfileReport(schema_version=1, kernel_us=812.5, launch_us=3, cache="hit")
    report.verdict.bound_by = "memory"
    report.verdict.roof_fraction = 0.83
    report.verdict.summary = "memory bound: HBM reads fill the time"
    report.trust.source = "simulated"
    report.launch.kernel, report.launch.driver = "saxpy", "sim"
    phase = report.phases.add(entry="saxpy", core="aiv", blocks=40, time_us=812.5, cycles=1500000)
    phase.pipes.add(pipe="mte2", busy_us=700, utilization=0.86, instructions=512)
    phase.paths.add(path="gm_to_ub", bytes=8 << 20, gb_per_s=10.3, peak_fraction=0.5)
    phase.core_time_us.extend([800.0, 812.5])
    report.rooflines.add(level="hbm", flops_per_byte=0.25, achieved_gflops=2, roof_gflops=4,
                         fraction=0.5)
    report.lines.add(range=diagnostics_pb2.SourceRange(line=4, column=1), busy_us=5, pipe="mte2")
    return report


@pytest.mark.parametrize("count", [100, 100_000])
def test_profile_prints_forty_lines_at_most_and_writes_json_and_html(cli, service, kernel, tmp_path,
                                                                     count):
    service.run = lambda start, v: ({}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_OK, report=profile_report()))
    np.save(tmp_path / "x.npy", np.ones(count, np.float32))
    done = cli("profile", kernel, "--arg", "x=@x.npy", "--json", "r.json", "--html", "r.html",
               server=service)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 40
    for part in ("memory bound", "mte2", "86.0 %", "gm_to_ub", "hbm", "812.5 us"):
        assert part in done.stdout, done.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["kernel_us"] == 812.5 and report["verdict"]["bound_by"] == "memory"
    assert "l2_hit_ratio" not in report["phases"][0]
    html = (tmp_path / "r.html").read_text()
    assert "http://" not in html and "https://" not in html and "src=" not in html
    assert "y[i] += alpha * x[i]" in html and "<svg" in html
    assert service.run_starts[0].options.profile


def test_a_gate_fails_with_4_only_when_slower_than_allowed(cli, service, kernel, tmp_path):
    report = profile_report()
    service.run = lambda start, v: ({}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_OK, report=report))
    words = ["profile", kernel, "--arg", "x=ones:f32[4]"]
    assert cli(*words, "--json", "base.json", server=service).returncode == 0
    report.kernel_us *= 1.04
    gate = ["--baseline", "base.json", "--fail-if-slower"]
    done = cli(*words, *gate, "3%", server=service)
    assert done.returncode == 4 and "SLOWER" in done.stdout and "+4.0 %" in done.stdout
    assert cli(*words, *gate, "5%", server=service).returncode == 0
    report.kernel_us /= 1.1
    assert "FASTER" in cli(*words, *gate, "0%", server=service).stdout
    report.launch.driver = "host"
    assert cli(*words, *gate, "5%", server=service).returncode == 2
    assert cli(*words, "--fail-if-slower", "5%", server=service).returncode == 2


def test_the_doctor_names_what_is_missing_and_what_works(private_cli):
    done = private_cli("doctor")
    assert done.returncode == 3 and "pyascd" in done.stdout and "missing" in done.stdout
    fake_daemon(private_cli.program.parent)
    done = private_cli("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("build", "socket", "log", "cache", "version 0.1.0", "simulated AI Core"):
        assert part in done.stdout, done.stdout
    private_cli("server", "stop")


def test_check_covers_every_kernel_and_speaks_json_and_sarif(cli, service, kernel, tmp_path):
    (tmp_path / "pkg" / ".git").mkdir(parents=True)
    (tmp_path / "pkg" / "a.py").write_text(SAXPY)
    (tmp_path / "pkg" / "b.py").write_text(SAXPY + SAXPY.replace("def saxpy", "def other"))
    (tmp_path / "pkg" / "host.py").write_text("print('no kernel')\n")
    (tmp_path / "pkg" / ".git" / "c.py").write_text(SAXPY)
    done = cli("check", "pkg", server=service)
    assert (done.returncode, done.stdout) == (0, "2 kernels in 2 files checked: no errors\n")
    assert len(service.compile_requests) == 2 and service.compile_requests[0].kernel == ""
    service.check = lambda request: compile_pb2.CheckReply(**(
        rejected() if b"other" in request.files[0].content else
        dict(outcome=compile_pb2.OUTCOME_OK)))
    done = cli("check", "pkg", "--format", "json", server=service)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["files"] == ["pkg/a.py", "pkg/b.py"]
    assert found["diagnostics"][0]["range"]["file"] == 1
    done = cli("check", "pkg", "--format", "sarif", server=service)
    result = json.loads(done.stdout)["runs"][0]["results"][0]
    assert result["ruleId"] == "type-mismatch"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "pkg/b.py"
    assert location["region"]["startLine"] == 4


def test_json_goes_to_a_file_or_alone_to_standard_output(cli, service, kernel, tmp_path):
    service.run = lambda start, v: ({}, execution_pb2.RunDone(
        outcome=compile_pb2.OUTCOME_OK, report=report_pb2.ProfileReport()))
    for words in (["run", kernel, "--arg", "x=ones:f32[4]"],
                  ["profile", kernel, "--arg", "x=ones:f32[4]"], ["compile", kernel], ["devices"],
                  ["stats"], ["check", kernel]):
        done = cli(*words, "--json", "-", server=service)
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
        assert cli(*words, "--json", "r.json", server=service).returncode == 0
        json.loads((tmp_path / "r.json").read_text())
        assert not (tmp_path / "-").exists()


def test_an_error_is_never_empty(cli, service, kernel):
    done = cli("stats", "--local")
    assert done.returncode == 2 and "has no statistics" in done.stderr
    service.run = lambda start, v: service.context.abort(grpc.StatusCode.INTERNAL, "")
    done = cli("run", kernel, "--arg", "x=1", "--out", "y=y.npy", server=service)
    assert done.returncode == 3 and "error: the service answered INTERNAL" in done.stderr


def test_a_refusal_without_a_hint_when_to_come_back_is_no_try_later(cli, service, kernel):
    service.run = lambda start, v: service.context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "372 GiB are too much")
    done = cli("run", kernel, "--arg", "x=1", "--out", "y=y.npy", server=service)
    assert done.returncode == 3 and "372 GiB are too much" in done.stderr


@pytest.mark.parametrize("code, ends", [("unknown-soc", 2), ("unknown-kernel", 2),
                                        ("missing-argument", 2), ("type-mismatch", 1)])
def test_how_the_kernel_was_called_wrongly_is_usage(cli, service, kernel, code, ends):
    reply = compile_pb2.CompileReply(**rejected())
    reply.diagnostics[0].code = code
    service.compile = lambda request: reply
    done = cli("compile", kernel, "--arg", "y=f32[4]", server=service)
    assert done.returncode == ends
    assert ("--arg 'x=f32[64]'" in done.stderr) == (code == "missing-argument")


def test_random_arguments_without_a_seed_differ_and_stay_the_same(cli, service, kernel):
    for _ in range(2):
        cli("run", kernel, "--arg", "A=randn:f32[8]", "--arg", "B=randn:f32[8]", "--out", "A=a.npy",
            server=service)
    seeds = [[a.generated.seed for a in start.arguments] for start in service.run_starts]
    assert seeds[0] == seeds[1] and seeds[0][0] != seeds[0][1]


def test_devices_and_stats_are_tables_or_json(cli, service):
    assert "simulated AI Core" in cli("devices", server=service).stdout
    assert json.loads(cli("devices", "--json", server=service).stdout)["devices"][0]["soc"] == \
        "ascend910b3"
    assert "75.0 % hits" in cli("stats", server=service).stdout


@pytest.mark.parametrize("command", ["compile", "run", "profile", "check", "devices", "stats",
                                     "server", "doctor"])
def test_every_command_has_help_with_examples(cli, command):
    done = cli(command, "--help")
    assert done.returncode == 0 and "examples:" in done.stdout and command in cli("--help").stdout


def test_local_runs_through_a_child_that_leaves_nothing_behind(private_cli, kernel, tmp_path):
    fake_worker(private_cli.program.parent / "pyasc-worker")
    array = np.arange(300_000, dtype=np.float32)
    np.save(tmp_path / "a.npy", array)
    done = private_cli("run", kernel, "--arg", "A=@a.npy", "--out", "A=b.npy", "--local")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.array_equal(np.load(tmp_path / "b.npy"), array)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_local_worker_that_crashes_in_a_call_is_named(private_cli, kernel, tmp_path):
    fake_worker(private_cli.program.parent / "real")
    write_program(private_cli.program.parent / "pyasc-worker", f"""#!/usr/bin/python3
import os, sys
exec(open({str(private_cli.program.parent / "real")!r}).read().replace("fake_service.main()", ""))
def crash(*_):
    print("LLVM ERROR: out of registers", file=sys.stderr, flush=True)
    os.abort()
fake_service.FakeService.compile = crash
fake_service.main()
""")
    done = private_cli("compile", kernel, "--local")
    assert done.returncode == 3
    assert "signal 6" in done.stderr and "out of registers" in done.stderr


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_the_worker_too_and_leaves_nothing(private_cli, kernel, tmp_path, number,
                                                             code):
    write_program(private_cli.program.parent / "pyasc-worker", f"""#!/usr/bin/python3
import os, sys
socket = sys.argv[2].removeprefix("--listen=unix:")
for name in (socket, socket + ".lock"):
    open(name, "w").close()
open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
sys.stdin.read()
""")
    process = subprocess.Popen([private_cli.program, "compile", kernel, "--local"],
                               stderr=subprocess.PIPE)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    worker = int((tmp_path / "pid").read_text())
    process.send_signal(number)
    assert process.wait(30) == code
    wait_until(lambda: not os.path.exists(f"/proc/{worker}/stat")
               or open(f"/proc/{worker}/stat").read().split()[2] == "Z")
    assert list((tmp_path / "run").iterdir()) == []


def fake_daemon(bin_dir):
    """pyascd as the fake service; it leaves on Shutdown."""
    fake_worker(bin_dir / "pyasc-worker")
    program = (bin_dir / "pyasc-worker").read_text()
    write_program(bin_dir / "pyascd", program.replace("fake_service.main()", """
flags = dict(word[2:].split("=", 1) for word in sys.argv[1:])
print("started", flush=True)
service = fake_service.FakeService()
service.serve(flags["listen"])
service.server.wait_for_termination(60)
"""))


def test_the_users_daemon_is_started_once_and_stopped_on_request(private_cli, kernel):
    fake_daemon(private_cli.program.parent)
    assert private_cli("server", "status").returncode == 3
    assert private_cli("compile", kernel).returncode == 0
    status = private_cli("server", "status")
    assert status.returncode == 0 and "is running" in status.stdout
    address = private_cli("server", "start", "--address").stdout.strip()
    assert address in status.stdout
    assert "simulated AI Core" in private_cli("devices", "--server", address).stdout
    assert private_cli("server", "logs").stdout == "started\n"
    assert "stopped" in private_cli("server", "stop").stdout
    assert private_cli("server", "status").returncode == 3
