#!/usr/bin/env bash
# Installs everything that pyasc is built and tested with, from Debian 12 packages only.
# Does nothing (and needs no root) when all of it is there. Usage: deploy/install-deps.sh [--list]
set -euo pipefail

packages=(
  # toolchain
  build-essential clang-19 lld-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev cmake ninja-build ccache pkg-config git ca-certificates
  # compiler core
  llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools libyaml-cpp-dev
  # service
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler librocksdb-dev
  libspdlog-dev libfmt-dev prometheus-cpp-dev libcivetweb-dev libabsl-dev libssl-dev zlib1g-dev libseccomp-dev libhiredis-dev
  # tests and the Python package
  libgtest-dev libgmock-dev python3 python3-numpy python3-grpcio python3-protobuf python3-pytest python3-yaml
  python3-setuptools python3-wheel python3-jsonschema curl procps dpkg-dev openssl haproxy redis-server
)

if [ "${1:-}" = --list ]; then printf '%s\n' "${packages[@]}"; exit 0; fi

missing=()
for p in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing+=("$p")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

echo "install-deps: ${#missing[@]} Debian packages are missing: ${missing[*]}" >&2
if [ "$(id -u)" -ne 0 ]; then
  echo "install-deps: run as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
