"""The reference interpreter: CPython runs kernels with the language's own numbers, on NumPy arrays.

It shares nothing with the compiler, so that each can show the other wrong. PYASC_INTERPRET=1 makes
@asc.kernel use it; `run_text` takes a kernel's text as the service does, without executing the host
code around it.
"""

from ..diagnostics import render
from ..errors import CompileError, RunError
from .run import Failed, Outcome, Rejected, compile_files, run_files
from .translate import Options

__all__ = ["run_text", "run_capture", "Outcome"]


class _Paths:
    def __init__(self, paths):
        self.paths = paths

    def path(self, file):
        return self.paths[file] if file < len(self.paths) else f"<file {file}>"


def _options(debug, precision, target):
    return Options(debug=debug, mixed=precision == "mixed", float64=target == "host")


def _raised(error, kind, paths):
    text = render(error.diagnostics, _Paths(paths))
    return kind("\n" + text, error.diagnostics)


def run_text(source, kernel=None, args=None, *, path="kernel.py", debug=False, precision="",
             target="sim", shuffle=None, echo=None):
    """Runs a kernel of a text on `args`, NumPy arrays and numbers by name; arrays are written in
    place. Gives an Outcome: results, prints, written.

    kernel: its name, where the text has several.
    target: only "host" has float64.
    shuffle: a seed; iterations of parallel loops then run in that seed's order.
    echo: called with each printed line and its line in the source. CompileError and RunError carry `diagnostics`.
    """
    try:
        return run_files([(path, source, 1)], kernel, args or {}, (),
                         _options(debug, precision, target), shuffle, echo)
    except Rejected as error:
        raise _raised(error, CompileError, [path]) from None
    except Failed as error:
        raise _raised(error, RunError, [path]) from error


def run_capture(capture, arguments, *, debug=False, precision="", target="sim", shuffle=None,
                echo=lambda text, line: print(text)):
    """Runs the kernel of a _capture.Capture, as Kernel.__call__ does."""
    files = [(capture.path(i), content.decode(), first)
             for i, (content, first) in enumerate(capture.contents)]
    constants = tuple(sorted(capture.values().items()))
    try:
        return run_files(files, capture.kernel, arguments, constants,
                         _options(debug, precision, target), shuffle, echo)
    except Rejected as error:
        capture.restore_columns(error.diagnostics)
        raise CompileError("\n" + render(error.diagnostics, capture), error.diagnostics) from None
    except Failed as error:
        capture.restore_columns(error.diagnostics)
        raise RunError("\n" + render(error.diagnostics, capture), error.diagnostics) from error
