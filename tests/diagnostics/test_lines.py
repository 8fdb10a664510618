"""Lines are those of the text that was sent, also when the cache knows another that means the same."""

import pytest

KERNEL = """@asc.kernel
def k(n: int, x: asc.float32[N], y: asc.float32[N]):
    y[0] = x[n]
"""
ARGUMENTS = ["--arg", "n=9", "--arg", "x=ones:f32[8]", "--arg", "y=zeros:f32[8]"]


@pytest.mark.parametrize("target", ["sim", "host"])
def test_a_run_time_error_names_the_line_of_its_own_text(pyasc, tmp_path, target):
    for lines in (0, 3, 1):
        (tmp_path / "k.py").write_text("# another\n" * lines + KERNEL)
        done = pyasc("run", "k.py", *ARGUMENTS, "--target", target, folder=tmp_path)
        assert done.returncode == 1
        assert f"k.py:{3 + lines}:12: error: index 9 is out of bounds" in done.stderr
        assert f"{3 + lines:5} |     y[0] = x[n]\n" in done.stderr


def test_a_comment_that_moves_no_line_shares_the_artifact(pyasc, tmp_path):
    types = ["--arg", "n=i64", "--arg", "x=f32[16]", "--arg", "y=f32[16]"]
    (tmp_path / "k.py").write_text(KERNEL)
    assert "cache miss" in pyasc("compile", "k.py", *types, folder=tmp_path).stdout
    (tmp_path / "k.py").write_text(KERNEL.replace("x[n]", "x[n]  # the n-th") + "\n# the end\n")
    assert "same meaning" in pyasc("compile", "k.py", *types, folder=tmp_path).stdout
