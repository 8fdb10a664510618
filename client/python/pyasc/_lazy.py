"""Modules that are imported when they are first used."""

import importlib


class _Module:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        try:
            module = importlib.import_module(self._name, __package__)
        except ImportError as error:
            from . import _stubs
            if (error.name or "").startswith(f"{__package__}."):
                _stubs.extend_path([])  # says what to do about generated modules that are missing
            raise
        return getattr(module, attribute)


def module(name):
    """A stand-in for the module `name` of this package."""
    return _Module(name)
