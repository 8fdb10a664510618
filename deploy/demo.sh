#!/usr/bin/env bash
# Sets everything up and shows the main job: a daemon starts, the example kernels go in as source,
# are compiled, cached, run on the simulated Ascend 910B3 and on this CPU, and checked against NumPy;
# a profile report says where the time went. Ends with the daemon's cache surviving its restart.
set -euo pipefail
cd "$(dirname "$0")/.."

trap 'status=$?; [ $status -eq 0 ] || echo "demo.sh: FAILED in: ${stage:-set-up} (exit $status)" >&2' EXIT

stage="installing packages"
echo "[1/4] packages"
deploy/install-deps.sh

stage="configuring"
echo "[2/4] configure"
if [ ! -e build/release/build.ninja ]; then
  cmake --preset release >demo-configure.log 2>&1 || { cat demo-configure.log >&2; exit 1; }
  rm -f demo-configure.log
fi

stage="building"
echo "[3/4] build"
cmake --build --preset release --target pyascd pyasc-worker pyasc pyasc_python

stage="running the kernels"
echo "[4/4] kernels"
exec /usr/bin/python3 deploy/demo.py build/release/bin
