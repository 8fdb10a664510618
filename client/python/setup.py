"""Generates the protobuf modules into the package that is being built; the rest is in
pyproject.toml. Needs protoc and grpc_python_plugin (Debian: protobuf-compiler-grpc)."""

import pathlib
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate_stubs  # noqa: E402


class BuildWithStubs(build_py):
    def run(self):
        super().run()
        generate_stubs.generate(HERE.parents[1] / "proto", pathlib.Path(self.build_lib))


setup(cmdclass={"build_py": BuildWithStubs})
