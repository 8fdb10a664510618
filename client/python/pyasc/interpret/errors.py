"""What is wrong with a kernel, before it is known where.

Operations raise Fault; the translator adds the place in the source when it happens while types are
found, the launcher when it happens in a running kernel.
"""


class Fault(Exception):
    """`code` is the diagnostic's stable name, such as "type-mismatch"."""

    def __init__(self, code, message, node=None, file=0):
        super().__init__(message)
        self.code, self.message, self.node, self.file = code, message, node, file
        self.notes = []  # (message, node, file)


class Place:
    """A half-open range of source text, as pyasc.v1.SourceRange has it."""

    def __init__(self, file=0, line=0, column=0, end_line=0, end_column=0):
        self.file, self.line, self.column = file, line, column
        self.end_line, self.end_column = end_line, end_column


class Diagnostic:
    """One message, with the fields of pyasc.v1.Diagnostic, so that one renderer serves both."""

    def __init__(self, severity, code, message, place, source_line="", notes=()):
        self.severity, self.code, self.message = severity, code, message
        self.range, self.source_line = place, source_line
        self.notes, self.fixits = list(notes), []

    def __repr__(self):
        return f"<{self.code} at line {self.range.line}: {self.message}>"
