"""Bad input through the CLI: a clear error, the right exit code, and a daemon that lives on."""

import subprocess

import numpy as np
import pytest

import cli
import kernels

HEAD = "import pyasc as asc\n\n@asc.kernel\n"
SAXPY = (kernels.EXAMPLES / "saxpy.py").read_text()


def compile_source(source, folder, service, *args):
    path = folder / "k.py"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return subprocess.run([cli.PYASC, "compile", str(path), *service, "-o", str(folder / "out"),
                           *args], capture_output=True, text=True, timeout=120)


def deep_expression(depth):
    return HEAD + "def k(a: asc.float32) -> asc.float32:\n    return " + "(" * depth + "a" + ")" * depth


def deep_blocks(depth):
    lines = ["def k(a: asc.float32) -> asc.float32:"]
    lines += [" " * (i + 1) + "if a > 0:" for i in range(depth)]
    return HEAD + "\n".join(lines) + "\n" + " " * (depth + 1) + "return a\n"


SOURCES = {
    "empty": (b"", "kernel"),
    "only_comments": (b"# nothing here\n", "kernel"),
    "not_utf8": (HEAD.encode() + b"def k(a: asc.float32):\n    b = '\xff\xfe'\n", "UTF-8"),
    "nul_byte": (HEAD.encode() + b"def k(a: asc.float32):\n    b = \x00\n", None),
    "nested_parentheses": (deep_expression(10_000), "nest"),
    # As deep as fits into a file of 1 MiB: line n is indented by n.
    "nested_blocks": (deep_blocks(1_300), "nest"),
    "nested_unary": (HEAD + "def k(a: asc.float32) -> asc.float32:\n    return " + "-" * 10_000 + "a\n",
                     "nest"),
    "syntax_error": (HEAD + "def k(a: asc.float32):\n    b = = a\n", "5:9"),
    "tabs_and_spaces": (HEAD + "def k(a: asc.float32):\n\tb = a\n        c = a\n", None),
    "huge_integer": (HEAD + "def k(a: asc.float32) -> asc.float32:\n    return a + " + "9" * 5000 + "\n",
                     None),
}


@pytest.mark.parametrize("name", SOURCES)
def test_wrong_source_is_a_diagnostic(name, tmp_path, service):
    source, word = SOURCES[name]
    done = compile_source(source, tmp_path, service, "--arg", "a=f32")
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "error:" in done.stderr
    if word:
        assert word in done.stderr
    assert len(done.stderr) < 20_000
    assert not (tmp_path / "out").exists()


def test_ten_megabytes_are_refused_by_their_size(tmp_path, service):
    done = compile_source(b"# " + b"x" * 10_000_000 + b"\n", tmp_path, service)
    assert done.returncode == 2
    assert "1 MiB" in done.stderr and len(done.stderr) < 1_000


def saxpy_arguments(folder, **changes):
    arrays = dict(x=np.ones(8, np.float32), y=np.ones(8, np.float32))
    arrays.update(changes)
    args = []
    for name, array in arrays.items():
        if array is not None:
            np.save(folder / f"{name}.npy", array)
            args += ["--arg", f"{name}=@{folder}/{name}.npy"]
    return args + ["--arg", "alpha=2.0", "--out", f"y={folder}/out.npy"]


ARGUMENTS = {
    "wrong_dtype": (dict(x=np.ones(8, np.float64)), 1, "float64"),
    "wrong_integer_dtype": (dict(x=np.ones(8, np.int32)), 1, "int32"),
    "wrong_rank": (dict(x=np.ones((2, 4), np.float32)), 1, "x"),
    "different_extents": (dict(x=np.ones(9, np.float32)), 1, "N"),
    "missing_array": (dict(x=None), 2, "x"),
    "object_array": (dict(x=np.array([1, None], dtype=object)), 2, "object"),
}


@pytest.mark.parametrize("target", ["sim", "host"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_argument_is_named(name, target, tmp_path, service):
    changes, code, word = ARGUMENTS[name]
    (tmp_path / "k.py").write_text(SAXPY)
    done = subprocess.run(
        [cli.PYASC, "run", str(tmp_path / "k.py"), *service, "--target", target,
         *saxpy_arguments(tmp_path, **changes)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert word in done.stderr
    assert not (tmp_path / "out.npy").exists()


def test_unknown_kernel_lists_those_there_are(tmp_path, service):
    done = compile_source(SAXPY, tmp_path, service, "--kernel", "sexpy")
    assert done.returncode == 2
    assert "saxpy" in done.stderr


def test_unknown_argument_name_is_an_error(tmp_path, service):
    (tmp_path / "k.py").write_text(SAXPY)
    done = subprocess.run(
        [cli.PYASC, "run", str(tmp_path / "k.py"), *service, "--arg", "beta=1.0",
         *saxpy_arguments(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode in (1, 2)
    assert "beta" in done.stderr


def test_missing_files_and_servers_have_their_exit_codes(tmp_path, service):
    missing = subprocess.run([cli.PYASC, "compile", str(tmp_path / "no.py"), *service],
                             capture_output=True, text=True, timeout=60)
    assert missing.returncode == 2 and "no.py" in missing.stderr
    (tmp_path / "k.py").write_text(SAXPY)
    nobody = subprocess.run([cli.PYASC, "compile", str(tmp_path / "k.py"), "--server",
                             f"unix:{tmp_path}/nobody.sock"], capture_output=True, text=True,
                            timeout=60)
    assert nobody.returncode == 3 and "nobody.sock" in nobody.stderr


@pytest.mark.parametrize("words", [["--help"], ["devices"]])
def test_output_that_a_full_disk_swallows_is_no_success(words, service):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([cli.PYASC, *words, *(service if words[0] != "--help" else [])],
                              stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3 and "could not be written" in done.stderr


def test_run_time_index_error_names_line_and_index(tmp_path, service):
    (tmp_path / "k.py").write_text(
        HEAD + "def pick(A: asc.float32[N], I: asc.int32[M], B: asc.float32[M]):\n"
        "    for i in range(M):\n        B[i] = A[I[i]]\n")
    np.save(tmp_path / "A.npy", np.arange(4, dtype=np.float32))
    np.save(tmp_path / "I.npy", np.array([0, -1, 7], np.int32))
    np.save(tmp_path / "B.npy", np.zeros(3, np.float32))
    args = [f"--arg={n}=@{tmp_path}/{n}.npy" for n in "AIB"]
    for target in ("sim", "host"):
        done = subprocess.run([cli.PYASC, "run", str(tmp_path / "k.py"), *service, *args,
                               "--target", target, "--out", f"B={tmp_path}/o.npy"],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 1, (target, done.stderr)
        assert "k.py:6" in done.stderr and "7" in done.stderr
        assert not (tmp_path / "o.npy").exists()


def test_the_daemon_survived_all_that(tmp_path, service):
    case = next(c for c in kernels.CASES if c.name == "saxpy_odd")
    arrays = case.inputs(np.random.default_rng(7))
    ratio, _ = kernels.worst_error(case, cli.run(case, arrays, "sim", tmp_path, service), arrays)
    assert ratio <= 1
