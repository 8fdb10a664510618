"""`pyasc check` as a continuous-integration farm uses it: folders, formats, exit codes, fixes."""

import json
import shutil
import urllib.parse
from pathlib import Path

import jsonschema
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCHEMA = json.loads((HERE / "sarif_schema.json").read_text())


def sarif(pyasc, *paths, folder):
    done = pyasc("check", *paths, "--format", "sarif", folder=folder)
    log = json.loads(done.stdout)
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(log, SCHEMA)
    return log["runs"][0], done


def apply(fix, folder):
    """Replacements as an editor would make them; columns count code points."""
    for change in fix["artifactChanges"]:
        path = Path(folder, urllib.parse.unquote(change["artifactLocation"]["uri"]))
        lines = path.read_text(encoding="utf-8").split("\n")
        for replacement in change["replacements"]:
            region = replacement["deletedRegion"]
            assert region["startLine"] == region["endLine"]
            line = lines[region["startLine"] - 1]
            lines[region["startLine"] - 1] = (
                line[:region["startColumn"] - 1] + replacement["insertedContent"]["text"]
                + line[region["endColumn"] - 1:])
        path.write_text("\n".join(lines), encoding="utf-8")


def test_the_shipped_examples_pass_without_arguments(pyasc):
    done = pyasc("check", "docs/examples")
    assert done.returncode == 0, done.stdout + done.stderr
    # The two convolutions ask for fast memory that the sampled sizes exceed.
    assert "8 kernels in 8 files checked: no errors, 2 warnings\n" in done.stdout
    assert "'attention' was checked with q = " in done.stdout


def test_the_whole_corpus_is_one_valid_sarif_log(pyasc):
    run, done = sarif(pyasc, "cases", folder=HERE)
    assert done.returncode == 1
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(run["results"]) > 50
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith(
            "cases/")
    assert "checked: " in done.stderr and "error" in done.stderr


@pytest.mark.parametrize("name, wrong", [
    ("library_misspelt", "asc.sofmax"), ("name_misspelt", "totl"), ("attribute_misspelt", "shpae"),
    ("dim_name_misspelt", "COL)"), ("and_of_c", "&&"), ("dtype_unknown", "flaot32"),
    ("kernel_option_misspelt", "precison"), ("library_without_asc", " exp("),
    ("annotation_no_type", "flaot32"), ("missing_colon", "(N)\n"), ("else_if", "else if"),
    ("float_into_int", "= 0.5 * x[i]\n")])
def test_the_fix_that_is_offered_makes_the_kernel_right(pyasc, tmp_path, name, wrong):
    case = HERE / "cases" / f"{name}.py"
    assert wrong in case.read_text()
    kernel = tmp_path / "a kernel.py"
    shutil.copy(case, kernel)
    run, _ = sarif(pyasc, kernel.name, folder=tmp_path)
    fixes = [fix for result in run["results"] for fix in result.get("fixes", [])]
    assert len(fixes) == 1
    apply(fixes[0], tmp_path)
    assert wrong not in kernel.read_text()
    done = pyasc("check", kernel.name, folder=tmp_path)
    assert done.returncode == 0, done.stdout


def test_notes_point_at_the_other_place(pyasc):
    run, _ = sarif(pyasc, "cases/race.py", "cases/error_in_helper.py", folder=HERE)
    assert all(result["relatedLocations"] for result in run["results"])


def test_errors_hold_for_general_sizes_and_warnings_say_for_which(pyasc, tmp_path):
    (tmp_path / "k.py").write_text("@asc.kernel\ndef k(x: asc.float32[N]):\n    x[1] = x[0]\n")
    done = pyasc("check", "k.py", folder=tmp_path)
    assert done.returncode == 0
    assert "warning: index 1 is out of bounds for axis 0 with size 1" in done.stdout
    assert "found when N = 1; not when N = 256" in done.stdout
    (tmp_path / "k.py").write_text("@asc.kernel\ndef k(x: asc.float32[N, M], y: asc.float32[M, N]):\n"
                                   "    x[:] = x + y\n")
    done = pyasc("check", "k.py", folder=tmp_path)
    assert done.returncode == 1
    assert "found when N = 256, M = 384; not when N = 64, M = 64" in done.stdout


def test_many_files_are_checked_in_parallel_and_reported_in_order(pyasc, tmp_path):
    for i in range(40):
        name = "y" if i % 10 == 3 else "x"
        (tmp_path / f"k{i:02}.py").write_text(
            f"@asc.kernel\ndef k(x: asc.float32[N]):\n    x[0] = {name}[0]\n")
    done = pyasc("check", ".", "--jobs", "4", folder=tmp_path)
    assert done.returncode == 1
    errors = [line.split(":")[0] for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == ["./k03.py", "./k13.py", "./k23.py", "./k33.py"]
    assert done.stdout.endswith("40 kernels in 40 files checked: 4 errors\n")
    assert pyasc("check", ".", "--jobs", "1", folder=tmp_path).stdout == done.stdout


def test_json_holds_the_diagnostics_with_their_fixes(pyasc, tmp_path):
    done = pyasc("check", "cases/library_misspelt.py", "--json", "-", folder=HERE)
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["files"] == ["cases/library_misspelt.py"]
    [error] = report["diagnostics"]
    assert error["code"] == "unknown-function" and error["fixits"][0]["replacement"] == "softmax"


@pytest.mark.parametrize("words, says", [
    (["nowhere.py"], "no such file"), ([".", "--format", "xml"], "text, json or sarif"),
    ([".", "--jobs", "0"], "from 1 to 256"), ([".", "--arg", "z=f32"], "no kernel has a parameter")])
def test_what_was_mistyped_ends_with_2(pyasc, tmp_path, words, says):
    (tmp_path / "k.py").write_text("@asc.kernel\ndef k(x: asc.float32[N]):\n    x[0] = 1.0\n")
    done = pyasc("check", *words, folder=tmp_path)
    assert done.returncode == 2 and says in done.stderr


def test_a_folder_that_holds_nothing_to_check_does_not_pass(pyasc, tmp_path):
    (tmp_path / "host.py").write_text("print('no kernel')\n")
    done = pyasc("check", ".", folder=tmp_path)
    assert done.returncode == 2 and "no .py file below it has a kernel" in done.stderr
    (tmp_path / "k.py").write_text("@asc.kernel\ndef k(x: asc.float32[N]):\n    x[0] = 1.0\n")
    assert pyasc("check", ".", folder=tmp_path).returncode == 0


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_of_a_folder_that_is_not_utf_8_is_an_error(pyasc, tmp_path, encoding):
    text = "@asc.kernel\ndef k(x: asc.float32[N]):\n    x[0] = 1.0  # \xe9\n"
    (tmp_path / "k.py").write_bytes(text.encode(encoding))
    done = pyasc("check", ".", folder=tmp_path)
    assert done.returncode == 1 and "the source is not valid UTF-8 [invalid-utf8]" in done.stdout


def test_more_kernels_than_are_checked_at_a_time_are_an_error(pyasc, tmp_path):
    kernels = ["@asc.kernel\ndef k{}(x: asc.float32[N]):\n    x[0] = 1.0\n".format(i)
               for i in range(257)]
    (tmp_path / "k.py").write_text("".join(kernels))
    done = pyasc("check", "k.py", folder=tmp_path)
    assert done.returncode == 1
    assert "k.py:770:5: error: this file has 257 kernels, more than the 256 that are checked at a " \
        "time; split it [too-many-kernels]" in done.stdout
