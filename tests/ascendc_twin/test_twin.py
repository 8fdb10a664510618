"""Ascend C text through the twin: NumPy's answers, and the simulator's."""

import subprocess

import numpy as np
import pytest

import cli
import kernels
import run_text
from pyasc.v1 import artifact_pb2, tensor_pb2

DTYPE_TEXT = {"float16": "f16", "float32": "f32", "bool": "bool",
              **{f"{u}int{n}": f"{u[:1] or 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)}}


def compile_text(kernel, arrays, scalars, folder):
    """The text and the launch contract of a kernel's file."""
    record, text = folder / "kernel.pyasc", folder / "kernel.asc"
    args = []
    for name, array in arrays.items():
        shape = ",".join(map(str, array.shape))
        args += ["--arg", f"{name}={DTYPE_TEXT[array.dtype.name]}[{shape}]"]
    for name in scalars:
        args += ["--arg", f"{name}=f32"]
    base = [cli.PYASC, "compile", str(kernel), "--local", "--target", "sim", *args]
    for extra in (["-o", str(record)], ["--emit", "ascendc", "-o", str(text)]):
        done = subprocess.run(base + extra, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    envelope = artifact_pb2.ArtifactRecord.FromString(record.read_bytes())
    artifact = artifact_pb2.Artifact.FromString(envelope.artifact)
    return text.read_text(), artifact.launch


def launch(source, arrays, folder):
    """Runs the text of a kernel on arrays, which it changes; returns the text and its contract."""
    kernel = folder / "k.py"
    kernel.write_text(source)
    text, contract = compile_text(kernel, arrays, (), folder)
    run_text.launch(run_text.build(text, folder), contract, tensor_pb2.DType.Name, arrays, {})
    return text, contract


CASES = [c for c in kernels.CASES if c.size == "small" or c.name == "matmul"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_text_gives_the_simulators_results(case, tmp_path):
    arrays = case.inputs(np.random.default_rng(7))
    text, contract = compile_text(cli.case_file(case), arrays, case.scalars, tmp_path)
    library = run_text.build(text, tmp_path)
    mine = {k: v.copy() for k, v in arrays.items()}
    results = run_text.launch(library, contract, tensor_pb2.DType.Name, mine, case.scalars)
    outputs = {name: results[name] if name in results else mine[name]
               for name in case.reference({k: v.copy() for k, v in arrays.items()})}
    ratio, absolute = kernels.worst_error(case, outputs, arrays)
    assert ratio <= 1, f"against NumPy: {absolute:.3g}, {ratio:.2f} times the bound"
    simulated = cli.run(case, arrays, "sim", tmp_path, ["--local"])
    for name, array in outputs.items():
        expected, magnitude = case.reference({k: v.copy() for k, v in arrays.items()})[name]
        bound = case.tolerance(np.asarray(magnitude, np.float64)) + 1e-300
        difference = np.abs(np.asarray(array, np.float64) - np.asarray(simulated[name], np.float64))
        assert np.all(difference <= bound), "the text and the simulator differ"


def test_a_loop_of_phases_is_launched_round_after_round(tmp_path):
    rng = np.random.default_rng(1)
    x, y = ((rng.integers(-8, 9, (8, 4096)) / 4).astype(np.float32) for _ in "xy")
    arrays = {"x": x.copy(), "y": y.copy()}
    text, contract = launch("""@asc.kernel
def k(x: asc.float32[8, 4096], y: asc.float32[8, 4096]):
    s = 1.0
    for i in range(6, -1, -2):
        for j in range(4096):
            x[i, j] = x[i + 1, j] * 0.5 + s
        for j in range(1, 4095):
            y[i, j] = (x[i, j - 1] + x[i, j + 1]) * i
        s = s * 0.5 + 0.25
""", arrays, tmp_path)
    assert len(contract.loops) == 1
    assert " 4 times, with loopArg " in text
    s = 1.0
    for i in range(6, -1, -2):
        x[i] = x[i + 1] * 0.5 + s
        y[i, 1:-1] = (x[i, :-2] + x[i, 2:]) * i
        s = s * 0.5 + 0.25
    assert np.array_equal(arrays["x"], x) and np.array_equal(arrays["y"], y)


def test_text_converts_floats_beyond_an_integer_type_to_the_nearest_of_it(tmp_path):
    types = "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"
    floats = np.array([np.nan, np.inf, -np.inf, 2.5, -2.5, 300, -300, 70000, 3e9, -3e9, 5e9, 1e19,
                       2e19, -1e19, 0.5, -0.5], np.float32)
    names = ", ".join(f"o{k}: asc.{t}[16]" for k, t in enumerate(types))
    arrays = {"x": floats, **{f"o{k}": np.zeros(16, t) for k, t in enumerate(types)}}
    launch(f"@asc.kernel\ndef k(x: asc.float32[16], {names}):\n    for i in range(16):\n" +
           "".join(f"        o{k}[15 - i] = asc.{t}(x[i])\n" for k, t in enumerate(types)),
           arrays, tmp_path)
    for k, t in enumerate(types):
        ends = np.iinfo(t)
        right = [0 if f != f else ends.max if f > ends.max else ends.min if f < ends.min else int(f)
                 for f in floats.tolist()]
        assert arrays[f"o{k}"][::-1].tolist() == right, t


def test_text_transposes_elements_of_every_width(tmp_path):
    types = {"float16": "f16", "float32": "f32", "int8": "i8"}
    rng = np.random.default_rng(5)
    arrays = {}
    for t, s in types.items():
        arrays[f"x{s}"] = rng.integers(-100, 100, (70, 300)).astype(t)
        arrays[f"y{s}"] = np.zeros((300, 70), t)
    text, _ = launch("@asc.kernel\ndef k(" + ", ".join(
        f"x{s}: asc.{t}[70, 300], y{s}: asc.{t}[300, 70]" for t, s in types.items()) + "):\n" +
        "".join(f"    y{s}[:] = x{s}.T\n" for s in types.values()), arrays, tmp_path)
    assert text.count("TransposeTile<") == 3
    for s in types.values():
        assert np.array_equal(arrays[f"y{s}"], arrays[f"x{s}"].T), s


def test_text_takes_every_second_and_fourth_element(tmp_path):
    rng = np.random.default_rng(6)
    arrays = {"x": rng.integers(-100, 100, (9, 399)).astype(np.float16),
              "v": rng.standard_normal(1200).astype(np.float32),
              "y": np.zeros((9, 200), np.float16), "w": np.zeros(300, np.float32)}
    text, _ = launch("@asc.kernel\ndef k(x: asc.float16[9, 399], v: asc.float32[1200], "
                     "y: asc.float16[9, 200], w: asc.float32[300]):\n"
                     "    for i in range(9):\n        for j in range(200):\n"
                     "            y[i, j] = x[i, 2 * j] + x[i, 0]\n"
                     "    for i in range(300):\n        w[i] = v[4 * i + 3] * 2.0\n",
                     arrays, tmp_path)
    assert text.count(" Deinterleave(") == 2 + 1
    assert np.array_equal(arrays["y"], arrays["x"][:, ::2] + arrays["x"][:, :1])
    assert np.array_equal(arrays["w"], arrays["v"][3::4] * 2)


def test_text_folds_reductions(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.integers(-2 ** 31, 2 ** 31, (70, 3000)).astype(np.int32)
    z = rng.integers(-2 ** 15, 2 ** 15, (90, 33)).astype(np.int16)
    arrays = {"x": x, "z": z, "a": np.zeros(70, np.int64), "b": np.zeros(3000, np.int64),
              "c": np.zeros(70, np.int32), "d": np.zeros(33, np.int16), "e": np.zeros(33, bool),
              "f": np.zeros(1, np.int64)}
    launch("""@asc.kernel
def k(x: asc.int32[70, 3000], z: asc.int16[90, 33], a: asc.int64[70], b: asc.int64[3000],
      c: asc.int32[70], d: asc.int16[33], e: asc.bool[33], f: asc.int64[1]):
    a[:] = asc.sum(x, axis=1)
    b[:] = asc.sum(x, axis=0)
    c[:] = asc.prod(x | 1, axis=1, dtype=asc.int32)
    d[:] = asc.min(z, axis=0)
    e[:] = asc.any(z > 32700, axis=0)
    f[0] = asc.sum(x)
""", arrays, tmp_path)
    right = {"a": x.sum(1, dtype=np.int64), "b": x.sum(0, dtype=np.int64),
             "c": np.prod(x | 1, 1, dtype=np.int32), "d": z.min(0), "e": (z > 32700).any(0),
             "f": x.sum(dtype=np.int64)}
    for name, want in right.items():
        assert np.array_equal(arrays[name], want if name != "f" else [want]), name
