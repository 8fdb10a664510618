"""Diagnostics as text: path, position, severity, the source line, a caret, notes."""

import unicodedata

_SEVERITIES = {1: "error", 2: "warning", 3: "note"}


def _width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _indent(line, columns):
    head = line[:columns]
    return "".join("\t" if c == "\t" else " " * _width(c) for c in head) + " " * (
        columns - len(head))


def _underline(span, line):
    begin = max(span.column, 1) - 1
    if span.end_line > span.line:
        end = len(line)
    elif span.end_column > span.column:
        end = span.end_column - 1
    else:
        end = begin + 1
    width = max(_width(line[begin:end]), 1)
    return _indent(line, begin) + "^" + "~" * (width - 1)


def _render(diagnostic, sources, out):
    span = diagnostic.range
    severity = _SEVERITIES.get(diagnostic.severity, "error")
    where = ""
    if span.line:
        where = f"{sources.path(span.file)}:{span.line}:"
        where += f"{span.column}: " if span.column else " "
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    out.append(f"{where}{severity}: {diagnostic.message}{code}")
    if span.line and diagnostic.source_line:
        line = "".join(c if c.isprintable() or c == "\t" else "?" for c in diagnostic.source_line)
        out.append(f"{span.line:5} | {line}")
        if span.column:
            out.append(f"      | {_underline(span, line)}")
        for fixit in diagnostic.fixits:
            if fixit.range.line == span.line and "\n" not in fixit.replacement:
                out.append(f"      | {_indent(line, max(fixit.range.column, 1) - 1)}"
                           f"{fixit.replacement}")
    for note in diagnostic.notes:
        _render(note, sources, out)


def render(diagnostics, sources):
    """Text like clang's. `sources.path(file)` names a file of the request."""
    out = []
    for diagnostic in diagnostics:
        _render(diagnostic, sources, out)
    return "\n".join(out)
