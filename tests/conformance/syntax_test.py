"""The parser against CPython's own: same trees for what both accept, and both refuse the rest.

PYASC_AST_DUMP names the program that prints our trees. The standard library of the Python that
runs this is the corpus. By default a sample of it is read; PYASC_SYNTAX_ALL=1 reads all of it,
and every package that is installed beside it, and more mutants.
"""
import ast
import os
import pathlib
import random
import re
import subprocess
import sys
import sysconfig
import warnings

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from normal_form import normal_form  # noqa: E402
from syntax_mutants import mutate, statements  # noqa: E402

DUMP = os.environ.get("PYASC_AST_DUMP", "build/release/bin/pyasc-ast-dump")
ALL = bool(os.environ.get("PYASC_SYNTAX_ALL"))
SAMPLE = 200
BATCH = 50
MUTANTS = int(os.environ.get("PYASC_SYNTAX_MUTANTS", "5000" if ALL else "300"))
# CPython's positions inside f-strings are right since 3.12.
PYTHON_312 = sys.version_info >= (3, 12)

LIBRARY = pathlib.Path(sysconfig.get_path("stdlib"))
PACKAGES = [pathlib.Path(p) for p in ("/usr/lib/python3/dist-packages", LIBRARY / "site-packages",
                                      LIBRARY / "dist-packages") if pathlib.Path(p).is_dir()]

# Files that differ on purpose, by the end of their path, each with the reason.
NOT_NFKC = "has a name that is not in normal form NFKC"
EMPTY_STRINGS = "CPython 3.12.1 adds empty strings to format specifiers"
LARGEST_SOURCE = 1 << 20  # bytes, as the parser has it
EXCEPTIONS = {
    "test/test_traceback.py": NOT_NFKC,
    "test/test_unicode_identifiers.py": NOT_NFKC,
    "pygments/lexers/_cocoa_builtins.py": "has lines of more than 65536 bytes",
}
if sys.version_info[:2] == (3, 12):
    EXCEPTIONS |= {
        "test/test_fstring.py": EMPTY_STRINGS,
        "test/libregrtest/logger.py": EMPTY_STRINGS,
        "pip/_internal/commands/search.py": EMPTY_STRINGS,
    }

warnings.simplefilter("ignore")


def dump(paths):
    """What our parser says of each file."""
    arguments = [] if PYTHON_312 else ["--no-fstring-positions"]
    output = subprocess.run([DUMP, *arguments, *map(str, paths)], check=True,
                            capture_output=True).stdout.decode("ascii", "replace")
    chunks = ("\n" + output).split("\n=== ")[1:]
    assert len(chunks) == len(paths)
    return [chunk.split("\n", 1)[1] + "\n" for chunk in chunks]


def expected(path):
    """CPython's tree, or None when CPython, too, refuses the file."""
    try:
        source = path.read_bytes().decode("utf-8")
        return normal_form(source.removeprefix("\ufeff"), PYTHON_312)
    except (SyntaxError, ValueError):
        return None


def first_difference(ours, theirs):
    ours, theirs = ours.split("\n"), theirs.split("\n")
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if a != b:
            return f"line {number}\n  ours:    {a.strip()}\n  CPython: {b.strip()}"
    return f"one ends early: {len(ours)} and {len(theirs)} lines"


def compare(path, ours):
    """None, or what is wrong."""
    theirs = expected(path)
    accepted = ours.startswith("Module")
    if theirs is None:
        return f"{path}: CPython refuses it, we do not" if accepted else None
    if not accepted:
        return f"{path}: refused: {ours.splitlines()[0]}"
    if ours.rstrip("\n") != theirs.rstrip("\n"):
        return f"{path}: {first_difference(ours, theirs)}"
    return None


