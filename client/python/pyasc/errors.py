"""What the package raises."""


class PyascError(Exception):
    """The base of all others."""


class CompileError(PyascError):
    """The kernel, or its use of types, is wrong. `diagnostics` holds the messages as protobuf, the
    text shows them with the source lines they mean."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)


class CaptureError(PyascError):
    """The kernel uses something of the program around it that cannot be sent to the compiler. The
    text shows the line that does; `path` and `line` say where it is ("" and 0: nowhere)."""

    def __init__(self, text, path="", line=0):
        super().__init__(text)
        self.path, self.line = path, line


class RunError(PyascError):
    """The kernel ran and failed: an index out of bounds, a failed assert."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)


class ServiceError(PyascError):
    """The service or a device failed, not the kernel. `code` is the name of the gRPC code, "" when
    the failure came before any call."""

    def __init__(self, text, code=""):
        super().__init__(text)
        self.code = code


class KernelOnlyError(PyascError):
    """A name of the kernel language was used outside of a kernel."""


class CompileWarning(UserWarning):
    """What the compiler warns of: slow code, memory that does not fit, ..."""
