"""Finds the generated protobuf modules.

An installed package, and build/<preset>/python, have them inside. In the source tree they are
missing: then those of a build beside it are used.
"""

import importlib.util
import pathlib
import sys

BUILD_PRESETS = ("release", "dev", "asan")
REQUIRED = {"numpy": "numpy", "grpc": "grpcio", "google.protobuf": "protobuf"}


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


def check_requirements():
    """NumPy and gRPC come with one of the machine's Pythons, perhaps not with this one."""
    missing = []
    for module, package in REQUIRED.items():
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:  # of the package around it
            found = None
        if found is None:
            missing.append(package)
    if missing:
        raise ImportError(f"pyasc needs {', '.join(missing)}, which this Python ({sys.executable}) "
                          "does not have. deploy/install-deps.sh installs them for Debian's "
                          "/usr/bin/python3: start that one, or install them here")


def extend_path(path):
    check_requirements()
    if importlib.util.find_spec("pyasc.v1") is not None:
        return
    for build in build_directories():
        generated = build / "python" / "pyasc"
        if (generated / "v1" / "compile_pb2.py").exists():
            path.append(str(generated))
            return
    raise ImportError("pyasc's generated modules are missing. In the source tree, run "
                      "`./deploy/demo.sh`, or after it `cmake --build --preset release --target "
                      "pyasc_python`, and start Python with PYTHONPATH=build/release/python; or "
                      "install the package with `pip install ./client/python`")