def python_files():
    files = sorted(p for p in LIBRARY.rglob("*.py") if p.is_file() and "-packages" not in str(p))
    if not ALL:
        return files[::max(1, len(files) // SAMPLE)]
    for root in PACKAGES:
        files += sorted(p for p in root.rglob("*.py") if p.is_file())
    return files


def reason_to_differ(path):
    if path.stat().st_size > LARGEST_SOURCE:
        return "larger than the 1 MiB that are accepted"
    return next((reason for end, reason in EXCEPTIONS.items() if path.as_posix().endswith(end)),
                None)


def test_the_standard_library_parses_as_in_cpython():
    files = python_files()
    assert len(files) >= 100, f"no corpus in {LIBRARY}"
    faults, exceptions, both_refuse = [], [], []
    for i in range(0, len(files), BATCH):
        batch = files[i:i + BATCH]
        for path, ours in zip(batch, dump(batch)):
            fault = compare(path, ours)
            reason = reason_to_differ(path)
            if reason is not None:
                # An exception that is none any more must leave the list.
                exceptions.append(f"{path}: {reason}")
                if fault is None:
                    faults.append(f"{path} is on the list of exceptions, but agrees")
            elif fault is not None:
                faults.append(fault)
            elif not ours.startswith("Module"):
                both_refuse.append(path)
    agree = len(files) - len(faults) - len(exceptions)
    print(f"\n{len(files)} files: {agree} agree (of them both refuse {len(both_refuse)}), "
          f"{len(exceptions)} exceptions, {len(faults)} differ")
    print("\n".join(exceptions))
    assert not faults, "\n".join(faults[:20])


# ---- Snippets

HERE = pathlib.Path(__file__).parent
SNIPPETS = (HERE / "syntax_snippets.txt").read_text("utf-8").split("\n---\n")


def write_all(directory, texts):
    paths = []
    for i, text in enumerate(texts):
        path = directory / f"{i}.py"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        paths.append(path)
    return paths


def test_every_form_of_the_grammar_parses_as_in_cpython(tmp_path):
    paths = write_all(tmp_path, SNIPPETS)
    assert len(paths) > 20
    for text in SNIPPETS:
        ast.parse(text)
    faults = [fault for path, ours in zip(paths, dump(paths)) if (fault := compare(path, ours))]
    assert not faults, "\n".join(faults)


def test_line_ends_and_byte_order_marks_change_nothing(tmp_path):
    text = "\n".join(SNIPPETS)
    variants = [text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text]
    paths = write_all(tmp_path, variants)
    faults = [fault for path, ours in zip(paths, dump(paths)) if (fault := compare(path, ours))]
    assert not faults, "\n".join(faults)


# What 3.12 added (type parameters, f-strings that nest), with the trees of CPython 3.12 as it
# prints them once empty strings in format specifiers are left out; or "refused".
CASES_312 = [case.split("=>", 1)
             for case in (HERE / "syntax_312.txt").read_text("utf-8").split("---\n")]


def test_what_python_312_added_parses_as_in_python_312(tmp_path):
    assert len(CASES_312) > 60
    paths = write_all(tmp_path, [text for text, _ in CASES_312])
    output = subprocess.run([DUMP, *map(str, paths)], check=True, capture_output=True).stdout
    faults = []
    for chunk, (text, tree) in zip(("\n" + output.decode()).split("\n=== ")[1:], CASES_312):
        ours = chunk.split("\n", 1)[1].strip()
        if tree.strip() == "refused":
            if ours.startswith("Module"):
                faults.append(f"accepted: {text}")
        elif ours != tree.strip():
            faults.append(f"{text}{first_difference(ours, tree.strip())}")
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(not PYTHON_312, reason="needs CPython 3.12")
def test_the_trees_of_what_python_312_added_are_those_of_python_312():
    for text, tree in CASES_312:
        if tree.strip() == "refused":
            with pytest.raises(SyntaxError):
                compile(text, "", "exec")
        else:
            theirs = [line for line in normal_form(text, True).split("\n")
                      if not line.endswith(' str=""')]
            assert "\n".join(theirs).strip() == tree.strip(), text


# ---- Mutants

def cpython_says(text):
    """"accepted", "refused", or "late": some rules that our parser checks, such as a lone `*x`,
    are the business of CPython's compiler."""
    for function, answer in ((ast.parse, "refused"), (lambda t: compile(t, "", "exec"), "late")):
        try:
            function(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return answer
    return "accepted"


# CPython 3.11 overlooks the leading zeros of `001else`.
ZEROS_OVERLOOKED = re.compile(r"\b0[0_]*[1-9][0-9_]*e(?![0-9+-])", re.IGNORECASE)

# F-strings that hold their own quotes and backslashes, and type parameters.
SINCE_312 = re.compile(r"""f['"]|\btype\b|\b(def|class)\s+\w+\s*\[""", re.IGNORECASE)


def is_shifted(text):
    """Whether the text's first statement is indented: unlike CPython, we take that away."""
    first = next((line for line in text.split("\n") if line.strip(" \t\f\\") and
                  not line.lstrip().startswith("#")), "")
    return first != first.lstrip(" \t\f\\")


def faults_of_mutants(directory, texts):
    """What is wrong, and how many texts CPython accepts."""
    faults, accepted = [], 0
    paths = write_all(directory, texts)
    for path, text, ours in zip(paths, texts, dump(paths)):
        theirs = cpython_says(text)
        accepted += theirs == "accepted"
        if theirs == "late":
            continue
        if ours.startswith("Module") != (theirs == "accepted"):
            if theirs == "accepted" or PYTHON_312 or not SINCE_312.search(text):
                faults.append(f"CPython {theirs}:\n{text}\n-> {ours.splitlines()[0]}")
        elif theirs == "accepted" and (fault := compare(path, ours)):
            if 'CPython: values: Constant' not in fault or 'str=""' not in fault:
                faults.append(fault + "\n" + text)
    return faults, accepted


def mutants(pieces, rng, count):
    texts = []
    while len(texts) < count:
        text = mutate(rng.choice(pieces), rng)
        # Names that are not in normal form are refused, unlike in CPython.
        if not is_shifted(text) and text.isascii() and not ZEROS_OVERLOOKED.search(text):
            texts.append(text)
    return texts


@pytest.mark.parametrize("seed", range(4))
def test_broken_text_is_refused_exactly_when_cpython_refuses_it(tmp_path, seed):
    rng = random.Random(seed)
    faults, _ = faults_of_mutants(tmp_path, mutants(SNIPPETS, rng, MUTANTS))
    assert not faults, "\n\n".join(faults[:5])


@pytest.mark.parametrize("seed", range(4))
def test_broken_library_code_is_refused_exactly_when_cpython_refuses_it(tmp_path, seed):
    rng = random.Random(seed)
    pieces = []
    for path in rng.sample(python_files(), 100 if ALL else 20):
        try:
            pieces += statements(path.read_bytes().decode("utf-8"))
        except (SyntaxError, ValueError):
            pass
    count = MUTANTS
    faults, accepted = faults_of_mutants(tmp_path, mutants(pieces, rng, count))
    print(f"\n{count} mutants of {len(pieces)} statements: CPython accepts {accepted}, "
          f"{len(faults)} differ")
    assert not faults, "\n\n".join(faults[:5])
