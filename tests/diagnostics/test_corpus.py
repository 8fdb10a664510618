"""Every case of the corpus, word for word, and what the corpus as a whole promises."""

import os
import re
import shlex
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CASES = sorted((HERE / "cases").glob("*.py"))
DOCS = HERE.parents[1] / "docs" / "diagnostics.md"
UPDATE = os.environ.get("PYASC_UPDATE") == "1"


def command_of(case):
    first = case.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# $ pyasc "), f"{case.name} begins with no command"
    return first.removeprefix("# $ pyasc ")


def shown(pyasc, case):
    done = pyasc(*shlex.split(command_of(case)), folder=case.parent)
    return f"$ pyasc {command_of(case)}\n{done.stdout}{done.stderr}exit {done.returncode}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.stem)
def test_the_message_is_the_expected_one(pyasc, case):
    golden = case.with_suffix(".txt")
    text = shown(pyasc, case)
    if UPDATE:
        golden.write_text(text, encoding="utf-8")
    assert golden.exists(), f"no {golden.name}; PYASC_UPDATE=1 writes it"
    assert text == golden.read_text(encoding="utf-8")


def test_every_expectation_has_its_case():
    assert {c.stem for c in CASES} == {t.stem for t in (HERE / "cases").glob("*.txt")}


def test_nine_in_ten_are_caught_before_the_kernel_runs():
    """By check or compile, with an error or a warning; the others are listed in the docs."""
    late = []
    for case in CASES:
        text = case.with_suffix(".txt").read_text(encoding="utf-8")
        early = not command_of(case).startswith("run ") and re.search(
            r"^\S+: (error|warning): ", text, re.MULTILINE)
        if not early:
            late.append(case.stem)
    assert len(CASES) >= 50
    assert len(late) < len(CASES) / 10, late
    page = DOCS.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in late), "the docs list what only a run shows"


def test_the_messages_in_the_docs_are_those_of_the_corpus():
    if UPDATE:
        DOCS.write_text(re.sub(
            r"<!-- case: (\w+) -->\n```\n(.*?)```",
            lambda m: f"<!-- case: {m[1]} -->\n```\n{(HERE / 'cases' / (m[1] + '.txt')).read_text()}```",
            DOCS.read_text(encoding="utf-8"), flags=re.DOTALL), encoding="utf-8")
    blocks = re.findall(r"<!-- case: (\w+) -->\n```\n(.*?)```", DOCS.read_text(encoding="utf-8"),
                        re.DOTALL)
    assert len(blocks) == 10
    for name, block in blocks:
        assert block == (HERE / "cases" / f"{name}.txt").read_text(encoding="utf-8"), name


def test_no_message_is_empty_and_every_error_says_where():
    for case in CASES:
        for line in case.with_suffix(".txt").read_text(encoding="utf-8").splitlines():
            assert not re.search(r"(error|warning|note): *$", line), f"{case.stem}: {line}"
