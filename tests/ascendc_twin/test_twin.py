"""Ascend C text through the twin: NumPy's answers, and the simulator's."""

import subprocess

import numpy as np
import pytest

import cli
import kernels
import run_text
from pyasc.v1 import artifact_pb2, tensor_pb2

DTYPE_TEXT = {np.dtype(np.float32): "f32", np.dtype(np.float16): "f16"}


def compile_text(case, arrays, folder):
    """The text and the launch contract of a case's kernel."""
    record = folder / "kernel.pyasc"
    text = folder / "kernel.asc"
    args = []
    for name, array in arrays.items():
        shape = ",".join(map(str, array.shape))
        args += ["--arg", f"{name}={DTYPE_TEXT[array.dtype]}[{shape}]"]
    for name in case.scalars:
        args += ["--arg", f"{name}=f32"]
    base = [cli.PYASC, "compile", str(cli.case_file(case)), "--local", "--target", "sim", *args]
    for extra in (["-o", str(record)], ["--emit", "ascendc", "-o", str(text)]):
        done = subprocess.run(base + extra, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    envelope = artifact_pb2.ArtifactRecord.FromString(record.read_bytes())
    artifact = artifact_pb2.Artifact.FromString(envelope.artifact)
    return text.read_text(), artifact.launch


CASES = [c for c in kernels.CASES if c.size == "small" or c.name == "matmul"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_text_gives_the_simulators_results(case, tmp_path):
    arrays = case.inputs(np.random.default_rng(7))
    text, contract = compile_text(case, arrays, tmp_path)
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
