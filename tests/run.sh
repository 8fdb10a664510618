#!/usr/bin/env bash
# Sets everything up and runs all tests: packages, build, style, unit tests, FileCheck tests, Python
# tests and the kernels end to end.
#   tests/run.sh            the default suite
#   tests/run.sh --full     also the long suites (label "full")
#   tests/run.sh -R REGEX   only the tests whose names match
set -euo pipefail
cd "$(dirname "$0")/.."

full=0
only=()
while [ $# -gt 0 ]; do
  case $1 in
  --full) full=1 ;;
  -R) only=(-R "${2:?-R needs a regular expression}"); shift ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "run.sh: unknown option $1 (try --help)" >&2; exit 2 ;;
  esac
  shift
done

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }
trap 'status=$?; [ $status -eq 0 ] || echo "run.sh: FAILED in: ${stage:-set-up} (exit $status)" >&2' EXIT

stage="installing packages"; step "$stage"
deploy/install-deps.sh

stage="configuring"; step "$stage"
cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log >&2; exit 1; }
rm -f build-configure.log

stage="building"; step "$stage"
cmake --build --preset release

stage="checking style"; step "$stage"
tests/style.sh

stage="running tests"; step "$stage"
labels=()
[ $full -eq 1 ] || labels=(-LE full)
ctest --test-dir build/release --output-on-failure --no-tests=error -j"$(nproc)" \
  "${labels[@]}" "${only[@]}"
step "all tests passed"
