"""Finds the generated protobuf modules.

An installed package, and build/<preset>/python, have them inside. In the source tree they are
missing: then those of a build beside it are used.
"""

import importlib.util
import pathlib

BUILD_PRESETS = ("release", "dev", "asan")


def build_directories():
    """build/<preset> directories that this package may belong to, the likeliest first."""
    package = pathlib.Path(__file__).parent
    found = []
    # build/<preset>/python/pyasc/_stubs.py is a link into the source tree: do not resolve it.
    if package.parent.name == "python" and (package.parent.parent / "CMakeCache.txt").exists():
        found.append(package.parent.parent)
    root = pathlib.Path(__file__).resolve().parents[3]
    if (root / "CMakePresets.json").exists():
        found += [root / "build" / preset for preset in BUILD_PRESETS]
    return found


def extend_path(path):
    if importlib.util.find_spec("pyasc.v1") is not None:
        return
    for build in build_directories():
        generated = build / "python" / "pyasc"
        if (generated / "v1" / "compile_pb2.py").exists():
            path.append(str(generated))
            return
    raise ImportError("pyasc's generated modules are missing: build them with `ninja -C "
                      "build/release pyasc_python`, or install the package")
