"""Generates the package's protobuf and gRPC modules: generate_stubs.py PROTO_DIR OUT_DIR.

The files of proto/google are declared wire-compatibly with the public ones, under the same names.
In Python all messages of a process share one pool, where a second google/rpc/status.proto (from
googleapis-common-protos, say) would clash with ours. So they are generated under pyasc/_google and
the package pyasc_google; the bytes on the wire are the same.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

MESSAGES = [
    "pyasc/_google/rpc/status", "pyasc/_google/rpc/error_details",
    "pyasc/_google/longrunning/operations", "pyasc/v1/diagnostics", "pyasc/v1/tensor",
    "pyasc/v1/report", "pyasc/v1/artifact", "pyasc/v1/compile", "pyasc/v1/execution",
    "pyasc/v1/service",
]
SERVICES = [
    "pyasc/_google/longrunning/operations", "pyasc/v1/compile", "pyasc/v1/execution",
    "pyasc/v1/service",
]


def relocate(text):
    for name in ("rpc", "longrunning"):
        text = text.replace(f'import "google/{name}/', f'import "pyasc/_google/{name}/')
        text = text.replace(f"package google.{name};", f"package pyasc_google.{name};")
        text = text.replace(f" google.{name}.", f" pyasc_google.{name}.")
        text = text.replace(f"(google.{name}.", f"(pyasc_google.{name}.")
    return text


def find_plugin():
    plugin = shutil.which("grpc_python_plugin", path="/usr/bin") or shutil.which("grpc_python_plugin")
    if not plugin:
        sys.exit("grpc_python_plugin is missing; install protobuf-compiler-grpc")
    return plugin


def generate(proto_dir, out_dir, protoc="protoc", plugin=None):
    proto_dir, out_dir = pathlib.Path(proto_dir), pathlib.Path(out_dir)
    plugin = plugin or find_plugin()
    out_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name in MESSAGES:
            source = proto_dir / (name.replace("pyasc/_google", "google") + ".proto")
            target = scratch / (name + ".proto")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(relocate(source.read_text()))
        command = [protoc, f"-I{scratch}", f"--python_out={out_dir}"]
        subprocess.run(command + [name + ".proto" for name in MESSAGES], check=True)
        command = [protoc, f"-I{scratch}", f"--plugin=protoc-gen-grpc={plugin}",
                   f"--grpc_out={out_dir}"]
        subprocess.run(command + [name + ".proto" for name in SERVICES], check=True)
    for package in ("v1", "_google", "_google/rpc", "_google/longrunning"):
        (out_dir / "pyasc" / package / "__init__.py").write_text("")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    generate(sys.argv[1], sys.argv[2])
