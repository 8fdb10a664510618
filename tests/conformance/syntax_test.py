"""The parser against CPython's own: same trees for what both accept, and both refuse the rest.

PYASC_AST_DUMP names the program that prints our trees. The standard library of the Python that
runs this is the corpus: a sample of it, or all with PYASC_SYNTAX_ALL=1.
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

DUMP = os.environ.get("PYASC_AST_DUMP", "build/release/bin/pyasc-ast-dump")
SAMPLE = 200
BATCH = 50
# CPython's positions inside f-strings are right since 3.12.
FSTRING_POSITIONS = sys.version_info >= (3, 12)
LIBRARY = pathlib.Path(sysconfig.get_path("stdlib"))

# Files, relative to the library, that differ on purpose, each with the reason.
EXCEPTIONS = {
    "test/test_traceback.py": "has a name that is not in normal form NFKC",
    "test/test_unicode_identifiers.py": "has names that are not in normal form NFKC",
    "test/libregrtest/logger.py": "CPython 3.12.1 adds empty strings to format specifiers",
    "test/test_fstring.py": "CPython 3.12.1 adds empty strings to format specifiers",
}

warnings.simplefilter("ignore")


def dump(paths):
    """What our parser says of each file."""
    arguments = [] if FSTRING_POSITIONS else ["--no-fstring-positions"]
    output = subprocess.run([DUMP, *arguments, *map(str, paths)], check=True,
                            capture_output=True).stdout.decode("ascii", "replace")
    chunks = ("\n" + output).split("\n=== ")[1:]
    assert len(chunks) == len(paths)
    return [chunk.split("\n", 1)[1] + "\n" for chunk in chunks]


def expected(path):
    """CPython's tree, or None when CPython, too, refuses the file."""
    try:
        source = path.read_bytes().decode("utf-8")
        return normal_form(source.removeprefix("\ufeff"), FSTRING_POSITIONS)
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


def library_files():
    files = sorted(p for p in LIBRARY.rglob("*.py")
                   if p.is_file() and "-packages" not in str(p)
                   and p.relative_to(LIBRARY).as_posix() not in EXCEPTIONS)
    if os.environ.get("PYASC_SYNTAX_ALL"):
        return files
    return files[::max(1, len(files) // SAMPLE)]


def test_the_standard_library_parses_as_in_cpython():
    files = library_files()
    assert len(files) >= 100, f"no corpus in {LIBRARY}"
    faults = []
    for i in range(0, len(files), BATCH):
        batch = files[i:i + BATCH]
        faults += [fault for path, ours in zip(batch, dump(batch)) if (fault := compare(path, ours))]
    assert not faults, "\n".join(faults[:20])


SNIPPETS = pathlib.Path(__file__).with_name("syntax_snippets.txt").read_text("utf-8").split("\n---\n")


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


def mutate(text, rng):
    """A few tokens dropped, doubled, swapped or replaced."""
    pieces = []
    word = ""
    for c in text + "\0":
        if c.isalnum() or c == "_":
            word += c
            continue
        if word:
            pieces.append(word)
        pieces.append(c)
        word = ""
    pieces.pop()
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(pieces))
        kind = rng.randrange(4)
        if kind == 0:
            del pieces[i]
        elif kind == 1:
            pieces.insert(i, pieces[i])
        elif kind == 2:
            j = rng.randrange(len(pieces))
            pieces[i], pieces[j] = pieces[j], pieces[i]
        else:
            pieces[i] = rng.choice(pieces)
        if not pieces:
            break
    return "".join(pieces)


def cpython_says(text):
    """"accepted", "refused", or "late": some rules that our parser checks, such as a lone `*x`,
    are the business of CPython's compiler."""
    for function, answer in ((ast.parse, "refused"), (lambda t: compile(t, "", "exec"), "late")):
        try:
            function(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return answer
    return "accepted"


def differs_on_purpose(text):
    # Since 3.12, f-strings may hold their own quotes and backslashes.
    return sys.version_info < (3, 12) and re.search("f['\"]", text, re.IGNORECASE)


@pytest.mark.parametrize("seed", range(4))
def test_broken_text_is_refused_exactly_when_cpython_refuses_it(tmp_path, seed):
    rng = random.Random(seed)
    texts = []
    while len(texts) < int(os.environ.get("PYASC_SYNTAX_MUTANTS", "300")):
        text = mutate(rng.choice(SNIPPETS), rng)
        # A text that is indented as a whole is accepted, unlike in CPython.
        if not differs_on_purpose(text) and text.lstrip(" \t\f\n\\") == text:
            texts.append(text)
    faults = []
    paths = write_all(tmp_path, texts)
    for path, text, ours in zip(paths, texts, dump(paths)):
        theirs = cpython_says(text)
        accepted = ours.startswith("Module")
        if theirs == "late":
            continue
        if accepted != (theirs == "accepted"):
            faults.append(f"CPython {theirs}:\n{text}\n-> {ours.splitlines()[0]}")
        elif accepted and (fault := compare(path, ours)):
            faults.append(fault + "\n" + text)
    assert not faults, "\n\n".join(faults[:5])
